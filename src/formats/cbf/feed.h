// SPDX-License-Identifier: MIT
//
// A range of a file, read front to back in pieces that stay in the second-level
// cache; long runs go straight to where they belong. The range is fixed before,
// so left() is the bound of every count that comes out of it.
#pragma once

#include <batchfeed/buffer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/cursor.h"
#include "base/piece.h"
#include "io/file.h"

namespace batchfeed::cbf {

class Feed {
 public:
  static constexpr std::size_t kPiece = piece_bytes(1 << 20);
  static constexpr std::size_t kDirect = piece_bytes(64 << 10);  // longer runs bypass the piece

  // Bytes [begin, end) of the file; `scratch` holds the piece.
  Feed(const io::File& file, std::uint64_t begin, std::uint64_t end, Buffer<std::byte>& scratch)
      : file_(&file), scratch_(&scratch), next_(begin), end_(end) {}
  // Bytes already in memory that stand at `begin` of the file.
  Feed(std::span<const std::byte> bytes, std::uint64_t begin)
      : begin_(bytes.data()),
        at_(bytes.data()),
        stop_(bytes.data() + bytes.size()),
        next_(begin + bytes.size()),
        end_(begin + bytes.size()) {}

  std::uint64_t at() const noexcept { return next_ - buffered(); }  // offset in the file
  std::uint64_t left() const noexcept { return end_ - at(); }

  // The next n bytes; n <= kPiece and n <= left(). Valid until the next call.
  const std::byte* next(std::size_t n) {
    if (buffered() < n) refill();
    const std::byte* p = at_;
    at_ += n;
    return p;
  }
  template <class T>
  T get() {
    return load<T>(next(sizeof(T)));
  }

  // Reads the next n bytes, n <= left(), into memory in one piece, so that seek() finds them there. The bytes that
  // were in memory before are dropped.
  void fetch(std::uint64_t n) {
    if (file_ == nullptr) return;
    next_ = at();
    // No less than a piece takes: refill() finds room behind what is left of these.
    const std::uint64_t piece = std::min<std::uint64_t>(kPiece, end_ - next_);
    scratch_->reserve(static_cast<std::size_t>(std::max(n, piece)));
    file_->read(next_, {scratch_->data(), static_cast<std::size_t>(n)});
    next_ += n;
    at_ = begin_ = scratch_->data();
    stop_ = at_ + n;
  }

  // What is in memory already; skip() passes over n of it.
  std::span<const std::byte> ready() const noexcept { return {at_, buffered()}; }
  void skip(std::size_t n) noexcept { at_ += n; }

  // The next n bytes, n <= left(), to `to`.
  void copy(std::byte* to, std::uint64_t n) {
    while (n > 0) {
      if (buffered() == 0) {
        if (n >= kDirect) {
          file_->read(next_, {to, static_cast<std::size_t>(n)});
          next_ += n;
          begin_ = at_ = stop_;  // the piece no longer ends at next_
          return;
        }
        refill();
      }
      const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(n, buffered()));
      std::memcpy(to, at_, part);
      at_ += part;
      to += part;
      n -= part;
    }
  }

  // To an offset of the range, at or before or behind the present one.
  void seek(std::uint64_t offset) noexcept {
    const std::uint64_t first = next_ - static_cast<std::uint64_t>(stop_ - begin_);
    if (offset >= first && offset <= next_) {
      at_ = begin_ + (offset - first);
    } else {
      begin_ = at_ = stop_;
      next_ = offset;
    }
  }

 private:
  std::size_t buffered() const noexcept { return static_cast<std::size_t>(stop_ - at_); }

  void refill() {
    const std::size_t kept = buffered();
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece - kept, end_ - next_));
    // Bytes are kept only where there was room for a piece, so this moves nothing.
    scratch_->reserve(kept + more);
    if (kept != 0) std::memmove(scratch_->data(), at_, kept);
    file_->read(next_, {scratch_->data() + kept, more});
    next_ += more;
    at_ = begin_ = scratch_->data();
    stop_ = at_ + kept + more;
  }

  const io::File* file_ = nullptr;  // null: all bytes are in memory
  Buffer<std::byte>* scratch_ = nullptr;
  const std::byte* begin_ = nullptr;  // of the piece
  const std::byte* at_ = nullptr;
  const std::byte* stop_ = nullptr;
  std::uint64_t next_;  // offset of the first byte behind the piece
  std::uint64_t end_;
};

}  // namespace batchfeed::cbf
