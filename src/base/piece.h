// SPDX-License-Identifier: MIT
//
// How many bytes are read at a time. Fuzzers read a thousandth of it, so that their small
// files span several pieces too.
#pragma once

#include <cstddef>

namespace batchfeed {

constexpr std::size_t piece_bytes(std::size_t bytes) noexcept {
#ifdef BATCHFEED_SMALL_PIECES
  return bytes >> 10;
#else
  return bytes;
#endif
}

}  // namespace batchfeed
