// SPDX-License-Identifier: MIT
//
// Characters that look like ASCII, or like nothing, and are something else: word processors, web
// pages and tables put them where somebody typed a minus, a blank or a quote.
#pragma once

#include <string>
#include <string_view>

namespace batchfeed {

// Names the first of them in a piece of text that could not be read, and says what was probably
// meant; empty where there is none. For hints, and cold.
std::string lookalike(std::string_view text);

// The same, in front of another hint.
std::string lookalike_or(std::string_view text, std::string hint);

}  // namespace batchfeed
