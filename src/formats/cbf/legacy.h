// SPDX-License-Identifier: MIT
//
// Chunks of the older layout: each stream is one block over all sequences.
//
//   dense   ELEM value[sequences * dim]                  one sample a sequence
//   sparse  i32 nnz, ELEM value[nnz], i32 row[nnz], i32 column[sequences + 1]
//           entries column[s] .. column[s+1] belong to sequence s;
//           row = sample * dim + index
#pragma once

#include <batchfeed/buffer.h>

#include <cstddef>
#include <cstdint>

#include "formats/cbf/decode.h"
#include "formats/cbf/faults.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header.h"

namespace batchfeed::cbf {

// Where the parts of one stream's block stand; all of it lies inside the chunk.
struct LegacyBlock {
  std::uint64_t values_at = 0, rows_at = 0, columns_at = 0, end = 0;
  std::uint32_t nnz = 0;
};

// Throws Error if the chunk is too small for the sequences its row claims; called before anything is allocated.
void check_legacy_room(const Header& header, std::size_t chunk, const Faults& faults);
// `feed` stands at the start of the block.
LegacyBlock legacy_block(const Header& header, std::size_t chunk, const FileStream& stream, Feed& feed,
                         const Faults& faults);
// sequences + 1 numbers, checked: from 0, never falling, to nnz.
void read_columns(const LegacyBlock& block, std::uint32_t sequences, const FileStream& stream, Feed& feed,
                  const Faults& faults, Buffer<std::uint32_t>& columns);

// All streams of a chunk; see decode() for the rest.
void decode_legacy(const Decoder& decoder, std::size_t chunk, Feed& feed, Chunk& out);

}  // namespace batchfeed::cbf
