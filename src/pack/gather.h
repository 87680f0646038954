// SPDX-License-Identifier: MIT
//
// Copies of samples out of chunks' columns into a minibatch's buffers. What stands
// where is found first, then copied: so the places of samples that lie anywhere in
// memory are asked for long before their turn.
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
  // Dense floats: in a byte each (narrow.h). Sparse: as `values` says, and all are 1, of which only the indices are
  // kept.
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
  // Whether it is sample `row` of a stream, which nothing has to be looked up for.
  bool is_sample_of(std::size_t stream) const noexcept {
    return first == 0 && (count == kAll || count == 1) && plain != nullptr && plain[stream].samples;
  }
};

// Whether slices seem to be in the file's order, because the first few are. Only time depends on it.
bool in_order(std::span<const Slice> slices) noexcept;
// How many of them from the first on, one at least, are whole sequences that follow one another in a chunk, or frames
// that do in a sequence.
std::size_t following(std::span<const Slice> slices) noexcept;

// Samples in one column, one after the other: of one sequence, or of several.
struct Run {
  const Column* column = nullptr;
  std::uint64_t first = 0;  // dense: its element in the column; sparse: its sample, and then its value
  std::uint32_t samples = 0;
  std::uint32_t values = 0;  // sparse: of all its samples; at first only if its samples are its values
  bool narrow = false;       // as Plain says
};

// Fill the data of one stream, whose offsets are set and whose other buffers are
// empty, with all runs, whose columns are alike. Those of a dense stream may be
// sparse; of repeated indices the last wins. `far`: the runs lie in more memory than
// caches hold.
void gather_dense(std::span<Run> runs, bool far, StreamBatch& out);
void gather_sparse(std::span<Run> runs, StreamBatch& out);
// The same for slices that are all samples of dense stream `s` (is_sample_of()), the first of which is one, and
// all narrow or none. False: they are not, and the values are anything.
bool gather_samples(std::size_t s, std::span<const Slice> slices, bool far, StreamBatch& out);
// So do slices of which many follow one another, which are copied together.
bool gather_together(std::size_t s, std::span<const Slice> slices, StreamBatch& out);

}  // namespace batchfeed::pack
