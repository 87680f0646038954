// SPDX-License-Identifier: MIT
//
// Where the streams of a chunk stand, told before they are read (modern layout). The file
// says only how long sequences are; it is supposed that in each dense stream all of them
// have that length, or all have one sample, as a label or a vector of a sequence does. What
// one sparse stream takes is the rest. Whoever reads so compares it all with the data:
// every stream but the largest before any row is believed, and that one row by row.
// Values that were made to look like lengths, at every sequence, deceive it until the largest
// stream differs: rows were then given that hold other values of the chunk, so it is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "formats/cbf/header.h"
#include "formats/cbf/lengths.h"

namespace batchfeed::cbf {

struct Forecast {
  struct Stream {
    std::uint64_t begin = 0, end = 0;  // bytes of the file
    bool single = false;               // one sample a sequence
  };
  std::vector<Stream> streams;

  // The lengths that the sequences of a dense stream have.
  Lengths lengths(const Lengths& announced, std::size_t stream, RowRange rows) const {
    return streams[stream].single ? Lengths(1, rows.last - rows.first) : announced.part(rows);
  }
  // The first byte of a row of a dense stream.
  std::uint64_t at(const Header& header, const Lengths& announced, std::size_t stream, std::uint32_t row) const;
};

// None if the sizes, or the first and last lengths that a stream has in the file, do not
// fit; if it might hold more than the limits allow; or if the largest stream is not most of
// the chunk, as the others are read twice.
std::optional<Forecast> forecast(const Header& header, std::size_t chunk, const Lengths& lengths, const Limits& limits,
                                 const io::File& file);

// Whether each sequence of every stream but the largest is where it is supposed to be.
bool is_true(const Forecast& told, const Header& header, std::size_t chunk, const Lengths& lengths,
             const io::File& file);

}  // namespace batchfeed::cbf
