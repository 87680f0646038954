// SPDX-License-Identifier: MIT
//
// How much memory a line or the index of a compressed text may take. It may unpack to a thousand times its
// size, as one long line or many short ones, so the bound is its compressed size (limits.unpack_held_ratio).
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/limits.h>

#include <cstdint>

#include "io/file.h"

namespace batchfeed::io {

// Allowed however small the file is. An index is held twice while it grows.
constexpr std::uint64_t kAnyCompressed = 64u << 20, kAnyCompressedIndex = 32u << 20;

// So many bytes, and the limit that says so.
struct Room {
  std::uint64_t bytes = 0;
  const char* limit = "";
};
Room room_for_line(const File& file, const Limits& limits);  // of a corpus
Room room_for_index(const File& file, const Limits& limits);

// The fault of an index that takes more than room_for_index(); `at`: the first entry that does not fit.
Fault large_index(const File& file, const Position& at, const Limits& limits);

// What the entries of one list take, kept within room_for_index().
class IndexRoom {
 public:
  static constexpr std::uint64_t kKey = 32;    // beside its bytes: its number, its place in a table
  static constexpr std::uint64_t kPath = 128;  // beside its bytes, twice: what is known of a file

  IndexRoom(const File& file, const Limits& limits)
      : file_(file), limits_(limits), left_(room_for_index(file, limits).bytes) {}
  // Throws Error(limit) if it does not fit. `at` is where it stands.
  void take(std::uint64_t bytes, const Position& at) {
    if (bytes > left_) throw Error(large_index(file_, at, limits_));
    left_ -= bytes;
  }

 private:
  const File& file_;
  const Limits& limits_;
  std::uint64_t left_;
};

}  // namespace batchfeed::io
