// SPDX-License-Identifier: MIT
//
// Samples of a single pair, as words and labels are written ("|S0 9484:1 "), read several
// at a time, from marks that may lie in several lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/ctf/schema.h"

namespace batchfeed::ctf {

// The sparse streams that are looked for: the first few whose names are short.
struct OneHotNames {
  static constexpr std::size_t kMost = 8, kShort = 5, kLongest = 13;

  struct Name {
    alignas(16) std::array<char, 16> text{};  // from the pipe to the blank
    unsigned length = 0;
    std::int32_t stream = 0;
  };
  std::array<Name, kMost> names{};
  std::size_t count = 0;
  bool longer = false;  // one has more than kShort bytes: samples are looked at from behind their names on

  explicit OneHotNames(const Schema& schema);
};

// Marks are the pipes and newlines of up to kMostMarks bytes of text (marks.h): how far from the first byte each is, to
// which kNewlineMark may be added at newlines.
constexpr std::size_t kMostMarks = 2048;
constexpr std::uint16_t kNewlineMark = 0x8000;
constexpr std::size_t mark_distance(std::uint16_t mark) noexcept { return mark & (kNewlineMark - 1u); }

// What is found at a mark.
struct OneHot {
  std::int32_t index = 0;
  std::int16_t note = kOther * 256;  // the kind times 256, plus the value, a digit

  static constexpr std::int16_t kOther = -1, kNewline = -2;
  // The stream, or one of these.
  int kind() const noexcept { return note >> 8; }
  int value() const noexcept { return note & 255; }
};

// The index and the note of what is found at marks, for as many marks as there are; each array has room for 32 more.
struct OneHots {
  std::int32_t* index;
  std::int16_t* note;
};

// Looks at `count` marks of the text at `from`, as list_marks (marks.h) of the same tier gave them, whose samples are
//   '|' name ' ' digit{1,7} ':' digit [blank] ('|' or ['\r'] newline)     with at most 10 bytes of name and index,
//   unless a name is longer than kShort
// or that are newlines, and writes what is found to out. Returns how many samples there are, or up to three more.
// Reads up to 16 bytes from each mark on (32 where a name is longer than kShort), and 32 marks more. Indices may be
// outside of any dimension.
using FindOneHots = std::size_t (*)(const char* from, const std::uint16_t* marks, std::size_t count,
                                    const OneHotNames& names, const OneHots& out) noexcept;

// The one for this CPU, as `tier` allows (see kernels.h).
FindOneHots find_one_hots(std::string_view tier) noexcept;

}  // namespace batchfeed::ctf
