// SPDX-License-Identifier: MIT
//
// The sequence table of one chunk, as small as an order can use it: lengths and
// rows only where they are not obvious, frames not at all.
#pragma once

#include <cstdint>
#include <vector>

#include "order/timeline.h"

namespace batchfeed::order {

class Table {
 public:
  // Throws Error if the source's table contradicts its list of chunks.
  Table(const Corpus& corpus, std::uint32_t chunk);

  std::uint32_t chunk() const noexcept { return chunk_; }
  std::uint32_t size() const noexcept { return size_; }
  std::uint32_t samples(std::uint32_t i) const noexcept { return samples_.empty() ? common_samples_ : samples_[i]; }
  Item item(std::uint32_t i) const noexcept {
    if (!frame_end_.empty()) return frame(i);
    return {chunk_, rows_.empty() ? i : rows_[i], Item::kWhole, samples(i)};
  }
  // Appends items [from, to).
  void append(std::uint32_t from, std::uint32_t to, std::vector<Item>& out) const;

 private:
  Item frame(std::uint32_t i) const noexcept;
  // Searches from `sequence` on, which becomes the sequence of the frame.
  Item frame(std::uint32_t i, std::uint32_t& sequence) const noexcept {
    while (frame_end_[sequence] <= i) ++sequence;
    const std::uint32_t before = sequence == 0 ? 0 : frame_end_[sequence - 1];
    return {chunk_, rows_.empty() ? sequence : rows_[sequence], i - before, 1};
  }

  std::uint32_t chunk_;
  std::uint32_t size_ = 0;
  std::uint32_t common_samples_ = 1;      // if samples_ is empty
  std::vector<std::uint32_t> samples_;    // empty: all alike
  std::vector<std::uint32_t> rows_;       // empty: row i is sequence i
  std::vector<std::uint32_t> frame_end_;  // frame mode: frames up to and with sequence i
  // The sequence of every 64th frame: a binary search, whose branches no CPU can predict, took 7 % of an epoch.
  static constexpr unsigned kBlockShift = 6;
  std::vector<std::uint32_t> frame_block_;
};

}  // namespace batchfeed::order
