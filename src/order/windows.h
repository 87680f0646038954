// SPDX-License-Identifier: MIT
//
// Which chunks may exchange sequences: for every chunk, counted in the shuffled
// order, a half-open interval of chunks (minibatch.md 5.2).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace batchfeed::order {

// Interval c is [lo[c], hi[c]). It contains c; bounds never fall as c grows.
struct Windows {
  std::vector<std::uint32_t> lo, hi;

  bool whole() const noexcept { return lo.empty() || (lo.back() == 0 && hi.front() == lo.size()); }
};

// The reference's: about `window` samples in all, lop-sided to the left.
Windows windows_in_samples(std::span<const std::uint64_t> sizes, std::uint64_t window);

// Exactly min(max(window, 1), count) chunks, centred where the ends allow it.
Windows windows_in_chunks(std::uint32_t count, std::uint64_t window);

// At most max(window, size of the chunk) samples, centred on the chunk.
Windows windows_centred(std::span<const std::uint64_t> sizes, std::uint64_t window);

}  // namespace batchfeed::order
