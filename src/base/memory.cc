// SPDX-License-Identifier: MIT
#include <batchfeed/buffer.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <type_traits>

#include "base/regions.h"

namespace batchfeed::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = Regions::kMost;

// Never destroyed: static objects that own buffers may be destroyed after everything else.
constinit std::mutex shared_mutex;
constinit Regions shared_regions;
static_assert(std::is_trivially_destructible_v<std::mutex> && std::is_trivially_destructible_v<Regions>);

// Also held while the process forks, so that a child finds the regions whole and the mutex free.
std::unique_lock<std::mutex> hold_regions() noexcept {
  static const int told =
      ::pthread_atfork([] { shared_mutex.lock(); }, [] { shared_mutex.unlock(); }, [] { shared_mutex.unlock(); });
  static_cast<void>(told);
  return std::unique_lock(shared_mutex);
}

bool is_shared(std::size_t bytes) noexcept {
  return kBuffersShareRegions && bytes >= Regions::kLeast && bytes < Regions::kMost;
}

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  if (is_shared(bytes)) {
    const auto lock = hold_regions();
    return shared_regions.allocate(bytes);
  }
  const std::size_t unit = bytes < kLargePage ? kLine : kLargePage;
  if (bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const memory = std::aligned_alloc(unit, rounded);
#if defined(MADV_HUGEPAGE)
  // Only advice, so its result does not matter. The last large page is left out unless more than half of it will be
  // used, assuming that callers asked for a sixteenth more than they need yet.
  const std::size_t used = bytes - bytes / 17;
  const std::size_t pages = std::min((used + kLargePage / 2) / kLargePage, bytes / kLargePage);
  if (memory != nullptr && unit == kLargePage) ::madvise(memory, pages * kLargePage, MADV_HUGEPAGE);
#endif
  return memory;
}

void release(void* memory, std::size_t bytes) noexcept {
  if (memory != nullptr && is_shared(bytes)) {
    const auto lock = hold_regions();
    shared_regions.release(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace batchfeed::detail
