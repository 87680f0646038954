// SPDX-License-Identifier: MIT
//
// The pipes and newlines of a block of short lines, found before the lines are read: so
// finding the next value does not wait for the end of the one before. Samples of one pair
// are read ahead, too (one_hots.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/ctf/one_hots.h"

namespace batchfeed::ctf {

// Lists the newlines and the pipes that begin no comment of `count` times 64 bytes from p on, at most kMostMarks.
// Returns how many; writes up to 64 more. Reads one byte more than that.
using ListMarks = std::size_t (*)(const char* p, std::size_t count, std::uint16_t* out) noexcept;

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
    return place(at_);
  }
  void next() noexcept { ++at_; }

  // What was found at now(), which must have been called; and the marks found ahead, now() first.
  OneHot found() const noexcept { return {.index = index_[at_], .note = note_[at_]}; }
  const char* ahead(std::size_t n) const noexcept { return place(at_ + n); }
  std::span<const std::int16_t> notes() const noexcept { return {note_.data() + at_, last_ - at_}; }
  const std::int32_t* indices() const noexcept { return index_.data() + at_; }
  // How many marks from now() on, the first `width` included, have the same kind as the one `width` before them; and
  // whether all that were compared have the same value, too.
  struct Alike {
    std::size_t marks = 0;
    bool values = false;
  };
  Alike alike(std::size_t width) noexcept;
  void skip(std::size_t n) noexcept { at_ += n; }

 private:
  static constexpr std::size_t kPiece = 64, kPieces = kMostMarks / kPiece;
  // Calls of fill() that do not look for one-hots, after one that found next to none.
  static constexpr unsigned kRest = 16;

  const char* place(std::size_t n) const noexcept { return from_ + mark_distance(marks_[n]); }
  void fill() noexcept;
  void find_one_hots() noexcept;

  ListMarks list_;
  FindOneHots find_;
  OneHotNames names_;
  unsigned rest_ = 0;
  const char* end_ = nullptr;
  const char* from_ = nullptr;     // marks count from here
  const char* scanned_ = nullptr;  // looked at up to here
  std::size_t at_ = 0, last_ = 0;
  std::array<std::uint16_t, kMostMarks + 64> marks_;
  std::array<std::int32_t, kMostMarks + 32> index_;  // what is found at them
  std::array<std::int16_t, kMostMarks + 32> note_;
  // What alike() found last, up to which mark.
  std::size_t alike_width_ = 0, alike_end_ = 0;
  bool alike_values_ = false;
};

}  // namespace batchfeed::ctf
