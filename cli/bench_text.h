// SPDX-License-Identifier: MIT
//
// The measurements of `bench`, in words and as JSON.
#pragma once

#include <batchfeed/bench.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "machine_limits.h"

namespace batchfeed::cli {

struct Measured {
  std::string file;
  bool text = false;  // a text corpus, whose numbers have to be parsed
  EpochTimes times;
  MachineLimits limits;
  std::uint64_t peak_memory = 0;  // bytes, of the process so far

  double samples_per_second() const;
  static double rate(double seconds, std::uint64_t bytes);  // bytes a second
};

// One sentence: what bounds the epoch, and what would help.
std::string verdict(const Measured& m);
std::string bench_text(const Measured& m);
nlohmann::ordered_json bench_json(const Measured& m);

// The samples a second of `other` as a multiple of those of `first`.
double speedup(const Measured& first, const Measured& other);
std::string compared_text(const Measured& first, const Measured& other);

}  // namespace batchfeed::cli
