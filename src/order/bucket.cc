// SPDX-License-Identifier: MIT
#include "order/bucket.h"

#include <algorithm>

#include "base/rng.h"
#include "base/saturate.h"

namespace batchfeed::order {
namespace {

struct BucketPool final : Pool {
  Padding padding;
};

struct Block {
  std::size_t begin = 0, end = 0;
  std::uint64_t samples = 0;
};

// Minibatches as a timeline cuts them: whole sequences while they fit.
std::vector<Block> cut(const std::vector<Item>& items, std::uint64_t limit) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (blocks.empty() || blocks.back().samples + items[i].samples > limit) blocks.push_back({i, i, 0});
    blocks.back().end = i + 1;
    blocks.back().samples += items[i].samples;
  }
  return blocks;
}

std::uint64_t cells(const std::vector<Item>& items, const std::vector<Block>& blocks) {
  std::uint64_t sum = 0;
  for (const Block& block : blocks) {
    std::uint64_t longest = 0;
    for (std::size_t i = block.begin; i < block.end; ++i) longest = std::max<std::uint64_t>(longest, items[i].samples);
    sum += longest * (block.end - block.begin);
  }
  return sum;
}

}  // namespace

BucketTimeline::BucketTimeline(std::unique_ptr<Timeline> inner, std::uint64_t sweep_samples, std::uint64_t pool_samples,
                               std::uint64_t block_samples, std::uint64_t seed)
    : PoolTimeline(sweep_samples),
      inner_(std::move(inner)),
      sweep_samples_(sweep_samples),
      pool_samples_(std::max<std::uint64_t>(pool_samples, 1)),
      block_samples_(std::max<std::uint64_t>(block_samples, 1)),
      seed_(seed) {
  begin_epoch(0, kWholeSet, 0);
}

BucketTimeline::BucketTimeline(const BucketTimeline& other)
    : PoolTimeline(other),
      inner_(other.inner_->clone()),
      sweep_samples_(other.sweep_samples_),
      pool_samples_(other.pool_samples_),
      block_samples_(other.block_samples_),
      seed_(other.seed_),
      padding_(other.padding_) {}

std::unique_ptr<Timeline> BucketTimeline::clone() const { return std::unique_ptr<Timeline>(new BucketTimeline(*this)); }

std::shared_ptr<const Pool> BucketTimeline::find(std::uint64_t position) {
  const std::uint64_t offset = position % sweep_samples_;
  const std::uint64_t sweep_begin = position - offset;
  // The pool before also ends behind `position` if its last sequence does.
  std::uint64_t k = offset / pool_samples_;
  for (;; --k) {
    const std::uint64_t begin = k * pool_samples_;
    inner_->begin_epoch(sweep_begin + begin, std::min(pool_samples_, sweep_samples_ - begin), 0);
    if (inner_->position() <= position) break;
  }
  auto pool = std::make_shared<BucketPool>();
  pool->begin = inner_->position();
  inner_->next(kUnlimited, kUnlimited, batch_);
  pool->window = batch_.window;
  pool->window_generation = batch_.window_generation;

  std::vector<Item>& items = batch_.items;
  pool->padding.plain = cells(items, cut(items, block_samples_));
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.samples < b.samples; });
  std::vector<Block> blocks = cut(items, block_samples_);
  pool->padding.bucketed = cells(items, blocks);
  for (const Block& block : blocks) pool->padding.samples += block.samples;

  CounterRng rng(mix64(seed_ + 0x6275636B6574ull) + pool->begin);
  for (std::size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[rng.below(i)]);
  pool->items.reserve(items.size());
  pool->block.assign(items.size(), 0);
  for (const Block& block : blocks) {
    pool->block[pool->items.size()] = block.samples;
    pool->items.insert(pool->items.end(), items.begin() + static_cast<std::ptrdiff_t>(block.begin),
                       items.begin() + static_cast<std::ptrdiff_t>(block.end));
  }
  return pool;
}

void BucketTimeline::entered(const Pool& pool) {
  const Padding& more = static_cast<const BucketPool&>(pool).padding;
  padding_.samples += more.samples;
  padding_.plain += more.plain;
  padding_.bucketed += more.bucketed;
}

}  // namespace batchfeed::order
