// SPDX-License-Identifier: MIT
//
// Samples of few and short values, read without a kernel. All functions read behind the name, from `p` on, give the
// byte behind the sample and one blank, and nullptr for any other text; what they wrote is of no meaning then.
#pragma once

#include <cstdint>

#include "formats/ctf/bytes.h"
#include "text/number.h"

namespace batchfeed::ctf {

// `dim` numbers of at most seven bytes and a sign, behind single blanks.
template <class T>
inline const char* read_few(const char* p, std::uint64_t dim, T* out) noexcept {
  for (T* const end = out + dim; out != end; ++out) {
    if (*p != ' ') return nullptr;
    const bool negative = p[1] == '-';
    p = text::read_short<true>(p + 1 + static_cast<int>(negative), *out);
    if (p == nullptr) return nullptr;
    *out = negative ? -*out : *out;
  }
  p += static_cast<int>(is_blank(*p));
  return ends_sample(*p) ? p : nullptr;
}

// One pair of an index of at most seven digits below `dim` and a value of one digit, as words and labels are written.
template <class T>
inline const char* read_one_hot(const char* p, std::uint64_t dim, T& value, std::int32_t& index) noexcept {
  const text::Digits digits = text::leading_digits(++p);
  if (p[-1] != ' ' || digits.count - 1 >= 7) return nullptr;
  p += digits.count;
  const auto digit = static_cast<unsigned>(p[1]) - '0';
  if (*p != ':' || digit > 9) return nullptr;
  p += 2;
  p += static_cast<int>(is_blank(*p));
  const std::uint64_t number = text::spell(digits);
  if (!ends_sample(*p) || number >= dim) return nullptr;
  value = static_cast<T>(digit);
  index = static_cast<std::int32_t>(number);
  return p;
}

}  // namespace batchfeed::ctf
