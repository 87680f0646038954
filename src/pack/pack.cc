// SPDX-License-Identifier: MIT
#include "pack/pack.h"

#include <algorithm>

#include "pack/gather.h"

namespace batchfeed::pack {
namespace {

void begin_stream(const StreamInfo& info, Storage storage, StreamBatch& out) {
  out.name = info.name;
  out.storage = storage;
  out.element = info.element;
  out.dim = info.dim;
  out.offsets.clear();
  out.offsets.push_back(0);
  out.values.clear();
  out.indices.clear();
  out.sample_begin.clear();
  if (storage == Storage::sparse) out.sample_begin.push_back(0);
}

void gather(const Column& column, std::uint32_t row, Run run, StreamBatch& out) {
  if (column.storage == Storage::dense) {
    gather_dense(column, row, run, out);
  } else if (out.storage == Storage::sparse) {
    gather_sparse(column, row, run, out);
  } else {
    gather_sparse_as_dense(column, row, run, out);
  }
  out.offsets.push_back(out.offsets.back() + run.count);
}

// Gathers every slice of stream `s`, reserving once what all of them need.
void gather_all(std::size_t s, std::span<const Slice> slices, StreamBatch& out) {
  std::uint64_t samples = 0, values = 0;
  for (const Slice& slice : slices) {
    const Column& column = slice.chunk->columns[s];
    const Run run = run_of(slice, column);
    samples += run.count;
    if (column.storage == Storage::sparse) {
      const std::uint32_t* begin = column.first_value.data() + column.first_sample[slice.row] + run.first;
      values += begin[run.count] - begin[0];
    }
  }
  out.offsets.reserve(slices.size() + 1);
  if (out.storage == Storage::dense) {
    out.values.reserve(static_cast<std::size_t>(samples * out.dim) * size_of(out.element));
  } else {
    out.values.reserve(static_cast<std::size_t>(values) * size_of(out.element));
    out.indices.reserve(static_cast<std::size_t>(values));
    out.sample_begin.reserve(static_cast<std::size_t>(samples) + 1);
  }
  for (const Slice& slice : slices) {
    const Column& column = slice.chunk->columns[s];
    gather(column, slice.row, run_of(slice, column), out);
  }
}

}  // namespace

void sequences(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Minibatch& out) {
  if (slices.empty()) {
    out.streams.clear();
    return;
  }
  out.streams.resize(streams.size());
  std::vector<std::uint32_t> lengths(slices.size());
  for (std::size_t s = 0; s < streams.size(); ++s) {
    StreamBatch& stream = out.streams[s];
    begin_stream(streams[s], streams[s].storage, stream);
    for (std::size_t i = 0; i < slices.size(); ++i) lengths[i] = run_of(slices[i], slices[i].chunk->columns[s]).count;
    layout_sequences(lengths, stream.layout);
    gather_all(s, slices, stream);
  }
}

void frames(const std::vector<StreamInfo>& streams, std::span<const Slice> slices, Minibatch& out) {
  if (slices.empty()) {
    out.streams.clear();
    return;
  }
  out.streams.resize(streams.size());
  for (std::size_t s = 0; s < streams.size(); ++s) {
    StreamBatch& stream = out.streams[s];
    begin_stream(streams[s], streams[s].storage, stream);
    for (const Slice& slice : slices) {
      const std::uint32_t count = run_of(slice, slice.chunk->columns[s]).count;
      if (count == 1) continue;
      throw Error(Fault{.kind = FaultKind::config,
                        .id = "pack.frame-length",
                        .what = "frame mode needs sequences of one sample, stream '" + streams[s].name +
                                "' has one of " + std::to_string(count),
                        .hint = "set frameMode = false",
                        .stream = streams[s].name});
    }
    layout_frames(static_cast<std::uint32_t>(slices.size()), stream.layout);
    gather_all(s, slices, stream);
  }
}

void truncated(const std::vector<StreamInfo>& streams, std::uint32_t rows, std::uint32_t steps,
               std::span<const Piece> pieces, Minibatch& out) {
  out.streams.resize(streams.size());
  for (std::size_t s = 0; s < streams.size(); ++s) {
    StreamBatch& stream = out.streams[s];
    begin_stream(streams[s], Storage::dense, stream);
    Layout& layout = stream.layout;
    layout.rows = rows;
    layout.steps = steps;
    layout.sequences = pieces.size();
    layout.entries.clear();
    std::vector<std::uint32_t> used(rows, 0);
    for (const Piece& piece : pieces) {
      const std::int64_t begin = std::int64_t{piece.step} - piece.first;
      layout.entries.push_back({piece.sequence, piece.row, begin, begin + piece.length});
      used[piece.row] = std::max(used[piece.row], piece.step + piece.count);
      const Column& column = piece.slice.chunk->columns[s];
      const std::uint32_t samples = run_of(piece.slice, column).count;
      if (samples != piece.length) {
        throw Error(Fault{.kind = FaultKind::config,
                          .id = "pack.truncated-lengths",
                          .what = "truncated packing needs streams of equal length; a sequence has " +
                                  std::to_string(piece.length) + " samples, but " + std::to_string(samples) +
                                  " in stream '" + streams[s].name + "'",
                          .hint = "set truncated = false, or repair the data",
                          .stream = streams[s].name});
      }
      gather(column, piece.slice.row, {piece.first, piece.count}, stream);
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (used[row] < steps) layout.entries.push_back({LayoutEntry::kGap, row, used[row], steps});
    }
  }
}

}  // namespace batchfeed::pack
