// SPDX-License-Identifier: MIT
#include "reader/truncated_planner.h"

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/saturate.h"
#include "reader/queue_fields.h"

namespace batchfeed::reader {

TruncatedPlanner::TruncatedPlanner(Draws draws, std::uint64_t sweep_samples, const ReaderOptions& options)
    : draws_(std::move(draws)), options_(options), epochs_(options, sweep_samples), sweep_samples_(sweep_samples) {}

std::uint64_t TruncatedPlanner::length() const {
  return options_.pack.truncation_length != 0 ? options_.pack.truncation_length
                                              : minibatch_size(options_, mark_.epoch, mark_.index);
}

void TruncatedPlanner::resize_rows() {
  std::uint64_t size = minibatch_size(options_, mark_.epoch, mark_.index);
  if (options_.pack.truncation_length == 0) {
    // The size is the length, and a list says how many rows (nbruttsineachrecurrentiter).
    size = mul_sat(size, by_epoch(options_.rows_per_epoch, mark_.epoch));
  }
  const std::uint64_t all = std::max<std::uint64_t>(1, size / length());
  if (options_.workers > all) {
    throw Error(Fault{.kind = FaultKind::config,
                      .id = "reader.more-workers-than-rows",
                      .what = "a minibatch of " + counted(size, "sample") + " has " + counted(all, "row") + " of " +
                              counted(length(), "step") + ", too few for " + counted(options_.workers, "worker"),
                      .hint = "raise the minibatch size to at least workers x `truncationLength`"});
  }
  own_rows_ = share(all, options_.workers, options_.rank);
  first_row_ = 0;
  if (options_.shard == Shard::even) {
    for (std::uint64_t r = 0; r < options_.rank; ++r) first_row_ += share(all, options_.workers, r);
  }
  const bool even = options_.shard == Shard::even;
  const std::uint64_t planned = even ? all : own_rows_;
  const bool resized = std::exchange(size_, size) != size;
  if (std::exchange(planned_rows_, planned) == planned && (even || !resized)) return;
  // Another size drops what is queued, as in the reference; unlike there it is counted.
  for (const Row& row : rows_) mark_.skipped += row.queue().size();
  rows_.clear();
}

void TruncatedPlanner::begin_epoch(std::uint64_t epoch) {
  enter(epoch, false);
  resize_rows();
}

void TruncatedPlanner::enter(std::uint64_t epoch, bool behind_another) {
  if (behind_another && reorders_between_epochs(options_)) {
    draws_.next_epoch(epochs_.begin(epoch), epochs_.size(epoch));
  } else {
    draws_.begin_epoch(epochs_.begin(epoch), epochs_.size(epoch));
  }
  mark_.past = draws_.past();
  enter_mark(epoch);
  rows_.clear();
  epoch_end_ = add_sat(epochs_.begin(epoch), epochs_.size(epoch));
  asked_again_ = false;
}

// The oldest position, then of each row up to the last that holds anything: cursor, number of sequences, and of each
// the position at which it was drawn, from the oldest on. A 1 behind all if ask_again() was called.
void TruncatedPlanner::save_queue(std::vector<std::uint64_t>& out) const {
  std::uint64_t oldest = draws_.position();
  for (const Row& row : rows_) {
    for (const Draws::Drawn& drawn : row.queue()) oldest = std::min(oldest, drawn.position);
  }
  out.assign(1, oldest);
  std::uint32_t index = 0;
  for (const Row& row : rows_) {
    for (; index < row.index; ++index) out.insert(out.end(), {0, 0});
    out.insert(out.end(), {row.cursor, row.queue().size()});
    for (const Draws::Drawn& drawn : row.queue()) out.push_back(drawn.position - oldest);
    ++index;
  }
  if (asked_again_) out.push_back(1);
}

std::uint64_t waiting(const std::vector<std::uint64_t>& queue) noexcept {
  std::uint64_t n = 0;
  for (std::size_t at = 1; at + 1 < queue.size();) {
    const std::uint64_t row = std::min<std::uint64_t>(queue[at + 1], queue.size() - at - 2);
    n += row;
    at += 2 + static_cast<std::size_t>(row);
  }
  return n;
}

void TruncatedPlanner::restore(const Mark& mark) {
  enter(mark.epoch, false);
  mark_ = mark;
  draws_.set_past(mark.past);
  if (mark.queue.empty()) {
    draws_.restore(mark.position, {});
    return;
  }
  // The queue was saved with the rows of the minibatch before; the next one may have another number of rows.
  if (mark.index != 0) --mark_.index;
  resize_rows();
  mark_.index = mark.index;
  QueueFields fields(mark.queue);
  const std::uint64_t oldest = fields.next();
  std::vector<std::uint64_t> waiting;
  std::vector<std::uint64_t> counts;
  while (fields.left() >= 2) {
    if (rows_.size() == planned_rows_) QueueFields::damaged();
    Row& row = rows_.emplace_back(static_cast<std::uint32_t>(rows_.size()));
    row.cursor = fields.next32();
    counts.push_back(fields.next());
    for (std::uint64_t i = 0; i < counts.back(); ++i) waiting.push_back(add_sat(oldest, fields.next()));
  }
  const bool asked_again = fields.left() == 1 && fields.next() == 1;
  fields.expect_end();
  const std::vector<Draws::Drawn> drawn = draws_.restore(mark.position, waiting);
  if (asked_again) ask_again();
  auto from = drawn.begin();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    Row& row = rows_[r];
    row.drawn.assign(from, from + static_cast<std::ptrdiff_t>(counts[r]));
    from += static_cast<std::ptrdiff_t>(counts[r]);
    for (const Draws::Drawn& one : row.drawn) row.available += one.length;
    // A sequence may be longer than its table says: without its data, the cursor may lie behind the nominal length.
    if (draws_.nominal() && !row.empty()) row.cursor = std::min(row.cursor, row.drawn.front().length - 1);
    if (row.empty() ? row.cursor != 0 : row.cursor >= row.drawn.front().length) QueueFields::damaged();
    row.available -= row.cursor;
  }
}

