// SPDX-License-Identifier: MIT
//
// One chunk of bytes into columns. Everything is checked here that scheduling
// does not need: lengths, counts, indices.
//
//   chunk      u32 length[sequences], stream data in header order
//   dense      per sequence: u32 N, ELEM value[N * dim]
//   sparse     per sequence: u32 N, i32 nnz, ELEM value[nnz], i32 index[nnz], i32 count[N]
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/cbf/faults.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header.h"
#include "formats/cbf/lengths.h"
#include "model/fault_sink.h"

namespace batchfeed::cbf {

struct Decoder {
  const Header& header;
  const std::vector<StreamInfo>& streams;  // as delivered: names, element
  const Limits& limits;
  const Faults& faults;
  FaultSink& sink;
  // True: damage behind which decoding can go on is given to the sink and its
  // sequence marked invalid. False: any damage is thrown.
  bool check = false;
  // Offset in the file up to which warnings have been given already (modern layout).
  std::uint64_t warned_to = 0;

  void damaged(Chunk& out, std::uint32_t row, Fault fault) const;
};

// `feed` covers exactly the chunk. Throws Error.
void decode(const Decoder& decoder, std::size_t chunk, const Lengths& lengths, Feed& feed, Chunk& out);

// For both layouts:
// Appends n values of the feed to column.values, converted to column.element.
void append_values(Feed& feed, std::uint64_t n, Element stored, Column& column);
// Converts n values of type `stored` (little-endian, as in the file) to type `wanted`.
void convert_values(const std::byte* from, Element stored, std::byte* to, Element wanted, std::size_t n);

}  // namespace batchfeed::cbf
