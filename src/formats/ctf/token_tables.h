// SPDX-License-Identifier: MIT
//
// Tables of the kernels that convert a token in a vector of 16 bytes: where its digits
// go, and the power of ten that scales the whole number they spell.
#pragma once

#include <array>
#include <cstdint>

namespace batchfeed::ctf {

using Shuffle = std::array<std::uint8_t, 16>;  // where each byte comes from; 0x80: from nowhere, it becomes 0

// Moves the last n digits in front of place `from` (16: the end), to the right end of a half or a whole vector that
// ends at `to`; the point is k - 1 digits before the end (k = 0: none).
constexpr void move_digits(Shuffle& out, unsigned n, unsigned k, unsigned from, unsigned to) {
  for (unsigned back = 1; back <= n && back <= from && to > 0; ++back) {
    if (back != k) out[--to] = static_cast<std::uint8_t>(from - back);
  }
}

// at[k][n + 1] is for a token of n bytes at the end of a vector.
struct alignas(64) TokenShuffles {
  std::array<std::array<Shuffle, 32>, 17> at{};  // 32 are found by a shift
  constexpr TokenShuffles() {
    for (unsigned k = 0; k < 17; ++k) {
      for (unsigned n = 0; n < 32; ++n) {
        at[k][n].fill(0x80);
        if (n > 1 && n <= 17) move_digits(at[k][n], n - 1, k, 16, 16);
      }
    }
  }
};
inline constexpr TokenShuffles kTokenShuffles;

// at[k][n + 1][m + 1] is for a pair at the end of a vector: an index of m <= 7 digits, which go to the first half, a
// colon, a value of n <= 7 bytes, which go to the second.
struct alignas(64) PairShuffles {
  std::array<std::array<std::array<Shuffle, 9>, 9>, 8> at{};
  constexpr PairShuffles() {
    for (unsigned k = 0; k < 8; ++k) {
      for (unsigned n = 0; n < 9; ++n) {
        for (unsigned m = 0; m < 9; ++m) {
          Shuffle& shuffle = at[k][n][m];
          shuffle.fill(0x80);
          if (n < 2 || m < 2) continue;
          move_digits(shuffle, n - 1, k, 16, 16);
          move_digits(shuffle, m - 1, 0, 16 - n, 8);
        }
      }
    }
  }
};
inline constexpr PairShuffles kPairShuffles;

// at[ends] draws numbers together that stand in eight lanes of 16 bits, where those wanted have a bit each: to four
// lanes of 32 bits.
struct alignas(64) EndShuffles {
  std::array<Shuffle, 256> at{};
  constexpr EndShuffles() {
    for (unsigned ends = 0; ends < 256; ++ends) {
      at[ends].fill(0x80);
      unsigned to = 0;
      for (unsigned from = 0; from < 8 && to < 16; ++from) {
        if ((ends >> from & 1) == 0) continue;
        at[ends][to] = static_cast<std::uint8_t>(2 * from);
        at[ends][to + 1] = static_cast<std::uint8_t>(2 * from + 1);
        to += 4;
      }
    }
  }
};
inline constexpr EndShuffles kEndShuffles;

// What a number is multiplied by (Tenths) or divided by (Tens): [k][negative].
template <class T, unsigned size>
using Scales = std::array<std::array<T, 2>, size>;
template <class T, unsigned size>
constexpr Scales<T, size> scales(const std::array<T, 16>& powers) {
  Scales<T, size> out{};
  for (unsigned k = 0; k < size; ++k) {
    out[k][0] = powers[k == 0 ? 0 : k - 1];
    out[k][1] = -out[k][0];
  }
  return out;
}
inline constexpr Scales<double, 17> kTenths = scales<double, 17>(
    {1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15});
inline constexpr Scales<double, 17> kTens =
    scales<double, 17>({1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15});
inline constexpr Scales<float, 9> kShortTens = scales<float, 9>({1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F, 1e7F});

// Powers of ten as far as 64 bits hold them, then 0, which is only multiplied by 0.
inline constexpr auto kWholeTens = [] {
  std::array<std::uint64_t, 23> tens{1};
  for (std::size_t n = 1; n < 20; ++n) tens[n] = tens[n - 1] * 10;
  return tens;
}();

}  // namespace batchfeed::ctf
