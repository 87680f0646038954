// SPDX-License-Identifier: MIT
#include <batchfeed/buffer.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/regions.h"

namespace batchfeed::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = Regions::kMost;

// Of the process, for as long as it lives. Held while it forks, so that a child finds it whole and free.
class SharedRegions {
 public:
  static SharedRegions& get() noexcept {
    static SharedRegions& regions = *new (memory_) SharedRegions;
    return regions;
  }
  void* allocate(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    return regions_.allocate(bytes);
  }
  void release(void* block, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    regions_.release(block, bytes);
  }

 private:
  SharedRegions() noexcept {
    static_cast<void>(
        ::pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().mutex_.unlock(); }));
  }

  alignas(64) static std::byte memory_[];
  std::mutex mutex_;
  Regions regions_;
};
alignas(64) std::byte SharedRegions::memory_[sizeof(SharedRegions)];

bool is_shared(std::size_t bytes) noexcept {
  return kBuffersShareRegions && bytes >= Regions::kLeast && bytes < Regions::kMost;
}

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  if (is_shared(bytes)) return SharedRegions::get().allocate(bytes);
  const std::size_t unit = bytes < kLargePage ? kLine : kLargePage;
  if (bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const memory = std::aligned_alloc(unit, rounded);
#if defined(MADV_HUGEPAGE)
  // Advice: where it is not taken, all is as without it. Not for the last page, unless more than half of it
  // will be used when a sixteenth was asked for in advance.
  const std::size_t used = bytes - bytes / 17;
  const std::size_t pages = std::min((used + kLargePage / 2) / kLargePage, bytes / kLargePage);
  if (memory != nullptr && unit == kLargePage) ::madvise(memory, pages * kLargePage, MADV_HUGEPAGE);
#endif
  return memory;
}

void release(void* memory, std::size_t bytes) noexcept {
  if (memory != nullptr && is_shared(bytes)) {
    SharedRegions::get().release(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace batchfeed::detail
