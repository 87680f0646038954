// SPDX-License-Identifier: MIT
#include "pack/pack.h"

#include <algorithm>
#include <new>
#include <numeric>

#include "base/counted.h"
#include "base/saturate.h"
#include "pack/gather.h"

namespace batchfeed::pack {
namespace {

// What a slice takes of stream `s`.
inline Run run_of(const Slice& slice, std::size_t s) noexcept {
  const Column& column = slice.chunk->columns[s];
  const Plain known = slice.plain != nullptr ? slice.plain[s] : Plain();
  const bool dense = column.storage == Storage::dense;
  if (slice.is_sample_of(s))
    return {&column, dense ? slice.row * column.dim : slice.row, 1, known.values ? 1U : 0U, known.narrow};
  const std::uint32_t samples = slice.count != Slice::kAll ? slice.count : column.samples(slice.row) - slice.first;
  const std::uint64_t first = dense ? column.begin[slice.row] + slice.first * column.step
                                    : std::uint64_t{column.first_sample[slice.row]} + slice.first;
  return {&column, first, samples, known.values ? samples : 0, known.narrow};
}

// For slices in any order: a run for each.
void measure_each(std::size_t s, std::span<const Slice> slices, Scratch& scratch) {
  // The offsets of whole sequences lie anywhere in memory, and are prefetched; parts of a sequence share theirs.
  constexpr std::size_t kAhead = 16;
  Run* run = scratch.runs.data();
  std::uint32_t* length = scratch.lengths.data();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (i + kAhead < slices.size()) {
      const Slice& later = slices[i + kAhead];
      const Column& column = later.chunk->columns[s];
      if (later.count == Slice::kAll && !later.is_sample_of(s)) {
        __builtin_prefetch(column.first_sample.data() + later.row);
        if (column.storage == Storage::dense) __builtin_prefetch(column.begin.data() + later.row);
      }
    }
    *run = run_of(slices[i], s);
    *length++ = run++->samples;
  }
}

// For slices in the file's order: those that follow one another in a column are one run. Returns how many runs.
std::size_t measure_together(std::size_t s, std::span<const Slice> slices, Scratch& scratch) {
  std::size_t runs = 0;
  std::uint64_t end = 0;  // of the last one
  for (std::size_t i = 0, taken = 1; i < slices.size(); i += taken) {
    const Slice& slice = slices[i];
    const Column& column = slice.chunk->columns[s];
    const bool dense = column.storage == Storage::dense;
    Run run = run_of(slice, s);
    scratch.lengths[i] = run.samples;
    // The begin of each sequence of a dense column has to be looked up, unless they are samples that do not overlap.
    const bool told = !dense || !slice.is_whole() || (slice.is_sample_of(s) && column.step == column.dim);
    taken = told ? following(slices.subspan(i)) : 1;
    if (taken > 1) {
      std::uint32_t* const lengths = scratch.lengths.data() + i;
      if (slice.is_whole()) {
        const std::uint32_t* const begin = column.first_sample.data() + slice.row;
        for (std::size_t k = 0; k < taken; ++k) lengths[k] = begin[k + 1] - begin[k];
        run.samples = begin[taken] - begin[0];
      } else {
        std::fill_n(lengths, taken, 1u);
        run.samples = static_cast<std::uint32_t>(taken);
      }
      if (slice.plain != nullptr && slice.plain[s].values) run.values = run.samples;
    }
    if (runs != 0 && scratch.runs[runs - 1].column == &column && run.first == end) {
      scratch.runs[runs - 1].samples += run.samples;
      scratch.runs[runs - 1].values += run.values;
    } else {
      scratch.runs[runs++] = run;
    }
    end = run.first + run.samples * (dense ? column.step : 1);
  }
  return runs;
}

// What the slices take of stream `s`, and the samples of each.
std::span<Run> measure(std::size_t s, std::span<const Slice> slices, Scratch& scratch) {
  scratch.runs.resize(slices.size());
  scratch.lengths.resize(slices.size());
  if (scratch.in_order) return std::span(scratch.runs).first(measure_together(s, slices, scratch));
  measure_each(s, slices, scratch);
  return scratch.runs;
}

void begin(const StreamInfo& info, Storage storage, StreamBatch& out) {
  out.name = info.name;
  out.storage = storage;
  out.element = info.element;
  out.dim = info.dim;
  out.values.clear();
  out.indices.clear();
  out.sample_begin.clear();
}

// Swaps the buffers of a column into the minibatch instead of copying, if the minibatch owns the chunk. To be called
// where all samples lie one behind the other from the first. False if the buffers hold anything else.
bool hand_over(std::size_t s, bool narrow, const Scratch& scratch, StreamBatch& out) {
  if (scratch.whole == nullptr || narrow) return false;
  Column& column = scratch.whole->columns[s];
  const std::uint64_t samples = out.samples();
  const std::size_t each = size_of(out.element);
  if (column.storage != out.storage) return false;
  if (out.storage == Storage::dense) {
    if (column.values.size() != mul_sat(mul_sat(samples, out.dim), each)) return false;
  } else {
    if (column.first_value.size() != samples + 1) return false;
    const std::uint32_t* const begin = column.first_value.data();
    const std::size_t values = begin[samples];
    if (column.values.size() != values * each || column.indices.size() != values) return false;
    out.sample_begin.resize(samples + 1);
    std::copy_n(begin, samples + 1, out.sample_begin.data());
    out.indices.swap(column.indices);
  }
  out.values.swap(column.values);
  return true;
}

// All of a dense stream whose sequences are one sample each, which need not be measured. False: they are not.
bool fill_with_samples(const StreamInfo& info, std::size_t s, std::span<const Slice> slices, const Scratch& scratch,
                       StreamBatch& out) {
  if (info.storage != Storage::dense || !slices[0].is_sample_of(s)) return false;
  begin(info, Storage::dense, out);
  out.offsets.resize(slices.size() + 1);
  std::iota(out.offsets.begin(), out.offsets.end(), 0);
  if (!hand_over(s, slices[0].plain[s].narrow, scratch, out)) {
    const bool done = scratch.in_order ? gather_together(s, slices, out) : gather_samples(s, slices, scratch.far, out);
    if (!done) return false;
  }
  layout_frames(static_cast<std::uint32_t>(slices.size()), out.layout);
  return true;
}

// A dense minibatch of sparse samples of a large dimension may need more memory than there is.
[[noreturn]] void refuse_dense(const StreamInfo& info, std::uint64_t rows, std::uint64_t steps) {
  const std::uint64_t bytes = mul_sat(mul_sat(rows * steps, info.dim), size_of(info.element));
  throw Error(
      Fault{.kind = FaultKind::limit,
            .id = "pack.truncated-memory",
            .what = "stream '" + info.name + "': truncated packing makes a sparse stream dense; a minibatch of " +
                    std::to_string(rows) + " x " + counted(steps, "sample") + " of dimension " +
                    std::to_string(info.dim) + " takes " + counted(bytes, "byte") + ", for which there is no memory",
            .hint = "set `truncated = false`: whole sequences stay sparse; else declare a smaller dim, or fewer "
                    "or shorter rows",
            .stream = info.name});
}

// Everything of a stream but its layout, from what was measured.
void fill(const StreamInfo& info, Storage storage, std::size_t s, std::span<Run> runs, const Scratch& scratch,
          StreamBatch& out) {
  begin(info, storage, out);
  out.offsets.resize(scratch.lengths.size() + 1);
  std::int64_t* offset = out.offsets.data();
  *offset = 0;
  for (const std::uint32_t length : scratch.lengths) {
    offset[1] = offset[0] + length;
    ++offset;
  }
  const bool together = runs.size() == 1 && runs[0].first == 0 &&
                        (storage == Storage::sparse || runs[0].column->step == runs[0].column->dim);
  if (together && hand_over(s, runs[0].narrow, scratch, out)) return;
  if (storage == Storage::dense) {
    gather_dense(runs, scratch.far, out);
  } else {
    gather_sparse(runs, out);
  }
}

// Whether values[n] is n for all n. Blocks are compared without a branch for each value.
bool counts_up(const Buffer<std::uint32_t>& values) noexcept {
  constexpr std::size_t kBlock = 512;
  for (std::size_t n = 0; n < values.size(); n += kBlock) {
    std::uint32_t differ = 0;
    for (std::size_t i = n, end = std::min(n + kBlock, values.size()); i < end; ++i)
      differ |= values[i] ^ static_cast<std::uint32_t>(i);
    if (differ != 0) return false;
  }
  return true;
}

}  // namespace

