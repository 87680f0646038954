// SPDX-License-Identifier: MIT
//
// What a minibatch will consist of, decided from metadata alone, and the place
// in the stream behind it. Planning runs ahead of the data.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/minibatch.h>
#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "order/timeline.h"

namespace batchfeed::reader {

// A place in the stream, behind an answer: everything a state has to hold.
struct Mark {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;           // of the next answer in the epoch
  std::uint64_t position = 0;        // of the timeline
  bool begun = false;                // false: the epoch has not been entered yet
  bool ended = false;                // the last answer carried end_of_epoch
  bool follows = false;              // not begun; position, past and queue are of the end of the epoch before
  bool none_yet = false;             // there were answers, but none had a sequence
  std::uint64_t invalid = 0;         // damaged sequences so far that count against max_invalid
  std::uint64_t tolerated = 0;       // damaged sequences that their source counts itself (max_errors)
  std::uint64_t skipped = 0;         // sequences left out on request (too long, last partial minibatch)
  Padding padding;                   // what bucketing saved so far
  order::Past past;                  // of the timeline, as of the begin of the epoch
  std::vector<std::uint64_t> queue;  // truncated packing: sequences begun, as their planner wrote them

  bool operator==(const Mark&) const = default;
};

// A sequence of the answer, or the part [first, first + count) of it; kAll: all from there on.
struct PlanItem {
  static constexpr std::uint32_t kAll = 0xFFFFFFFFu;
  std::uint32_t chunk = 0, row = 0;
  std::uint32_t first = 0, count = kAll;
  std::uint32_t samples = 0;  // nominal

  bool is_part() const noexcept { return first != 0 || count != kAll; }
};

struct Plan {
  // Truncated packing: where a part of items[i] stands.
  struct Part {
    std::uint32_t item = 0;
    std::uint32_t row = 0, step = 0;
    std::uint32_t first = 0, count = 0, length = 0;
    // HTKMLFReader presents several utterances as one sequence: this part belongs
    // to the entry of the one before it, which runs from `joined_begin` for
    // `joined_length` steps (0: the part is a sequence of its own).
    bool joins = false;
    std::int64_t joined_begin = 0;
    std::uint32_t joined_length = 0;
  };

  std::vector<PlanItem> items;
  bool rectangular = false;  // packed as rows x steps of parts
  std::uint32_t rows = 0, steps = 0;
  std::vector<Part> parts;

  std::uint64_t epoch = 0, index = 0;
  bool end_of_epoch = false, end_of_sweep = false;
  std::vector<std::uint32_t> window;    // chunks the order may still want; others may go
  std::uint64_t window_generation = 0;  // equal numbers but 0: equal windows
  Mark after;
  std::uint64_t chunks_ahead = 0;  // the producer's own: chunks it asked for outside the window
};

// A sequence that no minibatch may hold. Whoever catches it has the source, and throws what located() makes of it.
class TooLong : public Error {
 public:
  TooLong(std::uint32_t chunk, std::uint32_t row, Fault fault) : Error(std::move(fault)), chunk_(chunk), row_(row) {}
  std::uint32_t chunk() const noexcept { return chunk_; }
  std::uint32_t row() const noexcept { return row_; }

 private:
  std::uint32_t chunk_, row_;
};

// The same error with the sequence's key and its place in the file; or what finding these throws.
std::exception_ptr located(const TooLong& sequence, const Source& source) noexcept;

// Decides answer after answer. One per run; not thread-safe.
class Planner {
 public:
  virtual ~Planner() = default;
  virtual void begin_epoch(std::uint64_t epoch) = 0;
  virtual void restore(const Mark& mark) = 0;
  // Goes to the answer behind a place.
  void enter(const Mark& place) {
    if (place.begun) {
      restore(place);  // behind an epoch's end the next answer begins the next one
    } else if (place.follows) {
      Mark end = place;
      --end.epoch;
      end.begun = end.ended = true;
      end.follows = false;
      restore(end);
    } else {
      count_on(place);
      begin_epoch(place.epoch);
    }
  }
  // The next answer. Behind end_of_epoch: of the next epoch (Driver::epochs), or
  // empty for ever (Driver::timeline).
  virtual void next(Plan& out) = 0;

  // Some chunks, `most` or fewer, that will be needed first, if this is known before next().
  virtual std::vector<std::uint32_t> first_chunks(std::size_t /*most*/) const { return {}; }
  // Whether it asks for chunks ahead by itself, because it looks into them.
  virtual bool draws_ahead() const { return false; }

  // Goes on from what the run counted before this planner.
  virtual void count_on(const Mark& before) {
    mark_.invalid = before.invalid;
    mark_.tolerated = before.tolerated;
    mark_.skipped = before.skipped;
    mark_.padding = before.padding;
  }

 protected:
  // The mark as it is where an epoch begins.
  void enter_mark(std::uint64_t epoch) {
    mark_.epoch = epoch;
    mark_.index = 0;
    mark_.begun = true;
    mark_.ended = false;
  }
  // Completes an answer: its number, and the mark behind it.
  void leave_mark(std::uint64_t position, Plan& out) {
    out.epoch = mark_.epoch;
    out.index = mark_.index++;
    mark_.position = position;
    mark_.ended = out.end_of_epoch;
    out.after = mark_;
  }

  Mark mark_;  // behind the last answer
};

}  // namespace batchfeed::reader
