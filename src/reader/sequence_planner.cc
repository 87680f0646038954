// SPDX-License-Identifier: MIT
#include "reader/sequence_planner.h"

#include <algorithm>
#include <numeric>

#include "base/counted.h"
#include "base/saturate.h"
#include "order/fill.h"
#include "order/mix.h"
#include "order/share.h"
#include "reader/check_options.h"

namespace batchfeed::reader {

namespace {
// Parts that a sequence may be split into; each is an item of the plan.
constexpr std::uint64_t kMostParts = 1 << 21;
}  // namespace

SequencePlanner::SequencePlanner(std::unique_ptr<order::Timeline> timeline, std::uint64_t sweep_samples,
                                 const ReaderOptions& options, std::function<void()> expect_running)
    : timeline_(std::move(timeline)),
      options_(options),
      epochs_(options, sweep_samples),
      sweep_samples_(sweep_samples),
      crosses_(crosses_sweeps(options) || !options.mix_weights.empty()),
      expect_running_(std::move(expect_running)) {}

void SequencePlanner::begin_epoch(std::uint64_t epoch) { enter(epoch, false); }

void SequencePlanner::enter(std::uint64_t epoch, bool behind_another) {
  if (behind_another && reorders_between_epochs(options_)) {
    timeline_->next_epoch(epochs_.begin(epoch), epochs_.size(epoch));
  } else {
    timeline_->begin_epoch(epochs_.begin(epoch), epochs_.size(epoch));
  }
  mark_.past = timeline_->past();
  drawn_to_ = timeline_->position();
  has_pending_ = has_ahead_ = false;
  enter_mark(epoch);
}

void SequencePlanner::restore(const Mark& mark) {
  begin_epoch(mark.epoch);
  mark_ = mark;
  timeline_->set_past(mark.past);
  timeline_->restore(mark.position);
  drawn_to_ = timeline_->position();
}

// This worker's part of a minibatch size, where each worker has a timeline of its own.
std::uint64_t SequencePlanner::own_size(std::uint64_t size) const noexcept {
  if (options_.shard == Shard::even) return size;
  if (options_.size_unit == SizeUnit::samples && !options_.local_timeline) return size;
  return std::max<std::uint64_t>(share(size, options_.workers, options_.rank), 1);
}

Padding SequencePlanner::counted() const {
  const Padding* padding = timeline_->padding();
  return padding == nullptr ? Padding{} : *padding;
}

void SequencePlanner::draw(std::uint64_t size, Drawn& out) {
  out.begin = drawn_to_;
  if (options_.size_unit == SizeUnit::samples) {
    draw_samples(size, out);
  } else {
    draw_one_by_one(size, out);
  }
  drawn_to_ = out.batch.position;
}

void SequencePlanner::draw_samples(std::uint64_t size, Drawn& out) {
  const bool all = options_.shard == Shard::even || !options_.local_timeline;
  timeline_->next(all ? size : order::Timeline::kUnlimited, own_size(size), out.batch);
  out.padding = counted();
}

// Sizes that count sequences or cells of the padded rectangle: sequence after
// sequence until the next does not fit; that one waits for the next answer.
void SequencePlanner::draw_one_by_one(std::uint64_t size, Drawn& drawn) {
  order::Batch& out = drawn.batch;
  size = own_size(size);
  order::Fill fill(options_.size_unit, size);
  out.items.clear();
  out.end_of_sweep = out.end_of_epoch = false;
  for (;;) {
    drawn.padding = counted();
    if (has_pending_) {
      std::swap(one_, pending_);
      has_pending_ = false;
    } else {
      timeline_->next(order::Timeline::kUnlimited, 1, one_);
    }
    const bool next_block = one_.begins_block && fill.sequences() != 0;
    if (!one_.items.empty() && (next_block || !fill.takes(one_.items[0].samples))) {
      std::swap(one_, pending_);
      has_pending_ = true;
      return;
    }
    for (const order::Item& item : one_.items) {
      out.items.push_back(item);
      fill.add(item.samples);
    }
    if (out.window_generation != one_.window_generation) out.window = one_.window;
    out.window_generation = one_.window_generation;
    out.position = one_.position;
    out.end_of_sweep = out.end_of_sweep || one_.end_of_sweep;
    out.end_of_epoch = one_.end_of_epoch;
    const bool full = options_.size_unit == SizeUnit::sequences && out.items.size() == size;
    if (one_.items.empty() || is_last(one_) || full) {
      drawn.padding = counted();
      return;
    }
  }
}

// Whether the next batch begins a sweep or epoch of its own.
bool SequencePlanner::is_last(const order::Batch& batch) const noexcept {
  return batch.end_of_epoch || (batch.end_of_sweep && !crosses_);
}

void SequencePlanner::advance() {
  if (has_ahead_) {
    std::swap(now_, ahead_);
    has_ahead_ = false;
  } else {
    draw(minibatch_size(options_, mark_.epoch, mark_.index), now_);
  }
  // Blocks of bucketing are even already, and no batch goes beyond its pool.
  if (options_.shard != Shard::even || options_.last_minibatch != LastMinibatch::keep ||
      options_.bucket_minibatches != 0 || now_.batch.items.empty() || is_last(now_.batch)) {
    return;
  }
  const std::uint64_t size = minibatch_size(options_, mark_.epoch, mark_.index + 1);
  draw(size, ahead_);
  has_ahead_ = true;
  if (is_last(ahead_.batch)) even_out(size);
}

bool SequencePlanner::ends_sweep(std::uint64_t begin, std::uint64_t end) const noexcept {
  return begin / sweep_samples_ != end / sweep_samples_;
}

// All of a batch was skipped, so the batch drawn ahead becomes part of this answer: draws it again if it was drawn with
// the size of the next.
void SequencePlanner::draw_again() {
  if (!has_ahead_) return;
  if (minibatch_size(options_, mark_.epoch, mark_.index) == minibatch_size(options_, mark_.epoch, mark_.index + 1))
    return;
  timeline_->restore(now_.batch.position);
  drawn_to_ = timeline_->position();
  has_pending_ = has_ahead_ = false;
}

// A last batch of less than half the size takes from the one before it. Drawing from
// the position that is then between them gives the same last batch, flags and all.
void SequencePlanner::even_out(std::uint64_t size) {
  std::vector<order::Item>& before = now_.batch.items;
  std::vector<order::Item>& last = ahead_.batch.items;
  order::Fill fill(options_.size_unit, size);
  for (const order::Item& item : last) fill.add(item.samples);
  if (last.empty() || fill.used() >= size - size / 2) return;

  std::vector<std::uint32_t> lengths;
  for (const order::Item& item : before) lengths.push_back(item.samples);
  for (const order::Item& item : last) lengths.push_back(item.samples);
  const std::size_t cut = order::even_share(lengths, 2, 0).second;
  if (cut >= before.size()) return;
  order::Fill second(options_.size_unit, size);
  for (std::size_t i = cut; i < lengths.size(); ++i) {
    if (!second.takes(lengths[i])) return;
    second.add(lengths[i]);
  }
  const auto from = before.begin() + static_cast<std::ptrdiff_t>(cut);
  const std::uint64_t old = now_.batch.position;
  for (auto item = from; item != before.end(); ++item) now_.batch.position -= item->samples;
  ahead_.begin = now_.batch.position;
  if (now_.batch.end_of_sweep && ends_sweep(ahead_.begin, old)) {
    ahead_.batch.end_of_sweep = true;
    now_.batch.end_of_sweep = ends_sweep(now_.begin, ahead_.begin);
  }
  last.insert(last.begin(), from, before.end());
  before.erase(from, before.end());
}

// What the timeline counted since the last answer.
void SequencePlanner::count_padding() {
  mark_.padding.samples += now_.padding.samples - padding_.samples;
  mark_.padding.cells += now_.padding.cells - padding_.cells;
  mark_.padding.unbucketed += now_.padding.unbucketed - padding_.unbucketed;
  padding_ = now_.padding;
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
      // Nothing but the table says as yet that it is so long.
      if (item.samples / size >= kMostParts)
        throw TooLong(item.chunk, item.row,
                      {.kind = FaultKind::limit,
                       .id = "reader.many-parts",
                       .what = "has " + batchfeed::counted(item.samples, "sample") + ", split into minibatches of " +
                               std::to_string(size) + " more than " + std::to_string(kMostParts) + " parts",
                       .hint = "raise the minibatch size"});
      for (std::uint32_t at = 0; at < item.samples;) {
        const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, item.samples - at));
        const bool last = part == item.samples - at;
        out.items.push_back({item.chunk, item.row, at, last ? PlanItem::kAll : part, part});
        at += part;
      }
      break;
    case LongSequence::error:
      throw TooLong(
          item.chunk, item.row,
          {.kind = FaultKind::limit,
           .id = "reader.long-sequence",
           .what = "has " + batchfeed::counted(item.samples, "sample") + ", the minibatch " + std::to_string(size),
           .hint = "raise the minibatch size, or let long sequences come alone, be split or be skipped"});
  }
}

