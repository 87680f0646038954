// SPDX-License-Identifier: MIT
#include "reader/draws.h"

#include <algorithm>
#include <numeric>

#include "reader/damaged.h"
#include "reader/queue_fields.h"

namespace batchfeed::reader {

namespace {
Draws::Drawn foreign(std::uint64_t position, std::uint64_t behind, bool end_of_sweep) {
  return {.item = {},
          .length = static_cast<std::uint32_t>(behind - position),
          .end_of_sweep = end_of_sweep,
          .position = position,
          .foreign = true};
}

// Draws made ahead at most, where a window holds many sequences.
constexpr std::size_t kMostDraws = 4096;
}  // namespace

void Draws::begin_epoch(std::uint64_t begin, std::uint64_t size) {
  timeline_->begin_epoch(begin, size);
  forget();
}

void Draws::next_epoch(std::uint64_t begin, std::uint64_t size) {
  timeline_->next_epoch(begin, size);
  forget();
}

void Draws::forget() {
  ahead_.clear();
  uses_.clear();
  window_.reset();
  in_window_.clear();
  outside_ = 0;
  position_ = timeline_->position();
  exhausted_ = false;
}

// The next sequence of this worker; of any worker with Data::all_workers.
void Draws::draw_one() { timeline_->next(data_.all_workers ? 1 : order::Timeline::kUnlimited, 1, one_); }

// One more draw at the end of ahead_.
void Draws::draw() {
  Ahead& next = ahead_.emplace_back();
  next.position = timeline_->position();
  draw_one();
  next.behind = one_.position;
  next.end_of_sweep = one_.end_of_sweep;
  next.end_of_epoch = one_.end_of_epoch;
  if (!drawn_window_ || one_.window_generation != drawn_generation_) {
    drawn_window_ = std::make_shared<const std::vector<std::uint32_t>>(one_.window);
    drawn_generation_ = one_.window_generation;
  }
  next.window = drawn_window_;
  if (one_.items.empty()) return;
  next.item = one_.items[0];
  if (uses_[next.item->chunk]++ == 0 && in_window_.count(next.item->chunk) == 0) ++outside_;
  if (data_.want) data_.want(next.item->chunk);
}

void Draws::draw_ahead() {
  if (ahead_.empty()) draw();
  while (outside_ < data_.chunks_ahead && ahead_.size() < kMostDraws && !ahead_.back().end_of_epoch) draw();
}

void Draws::enter(const Window& window) {
  if (window_ == window) return;
  window_ = window;
  in_window_.clear();
  in_window_.insert(window->begin(), window->end());
  outside_ = static_cast<std::size_t>(
      std::count_if(uses_.begin(), uses_.end(), [&](const auto& use) { return in_window_.count(use.first) == 0; }));
}

std::optional<Draws::Drawn> Draws::next(Mark& mark) {
  const std::uint64_t begin = position_;
  while (!exhausted_) {
    draw_ahead();
    const Ahead first = std::move(ahead_.front());
    ahead_.pop_front();
    position_ = first.behind;
    exhausted_ = first.end_of_epoch;
    enter(first.window);
    if (!first.item) {
      if (!data_.all_workers || first.behind == first.position) continue;
      return foreign(first.position, first.behind, first.end_of_sweep);
    }
    // A chunk of the window: as many are outside of it as before.
    if (const auto use = uses_.find(first.item->chunk); --use->second == 0) uses_.erase(use);
    const std::optional<std::uint32_t> length = data_.inspect ? data_.inspect(*first.item, mark) : first.item->samples;
    if (length && *length != 0) return Drawn{*first.item, *length, first.end_of_sweep, first.position, false};
    if (position_ - begin > data_.most_damaged) all_damaged();
  }
  return std::nullopt;
}

void Draws::add_window(std::vector<std::uint32_t>& out) const {
  if (window_) out.insert(out.end(), window_->begin(), window_->end());
  const auto ahead = static_cast<std::ptrdiff_t>(out.size());
  for (const auto& use : uses_) out.push_back(use.first);
  std::sort(out.begin() + ahead, out.end());
}

std::vector<Draws::Drawn> Draws::restore(std::uint64_t position, const std::vector<std::uint64_t>& waiting) {
  // In the order of the line, which is cheap to walk forwards.
  std::vector<std::size_t> by_position(waiting.size());
  std::iota(by_position.begin(), by_position.end(), std::size_t{0});
  std::sort(by_position.begin(), by_position.end(),
            [&](std::size_t a, std::size_t b) { return waiting[a] < waiting[b]; });
  std::vector<Drawn> out(waiting.size());
  for (const std::size_t i : by_position) {
    if (waiting[i] >= position) QueueFields::damaged();
    if (timeline_->position() != waiting[i]) timeline_->restore(waiting[i]);
    if (timeline_->position() != waiting[i]) QueueFields::damaged();
    draw_one();
    if (one_.items.empty()) {
      if (!data_.all_workers || one_.position == waiting[i]) QueueFields::damaged();
      out[i] = foreign(waiting[i], one_.position, one_.end_of_sweep);
      continue;
    }
    out[i] = {one_.items[0], one_.items[0].samples, one_.end_of_sweep, waiting[i], false};
    if (data_.want) data_.want(out[i].item.chunk);
  }
  Mark counted_before;
  for (Drawn& drawn : out) {
    if (!data_.inspect || drawn.foreign) continue;
    const std::optional<std::uint32_t> length = data_.inspect(drawn.item, counted_before);
    if (!length || *length == 0) QueueFields::damaged();
    drawn.length = *length;
  }
  timeline_->restore(position);
  forget();
  return out;
}

}  // namespace batchfeed::reader
