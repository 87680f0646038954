// SPDX-License-Identifier: MIT
#include "reader/sequence_planner.h"

#include <algorithm>

#include "base/saturate.h"
#include "order/share.h"

namespace batchfeed::reader {

namespace {
constexpr std::uint64_t kEndless = (1ull << 63) - 1;
}

EpochTable::EpochTable(const ReaderOptions& options, std::uint64_t sweep_samples) {
  if (options.epoch_sweeps != 0) {
    size = std::min(mul_sat(options.epoch_sweeps, sweep_samples), kEndless);
  } else if (options.epoch_samples == 0 || options.epoch_samples == kWholeSet) {
    size = sweep_samples;
  } else {
    size = std::min(options.epoch_samples, kEndless);
  }
}

std::uint64_t minibatch_size(const ReaderOptions& options, std::uint64_t epoch, std::uint64_t index) {
  const auto& sizes = options.minibatch_size;
  const std::uint64_t at = options.driver == ReaderOptions::Driver::epochs ? epoch : index;
  return sizes[static_cast<std::size_t>(std::min<std::uint64_t>(at, sizes.size() - 1))];
}

SequencePlanner::SequencePlanner(std::unique_ptr<order::Timeline> timeline, std::uint64_t sweep_samples,
                                 const ReaderOptions& options)
    : timeline_(std::move(timeline)), options_(options), epochs_(options, sweep_samples) {}

void SequencePlanner::begin_epoch(std::uint64_t epoch) {
  timeline_->begin_epoch(epochs_.begin(epoch), epochs_.size, epoch);
  has_pending_ = false;
  mark_.epoch = epoch;
  mark_.index = 0;
  mark_.begun = true;
  mark_.ended = false;
}

void SequencePlanner::restore(const Mark& mark) {
  begin_epoch(mark.epoch);
  mark_ = mark;
  timeline_->restore(mark.position);
}

// One draw for the whole answer; sizes count samples.
void SequencePlanner::draw(std::uint64_t size) {
  if (options_.shard == Shard::even || !options_.local_timeline) {
    timeline_->next(size, size, batch_);
  } else {
    timeline_->next(order::Timeline::kUnlimited,
                    std::max<std::uint64_t>(share(size, options_.workers, options_.rank), 1), batch_);
  }
}

bool SequencePlanner::fits(const order::Item& item, std::uint64_t size) const noexcept {
  if (batch_.items.empty()) return true;
  const std::uint64_t n = batch_.items.size() + 1;
  if (options_.size_unit == SizeUnit::sequences) return n <= size;
  return mul_sat(n, std::max<std::uint64_t>(longest_, item.samples)) <= size;
}

// Sizes that count sequences or cells of the padded rectangle: sequence after
// sequence until the next does not fit; that one waits for the next answer.
void SequencePlanner::draw_one_by_one(std::uint64_t size) {
  if (options_.shard == Shard::chunk) size = std::max<std::uint64_t>(share(size, options_.workers, options_.rank), 1);
  batch_.items.clear();
  batch_.end_of_sweep = batch_.end_of_epoch = false;
  batch_.position = timeline_->position();
  longest_ = 0;
  for (;;) {
    if (has_pending_) {
      std::swap(one_, pending_);
      has_pending_ = false;
    } else {
      timeline_->next(order::Timeline::kUnlimited, 1, one_);
    }
    if (!one_.items.empty() && !fits(one_.items[0], size)) {
      std::swap(one_, pending_);
      has_pending_ = true;
      return;
    }
    for (const order::Item& item : one_.items) {
      batch_.items.push_back(item);
      longest_ = std::max<std::uint64_t>(longest_, item.samples);
    }
    if (batch_.window_generation != one_.window_generation) batch_.window = one_.window;
    batch_.window_generation = one_.window_generation;
    batch_.position = one_.position;
    batch_.end_of_sweep = batch_.end_of_sweep || one_.end_of_sweep;
    batch_.end_of_epoch = one_.end_of_epoch;
    const bool crosses = options_.cross_sweeps.value_or(options_.driver == ReaderOptions::Driver::timeline);
    if (one_.end_of_epoch || one_.items.empty() || (one_.end_of_sweep && !crosses)) return;
    if (options_.size_unit == SizeUnit::sequences && batch_.items.size() == size) return;
  }
}

// One drawn item into the plan, as the policy on long sequences says.
void SequencePlanner::emit(const order::Item& item, std::uint64_t size, Plan& out) {
  const std::uint32_t first = item.frame == order::Item::kWhole ? 0 : item.frame;
  const std::uint32_t count = item.frame == order::Item::kWhole ? PlanItem::kAll : 1;
  const bool too_long = options_.size_unit != SizeUnit::sequences && item.samples > size;
  if (!too_long || options_.long_sequence == LongSequence::alone) {
    out.items.push_back({item.chunk, item.row, first, count, item.samples});
    return;
  }
  switch (options_.long_sequence) {
    case LongSequence::alone: break;
    case LongSequence::skip: ++mark_.skipped; break;
    case LongSequence::split:
      for (std::uint32_t at = 0; at < item.samples;) {
        const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, item.samples - at));
        out.items.push_back({item.chunk, item.row, at, part, part});
        at += part;
      }
      break;
    case LongSequence::error:
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "reader.long-sequence",
                        .what = "a sequence of " + std::to_string(item.samples) +
                                " samples is longer than the minibatch of " + std::to_string(size),
                        .hint = "raise the minibatch size, or let long sequences come alone, be split or be skipped"});
  }
}

