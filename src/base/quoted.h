// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace batchfeed {

// 'text' for a message: at most 80 bytes of it, a line end as \n, other control bytes as \x and two digits.
std::string quoted(std::string_view text);
// For std::string arguments, which would else match std::quoted() of <iomanip> better, by argument-dependent lookup.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }

}  // namespace batchfeed
