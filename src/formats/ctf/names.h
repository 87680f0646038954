// SPDX-License-Identifier: MIT
//
// Where lines end and where the declared names stand, 64 bytes of text at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/ctf/schema.h"

namespace batchfeed::ctf {

// Of 64 bytes of text, a bit for each.
struct Piece {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::size_t kNames = 4;  // streams that can be told apart

  const char* at;
  std::uint64_t newlines;
  std::uint64_t rows;                        // newlines of lines with a name
  std::array<std::uint64_t, kNames> names;   // pipes in front of each
  std::uint32_t lines;                       // newlines,
  std::array<std::uint32_t, kNames> counts;  // and names, of all pieces before this one
};

// The names that count for the index: of all streams, or of the main one alone.
class Names {
 public:
  static constexpr std::size_t kBytes = 8;  // of a name, at most

  // Not usable where there are too many streams or a name is too long.
  explicit Names(const Schema& schema);
  bool usable() const noexcept { return size_ != 0; }
  std::size_t size() const noexcept { return size_; }
  // The stream of Piece::names[i].
  std::size_t stream(std::size_t i) const noexcept { return streams_[i]; }
  std::string_view text(std::size_t i) const noexcept { return texts_[i]; }

 private:
  std::size_t size_ = 0;
  std::array<std::size_t, Piece::kNames> streams_{};
  std::array<std::string_view, Piece::kNames> texts_{};  // of the schema
};

struct Found {
  std::size_t pieces;
  bool rows;  // every newline in them is that of a line with a name
};

// Looks at the `count` pieces from p on; those with a newline or a name in them go to
// `out`, in order. `named`: whether the line that is open at p has a name before it; set to
// the same for the line that is open at the end. Names::kBytes + 1 bytes behind the last
// piece are read.
using FindNames = Found (*)(const char* p, std::size_t count, const Names& names, bool& named, Piece* out) noexcept;

// The one for this CPU, as `tier` allows (see kernels.h); nullptr where reading line by line is as fast.
FindNames find_names(std::string_view tier) noexcept;

}  // namespace batchfeed::ctf
