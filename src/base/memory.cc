// SPDX-License-Identifier: MIT
#include <batchfeed/buffer.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <type_traits>

#include "base/fork_safe.h"
#include "base/regions.h"

namespace batchfeed::detail {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLargePage = Regions::kMost;

// Never destroyed: static objects that own buffers may be destroyed after everything else.
constinit std::mutex shared_mutex;
constinit Regions shared_regions;
static_assert(std::is_trivially_destructible_v<std::mutex> && std::is_trivially_destructible_v<Regions>);

bool is_shared(std::size_t bytes) noexcept {
  return kBuffersShareRegions && bytes >= Regions::kLeast && bytes < Regions::kMost;
}

// Small blocks are aligned here, as aligned_alloc() takes three times as long for them as operator new: in front of
// each stands the address of the memory it is part of. Not where a sanitizer watches what lies behind a block.
bool is_small(std::size_t bytes) noexcept { return kBuffersShareRegions && bytes < Regions::kLeast; }
static_assert(alignof(std::max_align_t) >= sizeof(char*), "the room in front of a block is a multiple of it");

void* allocate_small(std::size_t bytes) noexcept {
  char* const memory = static_cast<char*>(::operator new(bytes + kLine, std::nothrow));
  if (memory == nullptr) return nullptr;
  char* const block = memory + kLine - reinterpret_cast<std::uintptr_t>(memory) % kLine;
  std::memcpy(block - sizeof memory, &memory, sizeof memory);
  return block;
}

void release_small(void* block) noexcept {
  char* memory;
  std::memcpy(&memory, static_cast<char*>(block) - sizeof memory, sizeof memory);
  ::operator delete(memory);
}

}  // namespace

void* allocate(std::size_t bytes) noexcept {
  if (is_small(bytes)) return allocate_small(bytes);
  if (is_shared(bytes)) {
    const auto lock = hold<shared_mutex>();
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
  if (memory == nullptr) return;
  if (is_small(bytes)) {
    release_small(memory);
  } else if (is_shared(bytes)) {
    const auto lock = hold<shared_mutex>();
    shared_regions.release(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace batchfeed::detail
