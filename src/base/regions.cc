// SPDX-License-Identifier: MIT
#include "base/regions.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace batchfeed {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kRegion = std::size_t{16} << 20;  // a region's size, and its alignment: see release()

// By mmap() and not malloc(): once malloc() has been given back a block of this size, it raises its mmap threshold and
// keeps more free memory from then on.
void* map_region() noexcept {
  void* const memory = ::mmap(nullptr, 2 * kRegion, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(memory);
  const std::size_t before = (kRegion - reinterpret_cast<std::uintptr_t>(memory) % kRegion) % kRegion;
  if (before != 0) ::munmap(begin, before);
  ::munmap(begin + before + kRegion, kRegion - before);
#if defined(MADV_HUGEPAGE)
  ::madvise(begin + before, kRegion, MADV_HUGEPAGE);  // only advice, so its result does not matter
#endif
  return begin + before;
}

constexpr std::size_t rounded(std::size_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

// A free range of a region; stored in the range's own first bytes.
struct Regions::Free {
  std::size_t bytes;
  Free* next;  // in the order of their addresses

  std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this); }
  std::byte* end() noexcept { return begin() + bytes; }
};

// Stored in the first 64 bytes of a region; blocks follow.
struct Regions::Region {
  std::size_t left;  // free bytes, in all ranges together
  Free* free;
  Region *before, *behind;  // neighbours in the list of open regions

  std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this) + kLine; }
};

void* Regions::allocate(std::size_t bytes) noexcept {
  const std::size_t n = rounded(bytes);
  void* block = nullptr;
  Region* region = open_;
  while (region != nullptr && (block = take(*region, n)) == nullptr) region = region->behind;
  if (block == nullptr) {
    region = add();
    if (region == nullptr) return nullptr;
    block = take(*region, n);
  }
  if (region->left < kLeast) close(*region);
  return block;
}

void Regions::release(void* block, std::size_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  Region& region = *reinterpret_cast<Region*>(at / kRegion * kRegion);
  if (region.left < kLeast) open(region);
  give(region, block, rounded(bytes));
  if (region.left != kRegion - kLine) return;
  close(region);
  ::munmap(&region, kRegion);
  --held_;
}

void* Regions::take(Region& region, std::size_t bytes) noexcept {
  if (region.left < bytes) return nullptr;
  Free** link = &region.free;
  while (*link != nullptr && (*link)->bytes < bytes) link = &(*link)->next;
  Free* const found = *link;
  if (found == nullptr) return nullptr;
  *link = found->bytes == bytes ? found->next : new (found->begin() + bytes) Free{found->bytes - bytes, found->next};
  region.left -= bytes;
  return found;
}

// The block becomes a free range, merged with the free ranges right before and behind it.
void Regions::give(Region& region, void* block, std::size_t bytes) noexcept {
  Free* before = nullptr;
  Free* behind = region.free;
  while (behind != nullptr && behind < block) {
    before = behind;
    behind = behind->next;
  }
  Free* fresh = new (block) Free{bytes, behind};
  if (before == nullptr) {
    region.free = fresh;
  } else if (before->end() == fresh->begin()) {
    before->bytes += bytes;
    fresh = before;
  } else {
    before->next = fresh;
  }
  if (behind != nullptr && fresh->end() == behind->begin()) {
    fresh->bytes += behind->bytes;
    fresh->next = behind->next;
  } else {
    fresh->next = behind;
  }
  region.left += bytes;
}

Regions::Region* Regions::add() noexcept {
  void* const memory = map_region();
  if (memory == nullptr) return nullptr;
  auto* const region = new (memory) Region{};
  region->left = kRegion - kLine;
  region->free = new (region->begin()) Free{region->left, nullptr};
  open(*region);
  ++held_;
  return region;
}

void Regions::open(Region& region) noexcept {
  region.before = nullptr;
  region.behind = open_;
  if (open_ != nullptr) open_->before = &region;
  open_ = &region;
}

void Regions::close(Region& region) noexcept {
  (region.before != nullptr ? region.before->behind : open_) = region.behind;
  if (region.behind != nullptr) region.behind->before = region.before;
}

}  // namespace batchfeed
