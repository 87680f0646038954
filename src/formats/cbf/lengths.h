// SPDX-License-Identifier: MIT
//
// The nominal lengths of a chunk's sequences: all an order needs to know. The
// modern layout states them in front of each chunk; in the older one they follow
// from the sparse streams' row numbers.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/cbf/faults.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header.h"

namespace batchfeed::cbf {

// One number a sequence, or a single one if all are equal (as in most corpora of
// single samples).
class Lengths {
 public:
  Lengths() = default;
  explicit Lengths(std::vector<std::uint32_t> each);
  // `count` sequences of one length.
  Lengths(std::uint32_t length, std::uint32_t count);

  std::uint32_t operator[](std::size_t i) const noexcept { return each_.empty() ? all_ : each_[i]; }
  bool uniform() const noexcept { return each_.empty(); }
  std::uint64_t sum() const noexcept { return sum_; }
  std::uint64_t zeros() const noexcept { return zeros_; }
  // Samples of all sequences in front of this one.
  std::uint64_t before(std::uint32_t sequence) const noexcept;
  // The lengths of these sequences alone.
  Lengths part(RowRange sequences) const;

 private:
  static constexpr std::uint32_t kStep = 4096;

  std::uint32_t all_ = 0;
  std::vector<std::uint32_t> each_;
  std::vector<std::uint64_t> before_;  // every kStep sequences, unless all are equal
  std::uint64_t sum_ = 0;
  std::uint64_t zeros_ = 0;  // sequences without samples
};

// `feed` stands at the start of the chunk. Throws Error.
Lengths read_lengths(const Header& header, std::size_t chunk, Feed& feed, const Faults& faults);

}  // namespace batchfeed::cbf
