// SPDX-License-Identifier: MIT
//
// Copies of samples out of a chunk's columns into a minibatch's buffers.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>

#include <cstdint>

#include "pack/pack.h"

namespace batchfeed::pack {

// Samples of a slice in one column: [first, first + count) of the sequence.
struct Run {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

inline Run run_of(const Slice& slice, const Column& column) noexcept {
  if (slice.count != Slice::kAll) return {slice.first, slice.count};
  return {slice.first, column.samples(slice.row) - slice.first};
}

// Appends the samples' values to a dense stream. The column must be dense.
void gather_dense(const Column& column, std::uint32_t row, Run run, StreamBatch& out);
// Appends values, indices and sample offsets to a sparse stream.
void gather_sparse(const Column& column, std::uint32_t row, Run run, StreamBatch& out);
// A sparse column's samples as dense rows; of repeated indices the last wins.
void gather_sparse_as_dense(const Column& column, std::uint32_t row, Run run, StreamBatch& out);

}  // namespace batchfeed::pack
