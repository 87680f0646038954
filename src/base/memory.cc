// SPDX-License-Identifier: MIT
#include <batchfeed/buffer.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace batchfeed::detail {

void* allocate(std::size_t bytes) noexcept {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  // Where smaller ones begin and end on such pages, all takes longer (bench/journal.md).
  const std::size_t unit = bytes < kHugePage ? 64 : kHugePage;
  if (bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const memory = std::aligned_alloc(unit, rounded);
#if defined(MADV_HUGEPAGE)
  // Advice: where it is not taken, all is as without it. Not for the last page, unless more than half of it
  // will be used when a sixteenth was asked for in advance.
  const std::size_t used = bytes - bytes / 17;
  const std::size_t pages = std::min((used + kHugePage / 2) / kHugePage, bytes / kHugePage);
  if (memory != nullptr && unit == kHugePage) ::madvise(memory, pages * kHugePage, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace batchfeed::detail
