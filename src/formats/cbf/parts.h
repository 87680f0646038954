// SPDX-License-Identifier: MIT
//
// Reads rows of a chunk without the others, from where a forecast says that they stand.
// Before rows are delivered, all rows from the chunk's first one on have been compared with
// the forecast; if anything differs, or is odd in another way, the chunk is read whole and the
// rows are copied out of it. So rows, faults and notices are those of a chunk read whole.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "formats/cbf/decode.h"
#include "formats/cbf/forecast.h"
#include "formats/cbf/nearby.h"
#include "formats/cbf/turns.h"
#include "formats/cbf/walk.h"

namespace batchfeed::cbf {

class Parts {
 public:
  // A chunk of the file that has sequences.
  struct Which {
    std::uint32_t chunk;    // number to call `whole` with
    std::size_t in_header;  // its number there
    const Lengths& lengths;
  };
  using Whole = std::function<void(std::uint32_t chunk, std::uint64_t warned_to, Chunk& out)>;

  // `whole` reads a whole chunk, without warnings about what stands before offset `warned_to`: they have been given.
  Parts(const Decoder& decoder, const io::File& file, const Nearby& nearby, Whole whole)
      : decoder_(decoder),
        file_(file),
        nearby_(nearby),
        whole_(std::move(whole)),
        can_(decoder.header.chunks.size(), Answer::unknown) {}

  // Whether there is a forecast for the chunk, or it has one sequence. Thread-safe, as read() is.
  bool can(const Which& which) const;
  void read(const Which& which, RowRange rows, Chunk& out) const;

 private:
  // A set of rows of a chunk.
  class RowSet {
   public:
    void add(RowRange rows);  // none of them may be in the set
    // Removes the rows. False, and nothing removed, unless all of them are in the set.
    bool take(RowRange rows);

   private:
    std::map<std::uint32_t, std::uint32_t> ends_;  // by first rows
  };
  struct State {
    Forecast forecast;         // not changed once it is made
    Turns turns;               // one thread at a time adds to `known`
    std::optional<Walk> walk;  // of the sparse stream, if there is one
    std::mutex mutex;
    bool made = false;
    bool odd = false;  // something is not as the forecast says
    // {row, offset at which it begins in the sparse stream, 0 without one}: all rows before it are as the forecast
    // says.
    std::map<std::uint32_t, std::uint64_t> known;
    RowSet reported;  // rows whose faults were reported by a reader of later rows, and not yet read themselves
  };
  enum class Answer : std::uint8_t { unknown, yes, no };
  // Rows decoded before those in front of them are known to be as the forecast says; their faults are held back.
  struct Ahead;
  struct Kept {
    std::uint32_t chunk;
    std::shared_ptr<const Chunk> data;
    std::uint64_t left;  // rows that have not been asked for
  };
  static constexpr std::size_t kKept = 2;

  State& state_of(const Which& which) const;
  void read_ahead(State& state, const Which& which, RowRange rows, Ahead& ahead, Chunk& out) const;
  bool go_on(State& state, const Which& which, RowRange rows, Ahead& ahead, Chunk& out) const;
  static void tell(State& state, RowRange rows, HeldReports& held);
  std::optional<std::uint64_t> decode(const Forecast& forecast, const Which& which, RowRange rows, std::uint64_t at,
                                      HeldReports& held, Chunk& out) const;
  std::optional<std::uint64_t> decode(const Forecast& forecast, const Which& which, RowRange rows, Feed* sparse,
                                      HeldReports& held, Chunk& out) const;
  void refuse_two_readings(const Forecast& forecast, const Which& which, const Chunk& chunk) const;
  std::shared_ptr<const Chunk> whole(const Which& which, RowRange rows, std::uint64_t warned_to) const;

  const Decoder decoder_;
  const io::File& file_;
  const Nearby& nearby_;
  const Whole whole_;
  mutable std::mutex mutex_;
  mutable std::vector<Answer> can_;                // per chunk
  mutable std::map<std::uint32_t, State> states_;  // of chunks that were read
  mutable std::vector<Kept> kept_;                 // chunks read whole, the latest last
};

}  // namespace batchfeed::cbf
