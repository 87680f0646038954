// SPDX-License-Identifier: MIT
//
// Reads rows of a chunk without the others, from where a forecast says that they stand.
// What is read so has been compared with the forecast from the chunk's first row on; where
// anything differs, or is odd in another way, the chunk is read whole once and its rows
// are copied out of that. So rows, faults and notices are those of a whole chunk.
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
    std::uint32_t chunk;  // as `whole` knows it
    std::size_t row;      // of the header
    const Lengths& lengths;
  };
  using Whole = std::function<void(std::uint32_t chunk, std::uint64_t told, Chunk& out)>;

  // `whole` reads a chunk as if there were no parts, but does not warn again of what stands
  // before the byte `told`.
  Parts(const Decoder& decoder, const io::File& file, const Nearby& nearby, Whole whole)
      : decoder_(decoder),
        file_(file),
        nearby_(nearby),
        whole_(std::move(whole)),
        can_(decoder.header.rows.size(), Answer::unknown) {}

  // Whether there is a forecast. Thread-safe, as read() is.
  bool can(const Which& which) const;
  void read(const Which& which, RowRange rows, Chunk& out) const;

 private:
  // Rows of a chunk.
  class RowSet {
   public:
    void add(RowRange rows);  // none of which is in it
    // False, and as it was, if one of them is not.
    bool take(RowRange rows);

   private:
    std::map<std::uint32_t, std::uint32_t> ends_;  // by first rows
  };
  struct State {
    Forecast forecast;         // not changed once it is made
    Turns turns;               // to add to what is known
    std::optional<Walk> walk;  // of the sparse stream, if there is one
    std::mutex mutex;
    bool made = false;
    bool odd = false;  // not as the forecast says
    // Rows up to which all is as it says, and the byte where the sparse stream goes on there.
    std::map<std::uint32_t, std::uint64_t> known;
    RowSet told;  // passed, with all there is to tell of them, by whoever wanted later ones
  };
  enum class Answer : std::uint8_t { unknown, yes, no };
  // Rows read before those in front of them are known to be as told, and what is to be told of them.
  struct Ahead;
  struct Kept {
    std::uint32_t chunk;
    std::shared_ptr<const Chunk> data;
    std::uint64_t left;  // rows that nobody has asked for
  };
  static constexpr std::size_t kKept = 2;

  State& state_of(const Which& which) const;
  void read_ahead(State& state, const Which& which, RowRange rows, Ahead& ahead, Chunk& out) const;
  bool go_on(State& state, const Which& which, RowRange rows, Ahead& ahead, Chunk& out) const;
  static void tell(State& state, RowRange rows, HeldFaults& held);
  std::optional<std::uint64_t> decode(const Forecast& forecast, const Which& which, RowRange rows, std::uint64_t at,
                                      HeldFaults& held, Chunk& out) const;
  std::optional<std::uint64_t> decode(const Forecast& forecast, const Which& which, RowRange rows, Feed* sparse,
                                      HeldFaults& held, Chunk& out) const;
  std::size_t sparse_stream() const;  // the number of streams, if there is none
  void refuse_two_readings(const Forecast& told, const Which& which, const Chunk& chunk) const;
  std::shared_ptr<const Chunk> whole(const Which& which, RowRange rows, std::uint64_t told) const;

  const Decoder decoder_;
  const io::File& file_;
  const Nearby& nearby_;
  const Whole whole_;
  mutable std::mutex mutex_;
  mutable std::vector<Answer> can_;                // per chunk
  mutable std::map<std::uint32_t, State> states_;  // of chunks that were read
  mutable std::vector<Kept> kept_;                 // the last one read whole is the last
};

}  // namespace batchfeed::cbf
