// SPDX-License-Identifier: MIT
//
// Lines of lists and labels without what surrounds them.
#pragma once

#include <string_view>

namespace batchfeed::text {

// Without blanks, tabs and carriage returns at its ends.
inline std::string_view trimmed(std::string_view line) noexcept {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && blank(line.back())) line.remove_suffix(1);
  return line;
}

}  // namespace batchfeed::text
