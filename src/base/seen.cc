// SPDX-License-Identifier: MIT
#include "base/seen.h"

#include <algorithm>
#include <utility>

namespace batchfeed {

bool Seen::add(std::string_view text) {
  if (4 * (size_ + 1) > 3 * slots_.size()) grow();
  const std::uint64_t hash = std::max<std::uint64_t>(hash_(text), 1);
  std::uint64_t& slot = slot_of(hash);
  if (slot == hash) return false;
  slot = hash;
  ++size_;
  return true;
}

std::uint64_t& Seen::slot_of(std::uint64_t hash) noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & mask;
  return slots_[at];
}

void Seen::grow() {
  const std::vector<std::uint64_t> before =
      std::exchange(slots_, std::vector<std::uint64_t>(std::max<std::size_t>(64, 2 * slots_.size())));
  for (const std::uint64_t hash : before)
    if (hash != 0) slot_of(hash) = hash;
}

}  // namespace batchfeed
