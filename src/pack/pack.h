// SPDX-License-Identifier: MIT
//
// From sequences in chunks to a minibatch: lengths become a layout, samples are
// gathered with one copy per stream and sequence, or run of sequences that follow one another.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/minibatch.h>
#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "pack/gather.h"

namespace batchfeed::pack {

// All of Plain but `narrow`, which the column does not show.
Plain plain_of(const Column& column) noexcept;

// A sequence that cannot be packed so, by its number among those given. Its place in the file is added by the catcher,
// who has the source.
class Misfit : public Error {
 public:
  Misfit(std::size_t sequence, Fault fault) : Error(std::move(fault)), sequence_(sequence) {}
  std::size_t sequence() const noexcept { return sequence_; }

 private:
  std::size_t sequence_;
};

// Working memory of packing, reused from minibatch to minibatch.
struct Scratch {
  // Whether the chunks take more memory than caches hold: they are then prefetched to the second-level cache
  // (20 % faster from memory; from a third-level cache 20 % slower).
  bool far = false;
  bool in_order = false;  // the slices of this minibatch seem to be
  // The chunk of the slices, if they are all of its rows, in order, and its buffers may become the minibatch's.
  Chunk* whole = nullptr;
  std::vector<Slice> slices;           // of pieces
  std::vector<Run> runs;               // of a stream, at most one for each slice
  std::vector<std::uint32_t> lengths;  // of its sequences
  std::vector<std::uint32_t> steps;    // of a layout's rows
};

// Layouts (minibatch.md 10.3, 10.4), from the sequences' real lengths. The memory of `memory` and `out` is reused.
void layout_sequences(std::span<const std::uint32_t> lengths, std::vector<std::uint32_t>& memory, Layout& out);
void layout_frames(std::uint32_t sequences, Layout& out);

// Why a whole sequence, in its row of `chunk`, cannot be packed so, as "has ..."; nothing if it can.
std::optional<Fault> misfit(Packing packing, const std::vector<StreamInfo>& streams, const Chunk& chunk,
                            const SequenceInfo& sequence);

// Fill out.streams (all fields) from the slices; every stream is packed with its
// own real lengths. Keys, flags and counts are left to the caller. frames():
// Misfit(config) naming the length if a sequence has more than one sample.
// Both reuse the memory of `scratch` and `out`. No slices: out.streams is emptied.
void sequences(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Scratch& scratch, Minibatch& out);
void frames(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Scratch& scratch, Minibatch& out);

// A part of a sequence in one row of a truncated minibatch.
struct Piece {
  Slice slice;
  std::uint32_t sequence = 0;  // index of the minibatch's keys
  std::uint32_t row = 0;
  std::uint32_t step = 0;    // first step of the minibatch it fills
  std::uint32_t first = 0;   // first sample of the sequence it takes
  std::uint32_t count = 0;   // samples it takes
  std::uint32_t length = 0;  // of the sequence: entry is [step - first, step - first + length)
};
// Truncated BPTT (minibatch.md 11): pieces in order of their `sequence`, gaps =
// what rows x steps leaves empty, one gap entry per row end. Sparse streams come dense.
// Misfit(config) if the streams of a piece differ in length.
void truncated(const std::vector<StreamInfo>& streams, std::uint32_t rows, std::uint32_t steps,
               std::span<const Piece> pieces, Scratch& scratch, Minibatch& out);

}  // namespace batchfeed::pack