// Throws if all of a sweep was skipped: a timeline that crosses sweeps may have no end at which to find that out.
void SequencePlanner::expect_some(std::uint64_t size, std::uint64_t skipped_samples) const {
  // Two sweeps of samples hold a whole one.
  if (skipped_samples / 2 <= sweep_samples_) return;
  if (!options_.mix_weights.empty()) {
    // The corpus of the least weight ends its sweep last. Its share is rounded to samples of a round, at least one.
    constexpr std::uint64_t kRound = order::MixTimeline::kRoundSamples;
    const auto& weights = options_.mix_weights;
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double sweeps = std::min(4 * sum / *std::min_element(weights.begin(), weights.end()), 4.0 * kRound);
    if (static_cast<double>(skipped_samples - std::min(skipped_samples, 2 * kRound)) <=
        sweeps * static_cast<double>(sweep_samples_))
      return;
  }
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "reader.all-skipped",
                    .what = "every sequence of a sweep is longer than the minibatch of " + std::to_string(size) +
                            ", and all were left out",
                    .hint = "raise the minibatch size, or let long sequences come alone or be split"});
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

// HTKMLFReader with minibatchMode = full: whether the batch of all workers is not full, and so is left out.
bool SequencePlanner::is_short_legacy(std::uint64_t size) const noexcept {
  const std::uint64_t samples = now_.batch.position - now_.begin;
  const bool none_is_full = sweep_samples_ <= size && epochs_.size(mark_.epoch) < sweep_samples_;
  return options_.full_minibatches && samples < size && samples < sweep_samples_ && !none_is_full;
}

