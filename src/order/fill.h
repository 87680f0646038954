// SPDX-License-Identifier: MIT
//
// How full a minibatch is, in the unit its size counts.
#pragma once

#include <batchfeed/options.h>

#include <algorithm>
#include <cstdint>

#include "base/saturate.h"

namespace batchfeed::order {

class Fill {
 public:
  Fill(SizeUnit unit, std::uint64_t size) : unit_(unit), size_(size) {}

  // Whether a sequence of so many samples still fits; the first always does.
  bool takes(std::uint64_t samples) const noexcept { return sequences_ == 0 || after(samples) <= size_; }
  void add(std::uint64_t samples) noexcept {
    ++sequences_;
    samples_ += samples;
    longest_ = std::max(longest_, samples);
  }
  std::uint64_t used() const noexcept { return measure(sequences_, samples_, longest_); }
  std::uint64_t sequences() const noexcept { return sequences_; }
  std::uint64_t samples() const noexcept { return samples_; }
  std::uint64_t cells() const noexcept { return mul_sat(sequences_, longest_); }

 private:
  std::uint64_t after(std::uint64_t samples) const noexcept {
    return measure(sequences_ + 1, add_sat(samples_, samples), std::max(longest_, samples));
  }
  std::uint64_t measure(std::uint64_t sequences, std::uint64_t samples, std::uint64_t longest) const noexcept {
    switch (unit_) {
      case SizeUnit::samples: return samples;
      case SizeUnit::sequences: return sequences;
      case SizeUnit::cells: break;
    }
    return mul_sat(sequences, longest);
  }

  SizeUnit unit_;
  std::uint64_t size_;
  std::uint64_t sequences_ = 0, samples_ = 0, longest_ = 0;
};

}  // namespace batchfeed::order
