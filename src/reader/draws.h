// SPDX-License-Identifier: MIT
//
// Draws one sequence after the other, for planners that lay sequences end to end.
// They need real lengths, which only the data have; so the order is drawn ahead, and
// the chunks that will be inspected are read in time.
#pragma once

#include <batchfeed/options.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "order/timeline.h"
#include "reader/plan.h"

namespace batchfeed::reader {

class Draws {
 public:
  struct Drawn {
    order::Item item;
    std::uint32_t length = 0;  // in the data
    bool end_of_sweep = false;
    std::uint64_t position = 0;  // of the timeline before it: drawing there gives it again
    bool foreign = false;        // another worker's: only its nominal length is known
  };
  struct Data {
    // The real length of a sequence, or nothing if it is damaged and is not to be
    // delivered, which is counted in the mark. Empty: nominal lengths are taken.
    std::function<std::optional<std::uint32_t>(const order::Item&, Mark&)> inspect = {};
    std::function<void(std::uint32_t chunk)> want = {};  // will be inspected
    bool all_workers = false;                            // sequences of other workers are drawn too
    std::size_t chunks_ahead = 0;                        // to be asked for outside the window; 0: do not draw ahead
    std::uint64_t most_damaged = ~0ull;                  // samples without a sound sequence after which next() throws
  };

  Draws(std::unique_ptr<order::Timeline> timeline, Data data)
      : timeline_(std::move(timeline)), data_(std::move(data)) {}

  void begin_epoch(std::uint64_t begin, std::uint64_t size);
  void next_epoch(std::uint64_t begin, std::uint64_t size);
  order::Past past() const { return timeline_->past(); }
  void set_past(const order::Past& past) { timeline_->set_past(past); }
  // The next sound sequence of this worker; nothing at the end of the epoch. Throws Error where none comes: an
  // epoch may have no end.
  std::optional<Drawn> next(Mark& mark);
  // Draws once more behind the end of the epoch, by which the timeline enters the next sweep (minibatch.md 6.3).
  void ask_again() { draw_one(); }
  // Behind what next() gave last.
  std::uint64_t position() const noexcept { return position_; }
  bool exhausted() const noexcept { return exhausted_; }
  // Whether lengths are nominal ones, as the data are not inspected.
  bool nominal() const noexcept { return !data_.inspect; }
  // Appends the chunks of the order's window here, then those of sequences drawn ahead.
  void add_window(std::vector<std::uint32_t>& out) const;

  // Draws the sequences at the positions `waiting` again and returns them in that order;
  // goes on at `position`. Throws Error (state) if no sequence is drawn at one of them.
  std::vector<Drawn> restore(std::uint64_t position, const std::vector<std::uint64_t>& waiting);

 private:
  using Window = std::shared_ptr<const std::vector<std::uint32_t>>;
  struct Ahead {
    std::optional<order::Item> item;
    bool end_of_sweep = false, end_of_epoch = false;
    std::uint64_t position = 0, behind = 0;  // of the timeline, before and after
    Window window;
  };

  void forget();
  void draw_one();
  void draw();
  void draw_ahead();
  void enter(const Window& window);

  std::unique_ptr<order::Timeline> timeline_;
  Data data_;
  order::Batch one_;
  Window drawn_window_;  // of the last draw
  std::uint64_t drawn_generation_ = 0;
  std::deque<Ahead> ahead_;
  std::unordered_map<std::uint32_t, std::size_t> uses_;  // per chunk: draws in ahead_ that need it
  Window window_;                                        // of what next() gave last
  std::unordered_set<std::uint32_t> in_window_;
  std::size_t outside_ = 0;  // chunks in uses_ that are not in the window
  std::uint64_t position_ = 0;
  bool exhausted_ = false;
};

}  // namespace batchfeed::reader
