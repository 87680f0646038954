// SPDX-License-Identifier: MIT
//
// What this machine can do at most, measured on the spot: the yardsticks of `bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::cli {

// Bytes per second; 0 where there was nothing to measure on.
struct MachineLimits {
  double read = 0;          // pread of the corpus by one thread, when it has been read before
  double first = 0;         // the same for the first time: the speed of the disk, unless it was cached
  double newline = 0;       // memchr for line feeds over the corpus's bytes, in memory
  double copy = 0;          // memcpy of these bytes
  double number = 0;        // a bare loop of fast_float over the numbers of a text
  bool compressed = false;  // the first file is compressed; all rates count stored bytes
};

// Reads at most `bytes` of the files, in order. Throws Error(io).
MachineLimits measure_limits(const std::vector<std::string>& files, std::uint64_t bytes);

}  // namespace batchfeed::cli
