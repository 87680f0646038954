// SPDX-License-Identifier: MIT
#include "order/mix.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>

#include "base/rng.h"

namespace batchfeed::order {

namespace {
// How many items of each part are left, as a tree of sums: to take one of thousands of parts costs some ten steps.
class Remaining {
 public:
  explicit Remaining(const std::vector<std::vector<Item>>& given)
      : leaves_(std::bit_ceil(given.size())), sums_(2 * leaves_) {
    for (std::size_t i = 0; i < given.size(); ++i) sums_[leaves_ + i] = given[i].size();
    for (std::size_t at = leaves_ - 1; at > 0; --at) sums_[at] = sums_[2 * at] + sums_[2 * at + 1];
  }

  // Takes the item `drawn` of those that are left, one part's behind the other's, and returns its part; `drawn` is
  // below their number.
  std::size_t take(std::uint64_t drawn) {
    std::size_t at = 1;
    while (at < leaves_) {
      --sums_[at];
      at *= 2;
      if (drawn >= sums_[at]) drawn -= sums_[at++];
    }
    --sums_[at];
    return at - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<std::uint64_t> sums_;  // [i] = [2 i] + [2 i + 1], [1] of all; the parts' from leaves_ on
};
}  // namespace

void check_weights(std::span<const double> weights) {
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight > 0) || !std::isfinite(weight)) {
      std::array<char, 32> text;
      const std::string found(text.data(), std::to_chars(text.data(), text.data() + text.size(), weight).ptr);
      throw Error(Fault{.kind = FaultKind::usage,
                        .id = "order.mix-weight",
                        .what = "a weight of the mixture is not a positive number: " + found,
                        .hint = "leave a corpus out instead of giving it no weight"});
    }
    sum += weight;
  }
  if (weights.empty() || !std::isfinite(sum)) {
    throw Error(Fault{
        .kind = FaultKind::usage,
        .id = "order.mix-parts",
        .what = weights.empty() ? "a mixture of no corpora" : "the weights of the mixture are too large to be added",
        .hint = "name at least one corpus, with a weight near 1"});
  }
}

MixTimeline::MixTimeline(std::vector<MixPart> parts, std::uint64_t seed, std::uint64_t round_samples)
    : PoolTimeline(0), seed_(seed) {
  std::vector<double> weights;
  for (const MixPart& part : parts) weights.push_back(part.weight);
  check_weights(weights);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (MixPart& part : parts) {
    const double share = part.weight / sum * static_cast<double>(round_samples);
    Part made{std::move(part.timeline), static_cast<std::uint64_t>(std::max(1LL, std::llround(share))),
              part.first_chunk};
    round_samples_ += made.quota;
    parts_.push_back(std::move(made));
  }
  begin_epoch(0, kWholeSet);
}

std::shared_ptr<Pool> MixTimeline::find(std::uint64_t position) {
  // Round r holds what starts in [r * quota, (r + 1) * quota) of every part's line.
  // It begins a little behind r * round_samples_, where sequences overhang.
  std::uint64_t round = position / round_samples_;
  auto pool = std::make_shared<Pool>();
  for (;; --round) {
    pool->begin = 0;
    for (Part& part : parts_) {
      part.timeline->begin_epoch(round * part.quota, part.quota);
      pool->begin += part.timeline->position();
    }
    if (pool->begin <= position) break;
  }

  std::vector<std::vector<Item>> given(parts_.size());
  std::uint64_t left = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Batch batch;
    do {
      parts_[i].timeline->next(kUnlimited, kUnlimited, batch);
      for (Item& item : batch.items) item.chunk += parts_[i].first_chunk;
      given[i].insert(given[i].end(), batch.items.begin(), batch.items.end());
      for (const std::uint32_t chunk : batch.window) pool->window.push_back(chunk + parts_[i].first_chunk);
      batch.window_generation = 0;
    } while (!batch.end_of_epoch);
    left += given[i].size();
  }
  std::sort(pool->window.begin(), pool->window.end());
  pool->window.erase(std::unique(pool->window.begin(), pool->window.end()), pool->window.end());
  pool->window_generation = mix64(seed_ + mix64(round)) | 1;

  // Every way to interleave them is equally likely.
  CounterRng rng(mix64(seed_ + 0x6D6978ull) + round);
  std::vector<std::size_t> at(parts_.size(), 0);
  Remaining remaining(given);
  pool->items.reserve(left);
  for (; left > 0; --left) {
    const std::size_t i = remaining.take(rng.below(left));
    pool->items.push_back(given[i][at[i]++]);
  }
  return pool;
}

}  // namespace batchfeed::order
