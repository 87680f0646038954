// SPDX-License-Identifier: MIT
#pragma once

#include <batchfeed/source.h>

#include <new>
#include <string>

namespace batchfeed {

// Reads a chunk by `read`. One that is larger than what memory there is says so by its size.
template <class Read>
void read_chunk(const Source& source, std::uint32_t id, const Read& read) {
  constexpr std::uint64_t kLarge = 64u << 20;  // may by itself be too much; for a smaller one others took the memory
  try {
    read();
  } catch (const std::bad_alloc&) {
    const std::uint64_t bytes = source.chunks()[id].bytes;
    if (bytes < kLarge) throw;
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.chunk-memory",
                      .what = "chunk " + std::to_string(id) + " takes " + std::to_string(bytes) +
                              " bytes, for which there is no memory",
                      .hint = "a smaller chunk size or shorter sequences need less"});
  }
}

inline void read_chunk(const Source& source, std::uint32_t id, Chunk& out) {
  read_chunk(source, id, [&] { source.read(id, out); });
}

}  // namespace batchfeed
