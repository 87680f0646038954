// SPDX-License-Identifier: MIT
//
// For fuzz targets that take the bytes of their input as choices: each byte gives a number below a
// bound; after the last byte all are 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace batchfeed::testing {

class Draw {
 public:
  Draw(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  std::uint32_t below(std::uint32_t n) { return at_ == end_ ? 0 : *at_++ % n; }
  bool one_of(std::uint32_t n) { return below(n) == n - 1; }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace batchfeed::testing
