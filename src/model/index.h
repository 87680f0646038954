// SPDX-License-Identifier: MIT
//
// What an indexing pass finds in a file: where each sequence stands, its key and
// its nominal length; and the cut into chunks. 32 bytes a sequence at most.
#pragma once

#include <cstdint>
#include <vector>

namespace batchfeed {

struct IndexEntry {
  std::uint64_t key = 0;
  std::uint64_t begin = 0;  // bytes, absolute
  std::uint64_t bytes = 0;
  std::uint32_t samples = 0;  // nominal length
  std::uint32_t aux = 0;      // the format's own (text: rows, or a line number's low bits)
};
static_assert(sizeof(IndexEntry) <= 32);

struct Index {
  std::vector<IndexEntry> entries;         // in file order
  std::vector<std::uint64_t> chunk_first;  // first entry of each chunk, and entries.size() at the end

  std::uint32_t chunks() const noexcept {
    return chunk_first.empty() ? 0 : static_cast<std::uint32_t>(chunk_first.size() - 1);
  }
};

}  // namespace batchfeed
