// SPDX-License-Identifier: MIT
//
// Decoders kept where the last reads ended, so that reading on goes on there. All compressed files of the process share
// one budget of bytes, as each decoder holds a window, and a corpus may have any number of files. Thread-safe; a forked
// child may use it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compressed/decoder.h"

namespace batchfeed::compressed {

// Bytes that they may hold: a window of the largest size that a zstd file has unless the limit is raised, or sixteen of
// the 8 MiB that `zstd -19` makes. Only the one parked last may hold more, or reading on would start at the beginning.
constexpr std::size_t kMostParked = std::size_t{128} << 20;

// The parked decoders of one file.
class Parked {
 public:
  Parked() = default;
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;
  ~Parked() { clear(); }

  // Takes out the decoder that stands farthest in [from, to]. If none does: null, or, where there are so many that no
  // other may be added, the one parked first, which stands elsewhere.
  std::unique_ptr<Decoder> take(std::uint64_t from, std::uint64_t to) const noexcept;
  // Frees those parked longest ago, of any file, if they would hold more than kMostParked; and one of this file, if it
  // has too many.
  void add(std::unique_ptr<Decoder> decoder) const;
  void clear() const noexcept;
};

std::size_t parked_bytes() noexcept;  // of all files

}  // namespace batchfeed::compressed
