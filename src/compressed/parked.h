// SPDX-License-Identifier: MIT
//
// Decoders that wait where the last reads ended, of all compressed files of the process together: each holds a window,
// and a corpus may have any number of files. Thread-safe, and whole in a forked child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compressed/decoder.h"

namespace batchfeed::compressed {

// What they may hold: a window of the largest size that a zstd file has unless the limit is raised, or sixteen of those
// of 8 MiB that `zstd -19` makes. Only the one parked last may hold more, or reading on would begin from the beginning.
constexpr std::size_t kMostParked = std::size_t{128} << 20;

// Those of one file.
class Parked {
 public:
  Parked() = default;
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;
  ~Parked() { clear(); }

  // The farthest that stands in [from, to]. Else null, or where no other may be added one that stands elsewhere.
  std::unique_ptr<Decoder> take(std::uint64_t from, std::uint64_t to) const noexcept;
  // Those that waited longest go, of whatever file, where there would be too many.
  void add(std::unique_ptr<Decoder> decoder) const;
  void clear() const noexcept;
};

std::size_t parked_bytes() noexcept;  // of all files

}  // namespace batchfeed::compressed
