// SPDX-License-Identifier: MIT
//
// How much of a compressed text may be held at once. It holds a thousand times its size, of one long
// line or of many short ones, so it is bounded by what it takes compressed (limits.unpack_held_ratio).
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/limits.h>

#include <cstdint>

#include "io/file.h"

namespace batchfeed::io {

// However small the file. An index is held twice while it grows.
constexpr std::uint64_t kAnyCompressed = 64u << 20, kAnyCompressedIndex = 32u << 20;

// So many bytes, and the limit that says so.
struct Room {
  std::uint64_t bytes = 0;
  const char* limit = "";
};
Room room_for_line(const File& file, const Limits& limits);  // of a corpus
Room room_for_index(const File& file, const Limits& limits);

// What takes more than room_for_index(): begins at `at`, up to which it fits.
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
