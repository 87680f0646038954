// SPDX-License-Identifier: MIT
//
// Where the streams of a chunk stand, computed before they are read (modern layout). The file
// says only how long sequences are; the forecast assumes that in each dense stream all of them
// have that length, or all have one sample, as a label or a vector of a sequence does. A sparse
// stream, of which there may be one, takes the rest of the chunk. A reader has to compare the
// forecast with the data: every stream but the largest before it delivers any row (is_true()),
// and the largest row by row. A false forecast passes only if values look like lengths at every
// sequence; once the largest stream differs, rows delivered before held other values of the
// chunk, so the chunk is refused.
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

  // The lengths that sequences `rows` of a dense stream have; `announced` are those at the begin of the chunk.
  Lengths lengths(const Lengths& announced, std::size_t stream, RowRange rows) const {
    return streams[stream].single ? Lengths(1, rows.last - rows.first) : announced.part(rows);
  }
  // The offset in the file at which a row of a dense stream begins (with its length).
  std::uint64_t at(const Header& header, const Lengths& announced, std::size_t stream, std::uint32_t row) const;
};

// None for the older layout and for an empty chunk; if the sizes, or the first and last lengths that a dense stream
// has in the file, do not fit; if a stream might hold more values than the limits allow; or if the largest stream is
// less than three quarters of the chunk, as the others are read twice. Throws Error (io).
std::optional<Forecast> forecast(const Header& header, std::size_t chunk, const Lengths& lengths, const Limits& limits,
                                 const io::File& file);

// Whether each sequence of every stream but the largest stands where the forecast says.
bool is_true(const Forecast& made, const Header& header, std::size_t chunk, const Lengths& lengths,
             const io::File& file);

}  // namespace batchfeed::cbf