void SequencePlanner::keep_own(Plan& out) {
  if (options_.shard != Shard::even || options_.workers == 1) return;
  std::vector<std::uint32_t> lengths;
  lengths.reserve(out.items.size());
  for (const PlanItem& item : out.items) lengths.push_back(item.samples);
  const auto [from, to] = order::even_share(lengths, options_.workers, options_.rank);
  out.items.erase(out.items.begin() + static_cast<std::ptrdiff_t>(to), out.items.end());
  out.items.erase(out.items.begin(), out.items.begin() + static_cast<std::ptrdiff_t>(from));
}

// The last minibatch of a sweep or epoch, when it is to be full or not at all.
void SequencePlanner::drop_partial(std::uint64_t size, Plan& out) {
  if (options_.last_minibatch != LastMinibatch::drop || (!out.end_of_sweep && !out.end_of_epoch)) return;
  std::uint64_t have = 0, longest = 0;
  for (const PlanItem& item : out.items) {
    have += options_.size_unit == SizeUnit::samples ? item.samples : 1;
    longest = std::max<std::uint64_t>(longest, item.samples);
  }
  if (options_.size_unit == SizeUnit::cells) have *= longest;
  if (have >= size) return;
  mark_.skipped += out.items.size();
  out.items.clear();
}

void SequencePlanner::next(Plan& out) {
  if (mark_.ended && options_.driver == ReaderOptions::Driver::epochs) begin_epoch(mark_.epoch + 1);
  const std::uint64_t size = minibatch_size(options_, mark_.epoch, mark_.index);
  out.items.clear();
  out.parts.clear();
  out.rectangular = false;
  if (options_.size_unit == SizeUnit::samples) {
    draw(size);
  } else {
    draw_one_by_one(size);
  }
  for (const order::Item& item : batch_.items) emit(item, size, out);
  out.end_of_epoch = batch_.end_of_epoch;
  out.end_of_sweep = batch_.end_of_sweep;
  const bool shared = options_.shard == Shard::chunk && options_.local_timeline;
  drop_partial(shared ? std::max<std::uint64_t>(share(size, options_.workers, options_.rank), 1) : size, out);
  keep_own(out);
  if (out.window_generation != batch_.window_generation || batch_.window_generation == 0) {
    out.window = batch_.window;
    out.window_generation = batch_.window_generation;
  }
  out.epoch = mark_.epoch;
  out.index = mark_.index++;
  mark_.position = batch_.position;
  mark_.ended = out.end_of_epoch;
  out.after = mark_;
}

}  // namespace batchfeed::reader
