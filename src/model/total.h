// SPDX-License-Identifier: MIT
//
// What all chunks of a source come to.
#pragma once

#include <batchfeed/source.h>

#include <span>

#include "base/saturate.h"

namespace batchfeed {

inline ChunkInfo total(std::span<const ChunkInfo> chunks) noexcept {
  ChunkInfo sum;
  for (const ChunkInfo& chunk : chunks) {
    sum.sequences = add_sat(sum.sequences, chunk.sequences);
    sum.samples = add_sat(sum.samples, chunk.samples);
    sum.bytes = add_sat(sum.bytes, chunk.bytes);
  }
  return sum;
}

}  // namespace batchfeed
