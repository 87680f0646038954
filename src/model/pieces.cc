// SPDX-License-Identifier: MIT
#include "model/pieces.h"

#include <algorithm>

#include "base/saturate.h"
#include "model/total.h"

namespace batchfeed {

Pieces::Pieces(std::shared_ptr<const Source> from, std::uint64_t bytes, Minibatches minibatches)
    : SharedSource(std::move(from)), minibatches_(minibatches) {
  const std::vector<ChunkInfo>& chunks = source().chunks();
  bytes = std::max({bytes, total(chunks).bytes / kMost, std::uint64_t{1}});
  if (!may_be_pieces(bytes)) minibatches_.size = 0;
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    const std::uint64_t expanded = mul_sat(chunks[c].samples, kExpanded);
    std::uint64_t size = std::max(chunks[c].bytes, expanded);
    const RowReader* const reader = size > bytes ? source().row_reader(c) : nullptr;
    if (reader != nullptr && reader->row_memory(c) != RowMemory::far_more) size = chunks[c].bytes;
    const std::uint64_t parts = std::min((size + bytes - 1) / bytes, chunks[c].sequences);
    if (parts > 1 && reader != nullptr) {
      cut(c, parts);
    } else {
      pieces_.push_back(chunks[c]);
      parts_.push_back({.chunk = c, .rows = {}});
      // Exact where sequences are of one sample.
      if (minibatches_.size != 0) filled_ = (filled_ + measure(chunks[c])) % minibatches_.size;
    }
  }
}

std::uint64_t Pieces::measure(const ChunkInfo& chunk) const noexcept {
  return minibatches_.unit == SizeUnit::sequences ? chunk.sequences : chunk.samples;
}

// Whether minibatches may be the pieces, where these are to have so many bytes.
bool Pieces::may_be_pieces(std::uint64_t bytes) const {
  constexpr double kChunk = 4;  // minibatches of a chunk at least, as one or two of them are cut
  const ChunkInfo all = total(source().chunks());
  if (minibatches_.size == 0 || minibatches_.unit == SizeUnit::cells || measure(all) == 0) return false;
  const double each =
      static_cast<double>(all.bytes) / static_cast<double>(measure(all)) * static_cast<double>(minibatches_.size);
  const double chunk = static_cast<double>(all.bytes) / static_cast<double>(source().chunks().size());
  const auto wanted = static_cast<double>(bytes);
  return each >= wanted / 4 && each <= wanted * 2 && chunk >= each * kChunk;
}

// Cuts a chunk into parts of about as many samples, which mostly means as many bytes; or into minibatches: sequences as
// long as they fit, one at least (minibatch.md 7).
void Pieces::cut(std::uint32_t chunk, std::uint64_t parts) {
  const ChunkInfo& whole = source().chunks()[chunk];
  const std::uint64_t most = (whole.samples + parts - 1) / parts;
  const double bytes_each = static_cast<double>(whole.bytes) / static_cast<double>(whole.samples);
  std::vector<SequenceInfo> table;
  source().sequences(chunk, table);
  for (std::size_t i = 0; i < table.size();) {
    ChunkInfo piece;
    const std::size_t first = i;
    for (; i < table.size(); ++i) {
      const std::uint64_t size = minibatches_.unit == SizeUnit::sequences ? 1 : table[i].samples;
      const bool full =
          minibatches_.size == 0 ? piece.samples >= most : filled_ != 0 && filled_ + size > minibatches_.size;
      if (full && i != first) break;
      filled_ = full ? size : filled_ + size;
      ++piece.sequences;
      piece.samples += table[i].samples;
    }
    piece.bytes = static_cast<std::uint64_t>(bytes_each * static_cast<double>(piece.samples));
    pieces_.push_back(piece);
    const std::uint32_t end = i < table.size() ? table[i].row : table.back().row + 1;
    parts_.push_back({.chunk = chunk, .rows = {table[first].row, end}});
  }
}

void Pieces::sequences(std::uint32_t piece, std::vector<SequenceInfo>& out) const {
  const auto& [chunk, rows] = parts_[piece];
  if (rows.last == 0) {
    source().sequences(chunk, out);
  } else {
    source().row_reader(chunk)->sequences(chunk, rows, out);
  }
}

void Pieces::read(std::uint32_t piece, Chunk& out) const {
  const auto& [chunk, rows] = parts_[piece];
  if (rows.last == 0) {
    source().read(chunk, out);
  } else {
    source().row_reader(chunk)->read(chunk, rows, out);
  }
}

Place Pieces::place(std::uint32_t piece, std::uint32_t row) const {
  return source().place(parts_[piece].chunk, parts_[piece].rows.first + row);
}

std::vector<Place> Pieces::places(std::uint32_t piece, std::uint32_t row) const {
  return source().places(parts_[piece].chunk, parts_[piece].rows.first + row);
}

}  // namespace batchfeed
