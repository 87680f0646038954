// SPDX-License-Identifier: MIT
//
// A whole number times a power of ten, as the nearest double, and that as T: by one
// multiplication or division whose rounding is provable. What it declines is left to
// fast_float (number.h).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace batchfeed::text {

// Exact from 10^0 to 10^22, else the nearest.
inline constexpr int kLeastPower = -60, kMostPower = 40;
inline constexpr std::array<double, kMostPower - kLeastPower + 1> kPowersOfTen = {
    1e-60, 1e-59, 1e-58, 1e-57, 1e-56, 1e-55, 1e-54, 1e-53, 1e-52, 1e-51, 1e-50, 1e-49, 1e-48, 1e-47, 1e-46,
    1e-45, 1e-44, 1e-43, 1e-42, 1e-41, 1e-40, 1e-39, 1e-38, 1e-37, 1e-36, 1e-35, 1e-34, 1e-33, 1e-32, 1e-31,
    1e-30, 1e-29, 1e-28, 1e-27, 1e-26, 1e-25, 1e-24, 1e-23, 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16,
    1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,
    1e0,   1e1,   1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,  1e14,
    1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,  1e22,  1e23,  1e24,  1e25,  1e26,  1e27,  1e28,  1e29,
    1e30,  1e31,  1e32,  1e33,  1e34,  1e35,  1e36,  1e37,  1e38,  1e39,  1e40};
inline double power_of_ten(int power) noexcept { return kPowersOfTen[static_cast<std::size_t>(power - kLeastPower)]; }

namespace detail {
// Rounds a double to float, which was rounded up to three times before, so is off by less than 4 units of its last
// place. False if that may matter: near the middle between two floats.
inline bool rounded(double d, float& out) noexcept {
  const std::uint64_t low = std::bit_cast<std::uint64_t>(d) & 0x1FFFFFFFu;
  if (low - (0x10000000u - 4) <= 8) return false;
  out = static_cast<float>(d);
  return true;
}
}  // namespace detail

// Powers of five below 2^64.
inline constexpr std::array<std::uint64_t, 28> kFives = [] {
  std::array<std::uint64_t, 28> fives{1};
  for (std::size_t k = 1; k < fives.size(); ++k) fives[k] = fives[k - 1] * 5;
  return fives;
}();

// mantissa / 10^k for a mantissa above 0 and k up to 27. Dividend and divisor are shifted so that the top bit of 64 is
// set: the quotient has at least 63 bits, of which a double keeps 53, and the remainder tells on which side of a middle
// between two doubles it lies.
inline double divided(std::uint64_t mantissa, unsigned k) noexcept {
  __extension__ using Wide = unsigned __int128;
  const int up = std::countl_zero(mantissa), wide = std::countl_zero(kFives[k]);
  const std::uint64_t divisor = kFives[k] << wide;
  const Wide dividend = static_cast<Wide>(mantissa << up) << 63;
  const auto quotient = static_cast<std::uint64_t>(dividend / divisor);
  const bool rest = quotient * divisor != static_cast<std::uint64_t>(dividend);
  const auto rounded = static_cast<double>(static_cast<std::int64_t>(quotient >> 1 | (quotient & 1) | (rest ? 1 : 0)));
  const int power_of_two = wide - up - static_cast<int>(k) - 62;
  return rounded * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + power_of_two) << 52);
}

// mantissa / 10^fraction, for a fraction of at most 22 digits; false where rounding is in doubt.
inline bool scaled_down(std::uint64_t mantissa, unsigned fraction, double& out) noexcept {
  if (mantissa <= (1ull << 53)) {
    // Both operands are exact, so the division rounds once.
    out = static_cast<double>(static_cast<std::int64_t>(mantissa)) / power_of_ten(static_cast<int>(fraction));
  } else {
    out = divided(mantissa, fraction);
  }
  return true;
}
inline bool scaled_down(std::uint64_t mantissa, unsigned fraction, float& out) noexcept {
  return detail::rounded(static_cast<double>(mantissa) * power_of_ten(-static_cast<int>(fraction)), out);
}

// mantissa * 10^power, likewise; false also if either is too large or too small for one exact step.
inline bool scaled(std::uint64_t mantissa, int power, double& out) noexcept {
  if (power <= 0 && power >= -22) return scaled_down(mantissa, static_cast<unsigned>(-power), out);
  if (power > 22 || power < 0 || mantissa > (1ull << 53)) return false;
  out = static_cast<double>(static_cast<std::int64_t>(mantissa)) * power_of_ten(power);
  return true;
}
inline bool scaled(std::uint64_t mantissa, int power, float& out) noexcept {
  if (power < kLeastPower || power > kMostPower) return false;
  const double d = static_cast<double>(mantissa) * power_of_ten(power);
  // Below the least normal float, the middles between two floats are not where rounded() looks for them.
  using Float = std::numeric_limits<float>;
  if (!(d >= static_cast<double>(Float::min()) && d <= static_cast<double>(Float::max())) && mantissa != 0)
    return false;
  return detail::rounded(d, out);
}

}  // namespace batchfeed::text
