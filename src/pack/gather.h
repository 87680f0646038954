// SPDX-License-Identifier: MIT
//
// Copies of samples out of chunks' columns into a minibatch's buffers. The places of
// all samples are found first, then copied: so samples that lie anywhere in memory are
// prefetched long before their turn.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace batchfeed::pack {

// What is known of a column, so that less has to be looked up.
struct Plain {
  bool samples = false;  // each sequence r is sample r and nothing else, in a dense column at r * dim
  bool values = false;   // sparse: each sample n has value n and nothing else, as labels do
  // Dense: floats are stored as a byte each (narrow.h). Sparse: as `values` says, all values are 1, and only the
  // indices are stored.
  bool narrow = false;
};

// One sequence to deliver: a row of a chunk, or a part of it (a frame: count 1).
struct Slice {
  static constexpr std::uint32_t kAll = 0xFFFFFFFFu;

  const Chunk* chunk = nullptr;
  std::uint32_t row = 0;
  std::uint32_t first = 0;       // sample
  std::uint32_t count = kAll;    // samples; kAll: what the stream has from `first` on
  const Plain* plain = nullptr;  // plain_of() each column, if that is known

  bool is_whole() const noexcept { return first == 0 && count == kAll; }
  // Whether it is known to be sample `row` of a stream, so that no offset has to be looked up.
  bool is_sample_of(std::size_t stream) const noexcept {
    return first == 0 && (count == kAll || count == 1) && plain != nullptr && plain[stream].samples;
  }
};

// Whether slices seem to be in the file's order, because the first few are. Only time depends on it.
bool in_order(std::span<const Slice> slices) noexcept;
// How many slices from the first on, at least one, are whole sequences that follow one another in a chunk, or frames
// that follow one another in a sequence.
std::size_t following(std::span<const Slice> slices) noexcept;

// Samples in one column, one after the other: of one sequence, or of several.
struct Run {
  const Column* column = nullptr;
  std::uint64_t first = 0;  // dense: first element in the column; sparse: first sample, for copying first value
  std::uint32_t samples = 0;
  std::uint32_t values = 0;  // sparse: values of all samples; 0 until they are counted, unless each sample has one
  bool narrow = false;       // as Plain says
};

// Fill the data of one stream, whose offsets are set and whose other buffers are
// empty, from all runs, whose columns are alike. Those of a dense stream may be
// sparse; of repeated indices the last value counts. `far`: the runs lie in more
// memory than caches hold.
void gather_dense(std::span<Run> runs, bool far, StreamBatch& out);
void gather_sparse(std::span<Run> runs, StreamBatch& out);
// The same for slices that are all samples of dense stream `s` (is_sample_of()), and all narrow or none. The first must
// be one; false, with undefined values, if another is not.
bool gather_samples(std::size_t s, std::span<const Slice> slices, bool far, StreamBatch& out);
// As gather_samples(), for slices of which many follow one another: these are copied together.
bool gather_together(std::size_t s, std::span<const Slice> slices, StreamBatch& out);

}  // namespace batchfeed::pack
