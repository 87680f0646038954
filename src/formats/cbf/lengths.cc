// SPDX-License-Identifier: MIT
#include "formats/cbf/lengths.h"

#include <algorithm>
#include <numeric>

#include "formats/cbf/legacy.h"

namespace batchfeed::cbf {
namespace {

std::vector<std::uint32_t> modern_lengths(const FileChunk& stored, Feed& feed) {
  std::vector<std::uint32_t> each(stored.sequences);  // 4 bytes each were found to be there
  for (std::uint32_t& length : each) length = feed.get<std::uint32_t>();
  return each;
}

// A sequence is as long as its longest stream, and at least one sample long.
std::vector<std::uint32_t> legacy_lengths(const Header& header, std::size_t chunk, Feed& feed, const Faults& faults) {
  const FileChunk& stored = header.chunks[chunk];
  check_legacy_room(header, chunk, faults);
  std::vector<std::uint32_t> each(stored.sequences, 1);
  Buffer<std::uint32_t> columns;
  for (const FileStream& stream : header.streams) {
    const LegacyBlock block = legacy_block(header, chunk, stream, feed, faults);
    if (stream.storage == Storage::sparse) {
      read_columns(block, stored.sequences, stream, feed, faults, columns);
      feed.seek(block.rows_at);
      for (std::uint32_t s = 0; s < stored.sequences; ++s) {
        if (columns[s] == columns[s + 1]) continue;
        feed.seek(block.rows_at + (std::uint64_t{columns[s + 1]} - 1) * 4);
        const auto last = feed.get<std::int32_t>();
        if (last < 0) continue;  // a fault of read(), which names it
        each[s] = std::max(each[s], static_cast<std::uint32_t>(last) / stream.dim + 1);
      }
    }
    feed.seek(block.end);
  }
  return each;
}

}  // namespace

Lengths::Lengths(std::vector<std::uint32_t> each) : each_(std::move(each)) {
  for (const std::uint32_t length : each_) {
    sum_ += length;
    zeros_ += length == 0 ? 1 : 0;
  }
  if (each_.empty()) return;
  all_ = each_.front();
  if (std::all_of(each_.begin(), each_.end(), [this](std::uint32_t length) { return length == all_; })) {
    each_ = {};
    return;
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < each_.size(); sum += each_[i++]) {
    if (i % kStep == 0) before_.push_back(sum);
  }
}

Lengths::Lengths(std::uint32_t length, std::uint32_t count)
    : all_(length), sum_(std::uint64_t{length} * count), zeros_(length == 0 ? count : 0) {}

std::uint64_t Lengths::before(std::uint32_t sequence) const noexcept {
  if (uniform()) return std::uint64_t{all_} * sequence;
  const std::size_t step = std::min<std::size_t>(sequence / kStep, before_.size() - 1);
  const std::uint32_t* const each = each_.data();
  return std::accumulate(each + step * kStep, each + sequence, before_[step]);
}

Lengths Lengths::part(RowRange sequences) const {
  if (uniform()) return {all_, sequences.last - sequences.first};
  return Lengths(std::vector<std::uint32_t>(each_.begin() + sequences.first, each_.begin() + sequences.last));
}

Lengths read_lengths(const Header& header, std::size_t chunk, Feed& feed, const Faults& faults) {
  return Lengths(header.layout == Layout::modern ? modern_lengths(header.chunks[chunk], feed)
                                                 : legacy_lengths(header, chunk, feed, faults));
}

}  // namespace batchfeed::cbf
