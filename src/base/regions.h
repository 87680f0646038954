// SPDX-License-Identifier: MIT
//
// Blocks of memory of 64 KiB to 2 MiB that share large pages. Such a block alone would lie
// on pages of 4 KiB, and the first touch of these takes four times as long.
#pragma once

#include <cstddef>

namespace batchfeed {

// A region is 16 MiB of address space, of which the system gives pages as they are touched. Blocks
// are placed first fit, so that the front of a region is used again before more of it is touched.
// For one thread at a time.
class Regions {
 public:
  static constexpr std::size_t kLeast = std::size_t{64} << 10, kMost = std::size_t{2} << 20;

  Regions() = default;
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  // Uninitialised memory, aligned to 64 bytes; kLeast <= bytes <= kMost. Null if there is none.
  void* allocate(std::size_t bytes) noexcept;
  // Takes back a block that allocate(bytes) returned. A region without blocks goes back to the system.
  void release(void* block, std::size_t bytes) noexcept;

  std::size_t held() const noexcept { return held_; }  // regions

 private:
  struct Free;
  struct Region;

  static void* take(Region& region, std::size_t bytes) noexcept;
  static void give(Region& region, void* block, std::size_t bytes) noexcept;
  Region* add() noexcept;
  void open(Region& region) noexcept;
  void close(Region& region) noexcept;

  Region* open_ = nullptr;  // list of regions with room for a block, the last one opened first
  std::size_t held_ = 0;
};

// Whether buffers take their blocks from Regions: not where a sanitizer watches each block by itself.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kBuffersShareRegions = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kBuffersShareRegions = false;
#else
inline constexpr bool kBuffersShareRegions = true;
#endif
#else
inline constexpr bool kBuffersShareRegions = true;
#endif

}  // namespace batchfeed