Plain plain_of(const Column& column) noexcept {
  Plain out;
  if (column.first_sample.empty()) return out;
  const std::size_t rows = column.first_sample.size() - 1;
  const bool dense = column.storage == Storage::dense;
  out.samples = (!dense || column.begin.size() >= rows) && counts_up(column.first_sample);
  for (std::size_t r = 0; dense && r < rows && out.samples; ++r) out.samples = column.begin[r] == r * column.dim;
  out.values = !dense && !column.first_value.empty() && counts_up(column.first_value);
  return out;
}

namespace {

// Packs each stream; lay_out() makes its layout of the lengths measured, unless all sequences have one sample.
template <class LayOut>
void fill_streams(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Scratch& scratch,
                  Minibatch& out, const LayOut& lay_out) {
  if (slices.empty()) {
    out.streams.clear();
    return;
  }
  out.streams.resize(streams.size());
  scratch.in_order = in_order(slices);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    if (fill_with_samples(streams[s], s, slices, scratch, out.streams[s])) continue;
    const std::span<Run> runs = measure(s, slices, scratch);
    lay_out(streams[s], out.streams[s].layout);
    fill(streams[s], streams[s].storage, s, runs, scratch, out.streams[s]);
  }
}

Fault no_frame(const StreamInfo& stream, std::uint32_t samples) {
  return {.kind = FaultKind::config,
          .id = "pack.frame-length",
          .what = "has " + counted(samples, "sample") + " in stream '" + stream.name + "', expected 1 in frame mode",
          .hint = "set `frameMode = false`",
          .stream = stream.name};
}

