// SPDX-License-Identifier: MIT
//
// Numbers out of text: the decimal grammar of the text corpora, read eight
// digits at a time and rounded correctly (scale.h). Numbers of more than 19 digits
// and those near the ends of their type go to fast_float.
//
// Contract of every function here: at least kOverread readable bytes follow the
// position given, and a byte that is no part of a number ends the text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cursor.h"
#include "text/scale.h"

namespace batchfeed::text {

inline constexpr std::size_t kOverread = 16;

inline constexpr std::uint64_t kPower[9] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

// Eight bytes of text as numbers, the first in the lowest byte: digits are below 10, all others are not.
inline std::uint64_t eight_digits(const char* p) noexcept { return load<std::uint64_t>(p) ^ 0x3030303030303030u; }
// The high bit of each byte that is no digit. A carry reaches only bytes behind the first one of 8A or more.
inline std::uint64_t no_digits(std::uint64_t bytes) noexcept {
  return ((bytes + 0x7676767676767676u) | bytes) & 0x8080808080808080u;
}
// The number that eight digits spell.
inline std::uint64_t spell_eight(std::uint64_t v) noexcept {
  v = v * 10 + (v >> 8);
  return (((v & 0x000000FF000000FFu) * 0x000F424000000064u) +
          (((v >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
         32;
}

// The digits at the front of eight bytes.
struct Digits {
  std::uint64_t value;  // as eight_digits gives them
  unsigned count;       // 0..8
};

inline Digits leading_digits(const char* p) noexcept {
  const std::uint64_t value = eight_digits(p);
  const std::uint64_t other = no_digits(value);
  return {value, other == 0 ? 8u : static_cast<unsigned>(std::countr_zero(other)) / 8};
}

// The number that `count` (1..8) digits spell.
inline std::uint64_t spell(Digits digits) noexcept {
  return spell_eight(digits.value << (64 - 8 * digits.count));  // zeros in front
}

// Appends the digits at p to `value` (which wraps beyond 19 digits) and moves p behind them.
inline void read_digits(const char*& p, std::uint64_t& value) noexcept {
  for (;;) {
    const Digits digits = leading_digits(p);
    if (digits.count == 0) return;
    value = value * kPower[digits.count] + spell(digits);
    p += digits.count;
    if (digits.count < 8) return;
  }
}

// An unsigned number of decimal digits, up to 2^64 - 1.
struct UnsignedEnd {
  const char* at;  // behind the digits; the position given if there are none
  bool overflow;
};
inline UnsignedEnd read_unsigned(const char* p, std::uint64_t& value) noexcept {
  const Digits first = leading_digits(p);
  value = 0;
  if (first.count == 0) return {p, false};
  value = spell(first);
  p += first.count;
  if (first.count < 8) return {p, false};
  bool overflow = false;
  for (; static_cast<unsigned char>(*p - '0') < 10; ++p) {
    const std::uint64_t digit = static_cast<std::uint64_t>(*p - '0');
    overflow |=
        __builtin_mul_overflow(value, std::uint64_t{10}, &value) || __builtin_add_overflow(value, digit, &value);
  }
  return {p, overflow};
}

namespace detail {
// Without a branch, as signs are as good as random.
template <class T>
inline T with_sign(T value, bool negative) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(std::bit_cast<Bits>(value) | static_cast<Bits>(negative) << (sizeof(T) * 8 - 1));
}

// The nearest double of a well-formed number [p, end), which may be infinite or zero.
double exact(const char* p, const char* end) noexcept;

// What a short number is divided by: element n + 1 for n digits behind the point.
template <class T>
inline constexpr T kShortTen[9] = {1, 1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000};
}  // namespace detail

// A number of at most seven bytes, digits ['.' [digits]] or '.' digits, and the byte behind it: a blank, or with
// `below` any byte up to a blank. So one load holds all of it. Sets `out` to the nearest T and returns where the byte
// behind the number stands; nullptr for any other text.
template <bool below = false, class T>
inline const char* read_short(const char* p, T& out) noexcept {
  const auto ends = [](char c) { return below ? static_cast<unsigned char>(c) <= ' ' : c == ' '; };
  const std::uint64_t word = eight_digits(p), others = no_digits(word);
  if (others == 0) return nullptr;
  const auto first = static_cast<unsigned>(std::countr_zero(others));  // of the first byte that is no digit: its bit 7
  if (ends(p[first / 8])) {
    if (first == 7) return nullptr;
    out = static_cast<T>(static_cast<std::int64_t>(spell_eight(word << ((7 - first) & 63))));
    return p + first / 8;
  }
  const std::uint64_t rest = others & (others - 1);
  // One branch for all that is no such number.
  if (static_cast<int>(p[first / 8] != '.') | static_cast<int>(rest == 0)) return nullptr;
  const auto end = static_cast<unsigned>(std::countr_zero(rest));
  if (!ends(p[end / 8]) || end == 15) return nullptr;  // a point alone is none
  // The digits in front of the point move up by one byte, over it.
  const std::uint64_t up_to_point = others ^ (others - 1), front = word & up_to_point;
  const std::uint64_t digits = (word ^ front) | ((front << 8) & up_to_point);
  const auto mantissa = static_cast<T>(static_cast<std::int64_t>(spell_eight(digits << ((7 - end) & 63))));
  // Both are exact, so the division rounds once.
  out = mantissa / detail::kShortTen<T>[(end - first) / 8];
  return p + end / 8;
}

// One value: [sign] digits ['.' [digits]] [exponent]. After a blank or a colon
// (`fresh`) also without digits before the point, or with none between the point
// and the exponent. Gives the nearest double, rounded to T; `overflow` is set
// where that is infinite. Returns the end, or nullptr where there is no number.
template <class T>
inline const char* read_number(const char* p, bool fresh, T& out, bool& overflow) noexcept {
  const auto digit = static_cast<unsigned char>(*p - '0');
  if (digit < 10 && static_cast<unsigned char>(p[1]) <= ' ') {  // the most frequent number of all
    out = static_cast<T>(digit);
    return p + 1;
  }
  const bool negative = *p == '-';
  p += static_cast<int>(negative) | static_cast<int>(*p == '+');
  std::uint64_t mantissa = 0;
  const char* const whole = p;
  if (static_cast<unsigned char>(*p - '0') < 10 && p[1] == '.') {  // 0.25: one digit in front
    mantissa = static_cast<std::uint64_t>(*p++ - '0');
  } else {
    read_digits(p, mantissa);
  }
  const auto whole_digits = static_cast<std::size_t>(p - whole);
  std::size_t fraction_digits = 0;
  bool bare_point = false;
  if (*p == '.') {
    const char* const fraction = ++p;
    read_digits(p, mantissa);
    fraction_digits = static_cast<std::size_t>(p - fraction);
    bare_point = fraction_digits == 0;
    if (whole_digits == 0 && (bare_point || !fresh)) return nullptr;
  } else if (whole_digits == 0) {
    return nullptr;
  }
  const bool few = whole_digits + fraction_digits <= 19;
  T value;
  if ((*p | 0x20) != 'e') {
    if (few && scaled_down(mantissa, static_cast<unsigned>(fraction_digits), value)) {
      out = detail::with_sign(value, negative);
      return p;
    }
  } else {
    if (bare_point && !fresh) return nullptr;
    ++p;
    const bool below = *p == '-';
    p += static_cast<int>(below) | static_cast<int>(*p == '+');
    if (static_cast<unsigned char>(*p - '0') >= 10) return nullptr;
    int exponent = 0;
    for (; static_cast<unsigned char>(*p - '0') < 10; ++p) {
      if (exponent < 10'000) exponent = exponent * 10 + (*p - '0');
    }
    if (few && scaled(mantissa, (below ? -exponent : exponent) - static_cast<int>(fraction_digits), value)) {
      out = detail::with_sign(value, negative);
      return p;
    }
  }
  value = static_cast<T>(detail::exact(whole, p));
  if (value > static_cast<T>(1e30) && value - value != 0) overflow = true;  // infinity
  out = detail::with_sign(value, negative);
  return p;
}

}  // namespace batchfeed::text
