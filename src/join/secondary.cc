// SPDX-License-Identifier: MIT
#include "join/secondary.h"

#include <algorithm>

namespace batchfeed::join {

std::shared_ptr<const Chunk> ChunkCache::get(std::uint32_t chunk) const {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = slots_.find(chunk); found != slots_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      slot = found->second->second;
    } else {
      slot = std::make_shared<Slot>();
      recent_.emplace_front(chunk, slot);
      slots_[chunk] = recent_.begin();
    }
  }
  {
    const std::lock_guard lock(slot->loading);
    if (!slot->loaded) {
      source_.read(chunk, slot->chunk);
      slot->loaded = true;
    }
  }
  const std::lock_guard lock(mutex_);
  slot->memory = slot->chunk.memory();
  std::uint64_t held = 0;
  for (auto at = recent_.begin(); at != recent_.end();) {
    held += at->second->memory;
    if (held > bytes_ && at != recent_.begin()) {
      slots_.erase(at->first);
      at = recent_.erase(at);
    } else {
      ++at;
    }
  }
  return {slot, &slot->chunk};
}

namespace {

void copy_dense(const Column& from, std::uint32_t row, Column& to) {
  // All that is stored for the sequence, windows' repeated edges included.
  const std::uint32_t n = from.samples(row);
  const std::uint64_t stored = n == 0 ? 0 : (n - 1) * from.step + from.dim;
  const std::size_t each = size_of(from.element);
  to.begin.push_back(to.values.size() / each);
  to.values.append(from.values.data() + from.begin[row] * each, static_cast<std::size_t>(stored) * each);
  to.step = from.step;
}

void copy_sparse(const Column& from, std::uint32_t row, std::uint32_t times, Column& to) {
  const std::size_t each = size_of(from.element);
  for (std::uint32_t t = 0; t < times; ++t) {
    const std::uint32_t* begin = from.first_value.data() + from.first_sample[row];
    const std::uint32_t n = from.samples(row);
    const std::uint32_t count = begin[n] - begin[0];
    const auto at = static_cast<std::uint32_t>(to.indices.size());
    to.values.append(from.values.data() + begin[0] * each, count * each);
    to.indices.append(from.indices.data() + begin[0], count);
    for (std::uint32_t i = 1; i <= n; ++i) to.first_value.push_back(at + (begin[i] - begin[0]));
  }
}

// Appends row `where` of `from` (or nothing) to `to`.
void copy_row(const StreamInfo& info, const Column* from, std::uint32_t row, std::uint32_t length, Column& to) {
  if (from == nullptr) {
    to.begin.push_back(0);
    to.first_sample.push_back(to.first_sample.back());
    return;
  }
  std::uint32_t samples = from->samples(row);
  const bool repeat = info.broadcast && samples == 1;
  if (info.storage == Storage::dense) {
    copy_dense(*from, row, to);
    if (repeat) to.step = 0;
  } else {
    copy_sparse(*from, row, repeat ? length : 1, to);
  }
  if (repeat) samples = length;
  to.first_sample.push_back(to.first_sample.back() + samples);
}

}  // namespace

void fetch(const Source& source, const ChunkCache& cache, std::span<const Location> where,
           std::span<const std::uint32_t> lengths, std::size_t first, Chunk& out) {
  std::unordered_map<std::uint32_t, std::shared_ptr<const Chunk>> held;
  for (const Location& at : where) {
    if (at.chunk != Location::kNone && !held.contains(at.chunk)) held.emplace(at.chunk, cache.get(at.chunk));
  }
  const std::vector<StreamInfo>& streams = source.streams();
  for (std::size_t s = 0; s < streams.size(); ++s) {
    Column& to = out.columns[first + s];
    to.reset(streams[s]);
    for (std::size_t r = 0; r < where.size(); ++r) {
      const Column* from = where[r].chunk == Location::kNone ? nullptr : &held.at(where[r].chunk)->columns[s];
      copy_row(streams[s], from, where[r].row, lengths[r], to);
    }
  }
  for (std::size_t r = 0; r < where.size(); ++r) {
    if (where[r].chunk == Location::kNone) continue;
    const Chunk& from = *held.at(where[r].chunk);
    if (!from.is_invalid(where[r].row)) continue;
    if (out.invalid.empty()) out.invalid.resize(where.size(), Chunk::kValid);
    out.invalid[r] = std::max(out.invalid[r], from.invalid[where[r].row]);
  }
}

}  // namespace batchfeed::join
