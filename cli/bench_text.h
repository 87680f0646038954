// SPDX-License-Identifier: MIT
//
// What `bench` measured, in words and as JSON.
#pragma once

#include <batchfeed/bench.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "machine_limits.h"

namespace batchfeed::cli {

struct Measured {
  std::string file;
  bool text = false;  // has numbers to parse
  EpochTimes times;
  MachineLimits limits;
  std::uint64_t peak_memory = 0;  // bytes, of the process so far

  double samples_per_second() const;
  static double rate(double seconds, std::uint64_t bytes);  // a second
};

// One sentence: what bounds the epoch, and what would help.
std::string verdict(const Measured& m);
std::string bench_text(const Measured& m);
nlohmann::ordered_json bench_json(const Measured& m);

// Samples a second of the other, as a multiple of the first's.
double speedup(const Measured& first, const Measured& other);
std::string compared_text(const Measured& first, const Measured& other);

}  // namespace batchfeed::cli
