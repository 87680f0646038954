// SPDX-License-Identifier: MIT
//
// The fault of a chunk that does not fit into memory.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "base/counted.h"

namespace batchfeed {

// Reads a chunk by `read`. If there is no memory for a large one, throws Error(limit) with its size.
template <class Read>
void read_chunk(const Source& source, std::uint32_t id, const Read& read) {
  constexpr std::uint64_t kLarge = 64u << 20;  // may by itself be too much; for a smaller one others took the memory
  try {
    read();
  } catch (const std::bad_alloc&) {
    const std::uint64_t bytes = source.chunks()[id].bytes;
    if (bytes < kLarge) throw;
    throw Error(Fault{
        .kind = FaultKind::limit,
        .id = "limit.chunk-memory",
        .what = "chunk " + std::to_string(id) + " takes " + counted(bytes, "byte") + ", for which there is no memory",
        .hint = "a smaller chunk size or shorter sequences need less"});
  }
}

inline void read_chunk(const Source& source, std::uint32_t id, Chunk& out) {
  read_chunk(source, id, [&] { source.read(id, out); });
}

// Reads a chunk to look at its rows: calls each(row) for each part of it, which is in `out` then and begins with that
// row of the chunk. All of the chunk is one part, unless its samples take far more memory than its bytes.
template <class Each>
void read_in_parts(const Source& source, std::uint32_t id, Chunk& out, const Each& each) {
  constexpr std::uint64_t kPart = 1u << 20;  // samples of a part; one sequence may have more
  const RowReader* const reader = source.chunks()[id].samples > kPart ? source.row_reader(id) : nullptr;
  if (reader == nullptr || reader->row_memory(id) != RowMemory::far_more) {
    read_chunk(source, id, out);
    each(0u);
    return;
  }
  std::vector<SequenceInfo> table;
  source.sequences(id, table);
  for (std::size_t first = 0, last = 0; first < table.size(); first = last) {
    std::uint64_t samples = 0;
    while (last < table.size() && (last == first || samples + table[last].samples <= kPart))
      samples += table[last++].samples;
    const RowRange rows{table[first].row, table[last - 1].row + 1};  // there may be rows that the table leaves out
    read_chunk(source, id, [&] { reader->read(id, rows, out); });
    each(rows.first);
  }
}

}  // namespace batchfeed
