// SPDX-License-Identifier: MIT
//
// The line of sweeps read through a randomised order (minibatch.md 6): where
// minibatches and epochs are cut, and what belongs to this worker. Orders are
// interchangeable under it; a sequence belongs to a worker by the place of the
// chunk it comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "base/saturate.h"
#include "order/timeline.h"

namespace batchfeed::order {

// Checks of all kinds of timeline; throw Error (usage).
void check_limits(std::uint64_t global_limit, std::uint64_t local_limit);
void check_workers(std::uint64_t workers, std::uint64_t rank);
void check_epoch(std::uint64_t size);

// Sweep: a cursor over one sweep, as CntkSweep.
template <class Sweep>
class BlockTimeline final : public Timeline {
 public:
  BlockTimeline(Sweep sweep, std::uint64_t identity, bool cross_sweeps, std::uint64_t workers, std::uint64_t rank,
                bool own_first)
      : sweep_(std::move(sweep)),
        sweep_samples_(sweep_.corpus().total_samples()),
        identity_(identity),
        cross_sweeps_(cross_sweeps),
        own_first_(own_first) {
    set_workers(workers, rank);
    begin_epoch(0, kWholeSet);
  }

  void begin_epoch(std::uint64_t begin, std::uint64_t size) override {
    check_epoch(size);
    begin_ = begin;
    end_ = add_sat(begin, size);
    enter(begin / sweep_samples_);
    set_past({});  // does not depend on what was read before
  }

  void next_epoch(std::uint64_t begin, std::uint64_t size) override {
    check_epoch(size);
    begin_ = begin;
    end_ = add_sat(begin, size);
    enter(begin / sweep_samples_);
    sweep_.seek_again(begin % sweep_samples_);
    arrive();
    past_ = sweep_.past();
  }

  Past past() const override { return past_; }
  void set_past(const Past& past) override {
    sweep_.set_past(past);
    sweep_.seek(begin_ % sweep_samples_);
    arrive();
    past_ = past;
  }

  void restore(std::uint64_t position) override {
    std::uint64_t sweep = position / sweep_samples_, offset = position % sweep_samples_;
    // The epoch's last sequence went beyond its end, and ended the sweep: the next epoch begins in that same
    // sweep, in an order that depends on the chunks the cursor let go there (seek_again()).
    if (offset == 0 && position > end_) {
      --sweep;
      offset = sweep_samples_;
    }
    enter(sweep);
    sweep_.seek(offset);
    arrive();
  }

  void set_workers(std::uint64_t workers, std::uint64_t rank) override {
    check_workers(workers, rank);
    next_workers_ = workers;
    next_rank_ = rank;
  }

  void next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) override {
    check_limits(global_limit, local_limit);
    out.items.clear();
    out.end_of_sweep = out.end_of_epoch = false;
    crossed_ = 0;
    Taken all;
    do {
      const bool continuing = out.end_of_sweep;
      if (continuing) keep_window(out);
      const Taken taken = fill(global_limit - all.global, local_limit - all.local, !continuing, out);
      if (continuing && taken.global == 0) break;
      all.global += taken.global;
      all.local += taken.local;
    } while (cross_sweeps_ && out.end_of_sweep && !out.end_of_epoch && all.global < global_limit &&
             all.local < local_limit);
    out.position = position_;
    report_window(out);
  }

  std::uint64_t position() const override { return position_; }
  std::vector<std::uint32_t> first_chunks(std::size_t most) const override {
    std::vector<std::uint32_t> chunks;
    if (position_ >= end_) return chunks;
    const auto [lo, hi] = sweep_.interval();
    for (std::uint32_t c = lo; c < hi && chunks.size() < most; ++c) {
      if (own(c)) chunks.push_back(sweep_.chunk_at(c));
    }
    return chunks;
  }

 private:
  struct Taken {
    std::uint64_t global = 0, local = 0;
  };

  // Enters a sweep, with the workers last set.
  void enter(std::uint64_t sweep) {
    workers_ = next_workers_;
    rank_ = next_rank_;
    enter_sweep(sweep);
  }

