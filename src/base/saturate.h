// SPDX-License-Identifier: MIT
//
// Sums and products that stop at the largest value instead of wrapping.
#pragma once

#include <cstdint>

namespace batchfeed {

constexpr std::uint64_t add_sat(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t sum = a + b;
  return sum < a ? ~0ull : sum;
}

constexpr std::uint64_t mul_sat(std::uint64_t a, std::uint64_t b) noexcept {
  return b != 0 && a > ~0ull / b ? ~0ull : a * b;
}

}  // namespace batchfeed
