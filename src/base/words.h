// SPDX-License-Identifier: MIT
//
// Names as people write them: case of ASCII letters aside, and nearly right.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace batchfeed {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string_view text);
bool same_word(std::string_view a, std::string_view b) noexcept;  // ignoring case

// How many single-byte edits (or swaps of neighbours) part two words, ignoring
// case; `most` + 1 if more than `most`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

}  // namespace batchfeed
