// SPDX-License-Identifier: MIT
//
// What mending has in common in both layouts: the new file as the old one with some
// bytes replaced, and sparse entries in order.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/fix.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/cursor.h"
#include "io/atomic_file.h"
#include "io/file.h"

namespace batchfeed::cbf {

// A row of the chunk table, its numbers as in the file.
struct TableRow {
  std::int64_t offset = 0;
  std::uint32_t sequences = 0, samples = 0;
};

class MendedCopy {
 public:
  MendedCopy(const io::File& file, io::AtomicFile& target, const FixOptions& options)
      : file_(file), target_(target), options_(options) {}

  // Appends the old bytes before `end` that have neither been appended nor replaced.
  void upto(std::uint64_t end);
  // Appends `bytes` for the old ones before `end`.
  void replace(std::uint64_t end, std::span<const std::byte> bytes);
  // Appends a number of the new file, for as many bytes of the old one.
  template <class T>
  void put(T value) {
    const T stored = as_stored(value);
    replace(at_ + sizeof stored, std::as_bytes(std::span(&stored, 1)));
  }

  void note(Fix& fix, std::uint64_t byte) const;
  [[noreturn]] void give_up(std::uint64_t byte, const std::string& what) const;

 private:
  const io::File& file_;
  io::AtomicFile& target_;
  const FixOptions& options_;
  std::uint64_t at_ = 0;  // old bytes before this offset have been appended or replaced
  std::string piece_;
};

// Sparse entries as they stand in the file: little-endian numbers one behind the other.
struct Entries {
  std::vector<std::byte> values, indices;
  std::size_t width = 4;  // of a value

  // Sorts entries [first, last) by index, stably. False if they were sorted.
  bool sort(std::size_t first, std::size_t last);
  std::int32_t index(std::size_t i) const { return load<std::int32_t>(indices.data() + i * 4); }
};

inline Fix sorted_fix() {
  return {.id = "fix.sorted", .what = "sequence with sparse entries sorted by index, sample by sample"};
}

}  // namespace batchfeed::cbf