  // Moves position_ to the sweep's cursor.
  void arrive() {
    position_ = sweep_.sweep() * sweep_samples_ + sweep_.sample();
    if (rank_ >= sweep_.corpus().chunks()) position_ = end_;  // a worker without any chunk
  }

  void enter_sweep(std::uint64_t sweep) {
    if (entered_ && sweep == sweep_.sweep()) return;
    sweep_.begin(sweep);
    entered_ = true;
  }

  bool own(std::uint32_t home) const noexcept { return workers_ == 1 || home % workers_ == rank_; }

  // Takes what fits from the current sweep. Until the first sequence, of this worker if own_first_, neither limit
  // applies: so something is always taken where there is any.
  Taken fill(std::uint64_t global_limit, std::uint64_t local_limit, bool need_one, Batch& out) {
    const std::uint64_t in_sweep = position_ % sweep_samples_;
    enter_sweep(position_ / sweep_samples_);  // behind the end of the epoch, too (minibatch.md 6.3)
    if (position_ >= end_) {
      out.end_of_epoch = true;
      out.end_of_sweep = out.end_of_sweep || (position_ >= sweep_samples_ && in_sweep == 0);
      interval_ = sweep_.interval();
      return {};
    }
    global_limit = std::min(global_limit, sweep_samples_ - in_sweep);
    const std::uint64_t left = end_ - position_;
    sweep_.settle();
    const std::uint32_t lo = sweep_.interval().first;
    Taken taken;
    while (sweep_.settle()) {
      const std::uint32_t samples = sweep_.samples();
      const bool mine = own(sweep_.home());
      if (!need_one && (taken.global + samples > global_limit || (mine && taken.local + samples > local_limit))) {
        break;
      }
      if (taken.global >= left) break;
      if (mine) {
        out.items.push_back(sweep_.item());
        taken.local += samples;
      }
      need_one = need_one && own_first_ && !mine;
      taken.global += samples;
      sweep_.advance();
    }
    interval_ = {lo, sweep_.interval().second};
    out.end_of_sweep = out.end_of_sweep || in_sweep + taken.global >= sweep_samples_;
    out.end_of_epoch = out.end_of_epoch || taken.global >= left;
    position_ += taken.global;
    return taken;
  }

  std::uint64_t interval_number() const noexcept {
    const auto [lo, hi] = interval_;
    return mix64(identity_ +
                 mix64(sweep_.sweep() + mix64((std::uint64_t{lo} << 32 | hi) + mix64(workers_ + mix64(rank_)))));
  }

  void append_interval(std::vector<std::uint32_t>& window) const {
    for (std::uint32_t c = interval_.first; c < interval_.second; ++c) {
      if (own(c)) window.push_back(sweep_.chunk_at(c));
    }
  }

  // Adds the window of a sweep that the batch goes beyond, before the sweep's order is replaced.
  void keep_window(Batch& out) {
    if (crossed_ == 0) out.window.clear();
    append_interval(out.window);
    crossed_ = mix64(crossed_ + interval_number());
  }

  void report_window(Batch& out) {
    if (crossed_ == 0) {
      const std::uint64_t number = interval_number() | 1;
      if (out.window_generation == number) return;
      out.window_generation = number;
      out.window.clear();
      append_interval(out.window);
      return;
    }
    keep_window(out);
    out.window_generation = crossed_ | 1;
    std::vector<bool> seen(sweep_.corpus().chunks());
    std::erase_if(out.window, [&](std::uint32_t chunk) {
      const bool again = seen[chunk];
      seen[chunk] = true;
      return again;
    });
  }

  Sweep sweep_;
  std::uint64_t sweep_samples_;
  std::uint64_t identity_;
  bool cross_sweeps_, own_first_;
  bool entered_ = false;
  std::uint64_t workers_ = 1, rank_ = 0;
  std::uint64_t next_workers_ = 1, next_rank_ = 0;
  std::uint64_t begin_ = 0, end_ = 0;  // of the epoch
  std::uint64_t position_ = 0;
  Past past_;                                         // as of the begin of the epoch
  std::pair<std::uint32_t, std::uint32_t> interval_;  // chunk places the last fill drew from
  std::uint64_t crossed_ = 0;                         // hash of the intervals of sweeps that the batch left; 0: none
};

}  // namespace batchfeed::order
