// SPDX-License-Identifier: MIT
//
// Compares two sequences and describes the first difference.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace batchfeed {

struct RowDifference {
  bool differ = false;
  std::string what;
  std::uint32_t sample = 0;
  std::uint64_t samples_a = 0, samples_b = 0;  // of the stream at fault
};

// Columns of both in the same order, with the same storage. Entries of a sparse sample
// in any order.
RowDifference compare_rows(const std::vector<StreamInfo>& streams, const Chunk& a, std::uint32_t row_a, const Chunk& b,
                           std::uint32_t row_b, double tolerance);

// A source of doubles that gives floats.
std::shared_ptr<const Source> as_floats(std::shared_ptr<const Source> source);

}  // namespace batchfeed
