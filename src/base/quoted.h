// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace batchfeed {

// What a message shows of a text: at most its first 80 bytes, and no part of a character of UTF-8.
std::string_view clipped(std::string_view text) noexcept;

// Control bytes, line ends among them, as \x and two digits.
std::string in_one_line(std::string_view text);

// 'text' for a message: clipped, a line end as \n, other control bytes as \x and two digits.
std::string quoted(std::string_view text);
// For std::string arguments, which would else match std::quoted() of <iomanip> better, by argument-dependent lookup.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }

}  // namespace batchfeed
