// SPDX-License-Identifier: MIT
//
// Copies of samples out of chunks' columns into a minibatch's buffers. What stands
// where is found first, then copied: so the places of samples that lie anywhere in
// memory are asked for long before their turn.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <span>
#include <vector>

namespace batchfeed::pack {

// Samples of one sequence in one column.
struct Run {
  const Column* column = nullptr;
  std::uint64_t first = 0;  // dense: its element in the column; sparse: its sample, and then its value
  std::uint32_t samples = 0;
  std::uint32_t values = 0;  // sparse: of all its samples
};

// Fill the data of one stream, whose offsets are set and whose other buffers are
// empty, with all runs, whose columns are alike. Those of a dense stream may be
// sparse; of repeated indices the last wins. `far`: the runs lie in more memory than
// caches hold.
void gather_dense(std::span<Run> runs, bool far, StreamBatch& out);
void gather_sparse(std::span<Run> runs, StreamBatch& out);

}  // namespace batchfeed::pack
