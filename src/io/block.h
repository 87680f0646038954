// SPDX-License-Identifier: MIT
//
// Short pieces of a file that lie close behind each other are read together, as one read costs as much as some KiB.
#pragma once

#include <batchfeed/buffer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/piece.h"
#include "io/file.h"

namespace batchfeed::io {

struct Piece {
  std::uint64_t begin = 0, end = 0;
};

// What was read of a file at once.
class Block {
 public:
  static constexpr std::size_t kBytes = piece_bytes(256 << 10);  // most of it
  static constexpr std::size_t kShort = piece_bytes(32 << 10);   // a longer piece is read by itself
  static constexpr std::size_t kGap = piece_bytes(4 << 10);      // read in vain between two, at most

  // Reads `all`; the block stays empty if that fails. Callers then read their pieces one by one, and the fault
  // names the piece.
  void fill(const File& file, Piece all);
  // Its memory stays for the next one.
  void clear() noexcept { all_ = {}; }
  // The bytes of a piece; null if they are not in it.
  const std::byte* find(Piece p) const noexcept {
    if (p.begin < all_.begin || p.end > all_.end || p.begin >= p.end) return nullptr;
    return memory_.data() + (p.begin - all_.begin);
  }
  // Fills `out` from `offset` of the file: out of the block, or by a read of its own.
  void read(const File& file, std::uint64_t offset, std::span<std::byte> out) const;

 private:
  Buffer<std::byte> memory_;
  Piece all_;
};

// Pieces that are read at once.
struct Together {
  std::uint64_t behind = 0;  // number behind the last of them
  Piece all;
};

// Which of the pieces [from, to) are read with piece `from`. `piece(i)` is one of the same file, or empty where it may
// not be read with others.
template <class PieceOf>
Together read_together(std::uint64_t from, std::uint64_t to, const PieceOf& piece) {
  const auto is_short = [](const Piece& p) { return p.begin < p.end && p.end - p.begin <= Block::kShort; };
  Together out{.behind = from + 1, .all = piece(from)};
  if (!is_short(out.all)) return out;
  for (; out.behind < to; ++out.behind) {
    const Piece p = piece(out.behind);
    if (!is_short(p) || p.begin < out.all.begin || p.begin > out.all.end + Block::kGap) break;
    if (p.end - out.all.begin > Block::kBytes) break;
    out.all.end = std::max(out.all.end, p.end);
  }
  return out;
}

}  // namespace batchfeed::io
