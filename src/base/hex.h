// SPDX-License-Identifier: MIT
//
// Hexadecimal digits, lower case.
#pragma once

#include <cstdint>
#include <string>

namespace batchfeed {

// The two digits of a byte.
inline void append_hex(std::string& out, unsigned char byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// All 16 digits.
inline std::string hex(std::uint64_t value) {
  std::string out;
  for (int shift = 56; shift >= 0; shift -= 8) append_hex(out, static_cast<unsigned char>(value >> shift));
  return out;
}

}  // namespace batchfeed
