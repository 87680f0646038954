// SPDX-License-Identifier: MIT
#include "order/windows.h"

#include <algorithm>
#include <cstddef>

#include "base/saturate.h"

namespace batchfeed::order {
namespace {

// begin[c] .. begin[c + 1]: the samples of chunk c.
std::vector<std::uint64_t> running_sums(std::span<const std::uint64_t> sizes) {
  std::vector<std::uint64_t> begin(sizes.size() + 1, 0);
  for (std::size_t c = 0; c < sizes.size(); ++c) begin[c + 1] = begin[c] + sizes[c];
  return begin;
}

Windows of_chunks(std::uint32_t count) {
  return {.lo = std::vector<std::uint32_t>(count), .hi = std::vector<std::uint32_t>(count)};
}

}  // namespace

Windows windows_in_samples(std::span<const std::uint64_t> sizes, std::uint64_t window) {
  const std::vector<std::uint64_t> begin = running_sums(sizes);
  const std::uint64_t half = window / 2;
  const auto n = static_cast<std::uint32_t>(sizes.size());
  Windows windows = of_chunks(n);
  std::uint32_t lo = 0, hi = 1;
  for (std::uint32_t c = 0; c < n; ++c) {
    while (begin[c] - begin[lo] > half) ++lo;
    lo = std::min(lo, c);
    hi = std::max(hi, c + 1);
    while (hi < n && begin[hi + 1] - begin[c] < half) ++hi;
    windows.lo[c] = lo;
    windows.hi[c] = hi;
  }
  return windows;
}

Windows windows_in_chunks(std::uint32_t count, std::uint64_t window) {
  const std::uint64_t half = window / 2;
  const std::uint64_t width = window == 0 ? 1 : window;
  Windows windows = of_chunks(count);
  for (std::uint32_t c = 0; c < count; ++c) {
    std::uint64_t lo = c > half ? c - half : 0;
    std::uint64_t hi = add_sat(lo, width);
    if (hi > count) {
      hi = count;
      lo = width < count ? count - width : 0;
    }
    windows.lo[c] = static_cast<std::uint32_t>(lo);
    windows.hi[c] = static_cast<std::uint32_t>(hi);
  }
  return windows;
}

Windows windows_centred(std::span<const std::uint64_t> sizes, std::uint64_t window) {
  const std::vector<std::uint64_t> begin = running_sums(sizes);
  const std::uint64_t total = begin.back();
  const std::uint64_t width = std::min(window, total);
  const auto n = static_cast<std::uint32_t>(sizes.size());
  Windows windows = of_chunks(n);
  std::uint32_t lo = 0, hi = 0;
  for (std::uint32_t c = 0; c < n; ++c) {
    // Twice the sample numbers, so that the middle of a chunk is one. At the ends
    // of the sweep the interval is moved inwards instead of being cut.
    std::uint64_t middle = begin[c] + begin[c + 1];
    middle = std::min(std::max(middle, width), 2 * total - width);
    while (2 * begin[lo] + width < middle) ++lo;
    while (hi < n && 2 * begin[hi + 1] <= middle + width) ++hi;
    windows.lo[c] = lo = std::min(lo, c);
    windows.hi[c] = hi = std::max(hi, c + 1);
  }
  return windows;
}

}  // namespace batchfeed::order
