// SPDX-License-Identifier: MIT
//
// What an indexing pass finds in a file: where each sequence stands, its key and
// its nominal length; and the cut into chunks. 32 bytes a sequence at most.
#pragma once

#include <batchfeed/buffer.h>

#include <cstdint>
#include <cstdlib>
#include <new>
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

// On huge pages: where sequences are short, the first touch of their entries costs as much as finding them.
template <class T>
struct HugePages {
  using value_type = T;

  T* allocate(std::size_t n) {
    void* const memory = n > SIZE_MAX / sizeof(T) ? nullptr : detail::allocate(n * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* p, std::size_t /*n*/) noexcept { std::free(p); }
  bool operator==(const HugePages&) const noexcept { return true; }
};
using IndexEntries = std::vector<IndexEntry, HugePages<IndexEntry>>;

struct Index {
  IndexEntries entries;                    // in file order
  std::vector<std::uint64_t> chunk_first;  // first entry of each chunk, and entries.size() at the end

  std::uint32_t chunks() const noexcept {
    return chunk_first.empty() ? 0 : static_cast<std::uint32_t>(chunk_first.size() - 1);
  }
};

}  // namespace batchfeed