void TruncatedPlanner::Row::push(const Draws::Drawn& one) {
  if (first > drawn.size() / 2) {
    drawn.erase(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(first));
    first = 0;
  }
  drawn.push_back(one);
}

// As the reference does for each row that has run dry. This may enter the next sweep, on which the order of the next
// epoch depends (Timeline::next_epoch()).
void TruncatedPlanner::ask_again() {
  if (asked_again_ || !options_.mix_weights.empty()) return;
  draws_.ask_again();
  asked_again_ = true;
}

// A row looks at least one sample beyond its minibatch, so that the end of the
// epoch is known in time.
void TruncatedPlanner::refill(Row& row) {
  while (row.available <= length()) {
    if (nothing_comes()) return ask_again();
    if (const std::optional<Draws::Drawn> drawn = draws_.next(mark_)) {
      row.push(*drawn);
      row.available += drawn->length;
    }
    if (draws_.exhausted()) return;
  }
}

// As long as sequences come no row runs dry, and rows_ has all of them, up to the one for which there were not enough.
void TruncatedPlanner::refill() {
  std::uint32_t r = 0;
  for (; r < planned_rows_ && !nothing_comes(); ++r) {
    if (r == rows_.size()) rows_.emplace_back(r);
    refill(rows_[r]);
  }
  if (r == planned_rows_ || asked_again_) return;
  const auto is_short = [this](const Row& row) { return row.available <= length(); };
  if (rows_.size() < planned_rows_ || std::any_of(rows_.begin() + r, rows_.end(), is_short)) ask_again();
}

// Takes up to truncation_length samples of a row into the plan.
void TruncatedPlanner::take(Row& row, Plan& out) {
  const auto steps = static_cast<std::uint32_t>(length());
  const bool own = row.index >= first_row_ && row.index < first_row_ + own_rows_;
  std::uint32_t step = 0;
  while (step < steps && !row.empty()) {
    const Draws::Drawn& front = row.drawn[row.first];
    const std::uint32_t count = std::min(steps - step, front.length - row.cursor);
    if (own) {
      out.parts.push_back({.item = static_cast<std::uint32_t>(out.items.size()),
                           .row = static_cast<std::uint32_t>(row.index - first_row_),
                           .step = step,
                           .first = row.cursor,
                           .count = count,
                           .length = front.length});
      out.items.push_back({front.item.chunk, front.item.row, 0, PlanItem::kAll, count});
    }
    const bool filled_alone = step == 0 && count == steps;
    step += count;
    row.cursor += count;
    row.available -= count;
    if (filled_alone) {
      const auto splice = static_cast<std::uint32_t>(options_.pack.right_splice);
      row.cursor -= splice;
      row.available += splice;
    }
    if (row.cursor == front.length) {
      swept_ = swept_ || front.end_of_sweep;
      row.pop();
      row.cursor = 0;
    }
  }
}

void TruncatedPlanner::next(Plan& out) {
  if (mark_.ended && options_.driver == ReaderOptions::Driver::epochs) enter(mark_.epoch + 1, true);
  if (is_resized(options_, mark_)) {
    Mark place = mark_;
    number_anew(options_, sweep_samples_, place);
    if (place.past != mark_.past) {
      place.skipped += waiting(place.queue);
      place.queue.clear();
      restore(place);
    }
  }
  resize_rows();
  out.items.clear();
  out.parts.clear();
  out.rectangular = true;
  out.rows = static_cast<std::uint32_t>(own_rows_);
  out.steps = static_cast<std::uint32_t>(length());
  refill();
  swept_ = false;
  for (Row& row : rows_) take(row, out);
  if (nothing_comes()) std::erase_if(rows_, [](const Row& row) { return row.empty(); });
  out.end_of_epoch = rows_.empty();
  out.end_of_sweep = swept_;
  // Chunks of queued sequences are wanted as long as they are queued.
  out.window.clear();
  out.window_generation = 0;
  draws_.add_window(out.window);
  for (const Row& row : rows_) {
    for (const Draws::Drawn& drawn : row.queue()) out.window.push_back(drawn.item.chunk);
  }
  save_queue(mark_.queue);
  leave_mark(draws_.position(), out);
}

}  // namespace batchfeed::reader
