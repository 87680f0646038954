// SPDX-License-Identifier: MIT
//
// The scanner of the configuration language: text to records, as the reference
// cuts it, sloppy input included (docs/reference/config-language.md).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "config/document.h"

namespace batchfeed::config {

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

struct Span {
  std::size_t begin = 0, end = 0;
  std::size_t size() const noexcept { return end - begin; }
};
// `span` without blanks at its ends.
Span trim(std::string_view bytes, Span span);

// One entry of a section as written, before it is merged with others.
struct Record {
  Span key;
  Span value;         // empty for a flag
  bool flag = false;  // a key alone: true
};

// The records of a section in order. Throws Error: Unmatched, Unclosed, NoValue.
std::vector<Record> scan_section(Document& doc, const Text& text);

// The elements of an array, repetitions (`512*3`) expanded.
std::vector<Text> scan_array(Document& doc, const Text& text);

}  // namespace batchfeed::config
