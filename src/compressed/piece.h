// SPDX-License-Identifier: MIT
//
// The piece of a compressed file that a decoder takes its input from.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compressed/compressed.h"

namespace batchfeed::compressed {

class Piece {
 public:
  // Goes to this offset of the file.
  void start(std::uint64_t offset) noexcept {
    begin_ = end_ = 0;
    behind_ = offset;
  }

  // Reads the next piece if nothing is left(). False: the file ends here. Throws Error.
  bool fill(const Stored& file) {
    if (begin_ < end_) return true;
    const auto n = static_cast<std::size_t>(file.left(behind_, bytes_.size()));
    if (n == 0) return false;
    file.read(behind_, std::span(bytes_).first(n));
    behind_ += n;
    begin_ = 0;
    end_ = n;
    return true;
  }

  std::span<const std::byte> left() const noexcept { return std::span(bytes_).subspan(begin_, end_ - begin_); }
  void take(std::size_t n) noexcept { begin_ += n; }
  std::uint64_t position() const noexcept { return behind_ - (end_ - begin_); }  // in the file, of what is left

  // Copies the next bytes, or as many as the file has, to `out` without taking them. They are nearly always in the
  // piece, so that this is cheap for each of millions of members. Throws Error.
  std::span<std::byte> peek(const Stored& file, std::span<std::byte> out) const {
    if (end_ - begin_ >= out.size()) {
      std::copy_n(left().begin(), out.size(), out.begin());
      return out;
    }
    out = out.first(static_cast<std::size_t>(file.left(position(), out.size())));
    file.read(position(), out);
    return out;
  }

 private:
  std::array<std::byte, 64 << 10> bytes_;
  std::size_t begin_ = 0, end_ = 0;  // the part of bytes_ that is left
  std::uint64_t behind_ = 0;         // offset in the file behind the piece
};

}  // namespace batchfeed::compressed
