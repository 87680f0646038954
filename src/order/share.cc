// SPDX-License-Identifier: MIT
#include "order/share.h"

#include <algorithm>

namespace batchfeed::order {

std::pair<std::size_t, std::size_t> even_share(std::span<const std::uint32_t> lengths, std::uint64_t workers,
                                               std::uint64_t rank) {
  const std::size_t n = lengths.size();
  if (workers <= 1) return {0, n};
  if (n <= workers) {
    const auto at = static_cast<std::size_t>(std::min<std::uint64_t>(rank, n));
    return {at, std::min(at + 1, n)};
  }
  std::uint64_t total = 0;
  for (const std::uint32_t length : lengths) total += length;
  // The cut before worker r lies where the running sum is nearest to r / workers
  // of the total, with room for at least one sequence for everybody.
  std::size_t cut = 0;
  std::uint64_t sum = 0;
  std::size_t begin = 0;
  for (std::uint64_t r = 1; r <= rank + 1; ++r) {
    begin = cut;
    if (r == workers) return {begin, n};
    const std::uint64_t target = total / workers * r + total % workers * r / workers;
    const std::size_t least = cut + 1, most = n - static_cast<std::size_t>(workers - r);
    while (cut < least || (cut < most && sum + lengths[cut] <= target + lengths[cut] / 2)) sum += lengths[cut++];
  }
  return {begin, cut};
}

}  // namespace batchfeed::order
