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
  static constexpr std::size_t kMost = 4, kLongest = 5;

  struct Name {
    alignas(16) std::array<char, 16> text{};  // from the pipe to the blank
    unsigned length = 0;
    std::int32_t stream = 0;
  };
  std::array<Name, kMost> names{};
  std::size_t count = 0;

  explicit OneHotNames(const Schema& schema);
};

// What is found at a mark.
struct OneHot {
  std::int32_t index = 0;
  std::int32_t note = -1;  // the kind times 256, plus the value, a digit

  static constexpr std::int32_t kOther = -1, kNewline = -2;
  // The stream, or one of these.
  std::int32_t kind() const noexcept { return note >> 8; }
  int value() const noexcept { return note & 255; }
};
static_assert(sizeof(OneHot) == 8);

// Looks at `count` marks, given as distances from `from`, whose samples are
//   '|' name ' ' digit{1,7} ':' digit [blank] ('|' or ['\r'] newline)     with at most 10 bytes of name and index
// or that are newlines, and writes what is found to out, up to three more too; `marks` has as many more. Returns how
// many samples there are. Reads up to 16 bytes from each mark on. Indices may be outside of any dimension.
using FindOneHots = std::size_t (*)(const char* from, const std::uint32_t* marks, std::size_t count,
                                    const OneHotNames& names, OneHot* out) noexcept;

// The one for this CPU, as `tier` allows (see kernels.h).
FindOneHots find_one_hots(std::string_view tier) noexcept;

}  // namespace batchfeed::ctf
