// SPDX-License-Identifier: MIT
//
// What may stand in front of a text to say how it is encoded.
#pragma once

#include <cstddef>
#include <string_view>

namespace batchfeed {

inline constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

// The bytes of the UTF-8 mark that a text begins with; 0 if it has none.
inline std::size_t utf8_mark_bytes(std::string_view text) noexcept {
  return text.starts_with(kUtf8Mark) ? kUtf8Mark.size() : 0;
}

inline bool is_utf16(std::string_view text) noexcept {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

// Big-endian; a little-endian one begins as UTF-16 does.
inline bool is_utf32(std::string_view text) noexcept {
  using namespace std::string_view_literals;
  return text.starts_with("\0\0\xFE\xFF"sv);
}

}  // namespace batchfeed