// LastMinibatch::drop: leaves out the last minibatch of an epoch, or of a sweep that none crosses, if it is not full.
void SequencePlanner::drop_partial(std::uint64_t size, Plan& out) {
  if (options_.last_minibatch != LastMinibatch::drop || !is_last(now_.batch)) return;
  order::Fill fill(options_.size_unit, size);
  for (const PlanItem& item : out.items) fill.add(item.samples);
  // Where every worker counts the samples of all, a full minibatch is that of all.
  const bool counts_all = options_.shard == Shard::chunk && options_.workers > 1 && !options_.local_timeline &&
                          options_.size_unit == SizeUnit::samples;
  const std::uint64_t used = counts_all ? now_.batch.position - now_.begin : fill.used();
  if (used >= size) return;
  mark_.skipped += out.items.size();
  out.items.clear();
}

void SequencePlanner::next(Plan& out) {
  if (mark_.ended && options_.driver == ReaderOptions::Driver::epochs) enter(mark_.epoch + 1, true);
  if (is_resized(options_, mark_)) {
    Mark place = mark_;
    number_anew(options_, sweep_samples_, place);
    if (place.past != mark_.past) restore(place);
  }
  const std::uint64_t size = minibatch_size(options_, mark_.epoch, mark_.index);
  out.items.clear();
  out.parts.clear();
  out.rectangular = false;
  const order::Batch& batch = now_.batch;
  out.end_of_sweep = false;
  std::uint64_t from = 0;
  for (bool first = true;; first = false) {  // a minibatch of skipped sequences only is none
    if (!first && expect_running_) expect_running_();
    advance();
    if (first) from = now_.begin;
    out.end_of_sweep = out.end_of_sweep || batch.end_of_sweep;
    if (is_short_legacy(size)) {
      mark_.skipped += batch.items.size();
      if (batch.end_of_epoch) break;
      continue;
    }
    // HTKMLFReader passes over batches of other workers before the first one of this worker in an epoch.
    if (options_.legacy_speech && batch.items.empty() && mark_.index == 0 && !batch.end_of_epoch) continue;
    for (const order::Item& item : batch.items) emit(item, size, out);
    if (!out.items.empty() || batch.items.empty() || is_last(batch)) break;
    expect_some(size, batch.position - from);
    draw_again();
  }
  out.end_of_epoch = batch.end_of_epoch;
  drop_partial(own_size(size), out);
  keep_own(out);
  if (out.window_generation != batch.window_generation || batch.window_generation == 0) {
    out.window = batch.window;
    out.window_generation = batch.window_generation;
  }
  count_padding();
  leave_mark(batch.position, out);
}

}  // namespace batchfeed::reader
