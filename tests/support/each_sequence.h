// SPDX-License-Identifier: MIT
//
// All of a source, sequence after sequence, with every table and chunk held to what source.h says.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace batchfeed::testing {

// each(chunk, sequence): the columns of the chunk, of which `sequence.row` is the one.
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
