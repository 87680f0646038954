// SPDX-License-Identifier: MIT
//
// Reads all of a source, sequence after sequence; tables and chunks that break the contract of
// source.h are errors (checked()).
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace batchfeed::testing {

// Calls each(chunk, sequence); the sequence's samples are row `sequence.row` of the chunk's columns.
template <class Each>
void each_sequence(const Source& source, const Each& each) {
  const auto held = checked(std::shared_ptr<const Source>(std::shared_ptr<const void>(), &source));  // not owned
  std::vector<SequenceInfo> table;
  Chunk chunk;
  for (std::uint32_t c = 0; c < held->chunks().size(); ++c) {
    held->sequences(c, table);
    held->read(c, chunk);
    for (const SequenceInfo& sequence : table) each(chunk, sequence);
  }
}

}  // namespace batchfeed::testing
