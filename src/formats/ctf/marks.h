// SPDX-License-Identifier: MIT
//
// The pipes and newlines of a block of short lines, found ahead of reading them:
// where the next value stands then does not wait for the one before it. Samples of one
// pair are read ahead, too.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/ctf/one_hots.h"

namespace batchfeed::ctf {

// Lists the newlines and the pipes that begin no comment of `count` times 64 bytes from p on, as
// distances from p. Returns how many; writes up to 16 more. Reads one byte more than that.
using ListMarks = std::size_t (*)(const char* p, std::size_t count, std::uint32_t* out) noexcept;

// The one for this CPU, as `tier` allows (see kernels.h).
ListMarks list_marks(std::string_view tier) noexcept;

class MarkList {
 public:
  MarkList(ListMarks list, FindOneHots find, const OneHotNames& names) noexcept
      : list_(list), find_(names.count == 0 ? nullptr : find), names_(names) {}

  // A new block of whole lines, at least one, that ends at `end`.
  void block(const char* end) noexcept {
    end_ = end;
    from_ = nullptr;
    at_ = last_ = 0;
  }
  // The first mark at p or behind it, which is not before the last one.
  void go_to(const char* p) noexcept {
    if (from_ == nullptr || p > scanned_) {
      scanned_ = p;
      at_ = last_ = 0;
    }
    while (p < end_ && now() < p) next();
  }
  // Behind the last one is the block's last newline again: where a file changed since
  // it was indexed, a sequence may end inside a line whose marks are taken.
  const char* now() noexcept {
    if (at_ == last_) [[unlikely]]
      fill();
    return from_ + marks_[at_];
  }
  void next() noexcept { ++at_; }
  // What is at now(), which was called before.
  const OneHot& found() const noexcept { return one_hots_[at_]; }
  // What has been found ahead, now() first, which was called before; and where the n-th of these marks is.
  std::span<const OneHot> ahead() const noexcept { return {one_hots_.data() + at_, last_ - at_}; }
  const char* ahead(std::size_t n) const noexcept { return from_ + marks_[at_ + n]; }
  void skip(std::size_t n) noexcept { at_ += n; }

 private:
  static constexpr std::size_t kPiece = 64, kPieces = 32, kMost = kPieces * kPiece;
  // Where next to nothing was found, so many pieces are not looked at.
  static constexpr unsigned kRest = 16;

  void fill() noexcept;
  void find_one_hots() noexcept;

  ListMarks list_;
  FindOneHots find_;
  OneHotNames names_;
  unsigned rest_ = 0;
  const char* end_ = nullptr;
  const char* from_ = nullptr;     // marks count from here;
  const char* scanned_ = nullptr;  // looked at up to here
  std::size_t at_ = 0, last_ = 0;
  std::array<std::uint32_t, kMost + 16> marks_;
  std::array<OneHot, kMost + 3> one_hots_;  // as marks_
};

}  // namespace batchfeed::ctf