Fault unequal(const StreamInfo& stream, std::uint32_t samples, std::uint32_t length) {
  return {.kind = FaultKind::config,
          .id = "pack.truncated-lengths",
          .what = "has " + counted(samples, "sample") + " in stream '" + stream.name + "', but " +
                  std::to_string(length) + " in others; truncated packing needs streams of equal length",
          .hint = "set `truncated = false`, or repair the data",
          .stream = stream.name};
}

void layout_pieces(std::uint32_t rows, std::uint32_t steps, std::span<const Piece> pieces,
                   std::vector<std::uint32_t>& used, Layout& layout) {
  layout.rows = rows;
  layout.steps = steps;
  layout.sequences = pieces.size();
  layout.entries.clear();
  used.assign(rows, 0);
  for (const Piece& piece : pieces) {
    const std::int64_t begin = std::int64_t{piece.step} - piece.first;
    layout.entries.push_back({piece.sequence, piece.row, begin, begin + piece.length});
    used[piece.row] = std::max(used[piece.row], piece.step + piece.count);
  }
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (used[row] < steps) layout.entries.push_back({LayoutEntry::kGap, row, used[row], steps});
  }
}

void expect_equal(const StreamInfo& info, std::size_t s, std::span<const Piece> pieces) {
  for (const Piece& piece : pieces) {
    const std::uint32_t samples = piece.slice.chunk->columns[s].samples(piece.slice.row);
    if (samples != piece.length)
      throw Misfit(static_cast<std::size_t>(&piece - pieces.data()), unequal(info, samples, piece.length));
  }
}

}  // namespace

std::optional<Fault> misfit(Packing packing, const std::vector<StreamInfo>& streams, const Chunk& chunk,
                            const SequenceInfo& sequence) {
  for (std::size_t s = 0; s < streams.size() && packing != Packing::sequences; ++s) {
    const std::uint32_t samples = chunk.columns[s].samples(sequence.row);
    if (packing == Packing::frames && samples != 1) return no_frame(streams[s], samples);
    if (packing == Packing::truncated && samples != sequence.samples)
      return unequal(streams[s], samples, sequence.samples);
  }
  return std::nullopt;
}

void sequences(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Scratch& scratch,
               Minibatch& out) {
  fill_streams(streams, slices, scratch, out,
               [&](const StreamInfo&, Layout& layout) { layout_sequences(scratch.lengths, scratch.steps, layout); });
}

void frames(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Scratch& scratch, Minibatch& out) {
  fill_streams(streams, slices, scratch, out, [&](const StreamInfo& stream, Layout& layout) {
    for (std::size_t i = 0; i < scratch.lengths.size(); ++i) {
      if (scratch.lengths[i] == 1) continue;
      throw Misfit(i, no_frame(stream, scratch.lengths[i]));
    }
    layout_frames(static_cast<std::uint32_t>(slices.size()), layout);
  });
}

void truncated(const std::vector<StreamInfo>& streams, std::uint32_t rows, std::uint32_t steps,
               std::span<const Piece> pieces, Scratch& scratch, Minibatch& out) {
  std::vector<Slice>& slices = scratch.slices;
  slices.clear();
  for (const Piece& piece : pieces) {
    slices.push_back(piece.slice);
    slices.back().first = piece.first;
    slices.back().count = piece.count;
  }
  out.streams.resize(streams.size());
  scratch.in_order = in_order(slices);
  for (std::size_t s = 0; s < streams.size(); ++s) {
    StreamBatch& stream = out.streams[s];
    expect_equal(streams[s], s, pieces);
    if (s == 0) {
      layout_pieces(rows, steps, pieces, scratch.steps, stream.layout);
    } else {
      stream.layout = out.streams[0].layout;
    }
    const std::span<Run> runs = measure(s, slices, scratch);
    try {
      fill(streams[s], Storage::dense, s, runs, scratch, stream);
    } catch (const std::bad_alloc&) {
      if (slices.empty() || slices[0].chunk->columns[s].storage == Storage::dense) throw;
      refuse_dense(streams[s], rows, steps);
    }
  }
}

}  // namespace batchfeed::pack
