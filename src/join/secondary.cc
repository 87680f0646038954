// SPDX-License-Identifier: MIT
#include "join/secondary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/saturate.h"

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

Chunk ChunkCache::read(std::uint32_t chunk, RowRange rows) const {
  Chunk out;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      out = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  source_.row_reader(chunk)->read(chunk, rows, out);
  return out;
}

void ChunkCache::give_back(Chunk used) const {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(used));
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

// Rows [first, ...) of a chunk of the secondary source.
struct Held {
  std::shared_ptr<const Chunk> whole;
  Chunk part;
  std::uint32_t first = 0;
  const Chunk& chunk() const noexcept { return whole ? *whole : part; }
};

// So that nothing grows row by row: room for as many rows as there are here of all chunks held, if they take as much as
// those in the mean; and for no more than these take, as few rows may be most of it.
void make_room(const std::map<std::uint32_t, Held>& held, std::size_t s, std::size_t rows, Column& to) {
  std::size_t all = 0, values = 0, indices = 0, firsts = 0;
  for (const auto& [chunk, one] : held) {
    const Column& from = one.chunk().columns[s];
    all += from.first_sample.size() - 1;
    values += from.values.size();
    indices += from.indices.size();
    firsts += from.first_value.size();
  }
  const auto share = [&](std::size_t n) { return rows >= all ? n : static_cast<std::size_t>(mul_sat(n, rows) / all); };
  to.first_sample.reserve(rows + 1);
  to.values.reserve(share(values));
  if (to.storage == Storage::dense) {
    to.begin.reserve(rows);
  } else {
    to.first_value.reserve(share(firsts) + 1);
    to.indices.reserve(share(indices));
  }
}

}  // namespace

void fetch(const Source& source, const ChunkCache& cache, bool by_rows, std::span<const Location> where,
           std::span<const std::uint32_t> lengths, std::size_t first, Chunk& out) {
  std::map<std::uint32_t, Held> held;
  for (std::size_t r = 0; r < where.size(); ++r) {
    const std::uint32_t chunk = where[r].chunk;
    if (chunk == Location::kNone || held.contains(chunk)) continue;
    if (!by_rows) {
      held.emplace(chunk, Held{.whole = cache.get(chunk), .part = {}});
      continue;
    }
    const auto last = std::find_if(where.rbegin(), where.rend(), [&](const Location& at) { return at.chunk == chunk; });
    held.emplace(
        chunk, Held{.whole = nullptr, .part = cache.read(chunk, {where[r].row, last->row + 1}), .first = where[r].row});
  }
  const std::vector<StreamInfo>& streams = source.streams();
  for (std::size_t s = 0; s < streams.size(); ++s) {
    Column& to = out.columns[first + s];
    to.reset(streams[s]);
    make_room(held, s, where.size(), to);
    for (std::size_t r = 0; r < where.size(); ++r) {
      if (where[r].chunk == Location::kNone) {
        copy_row(streams[s], nullptr, 0, lengths[r], to);
        continue;
      }
      const Held& from = held.at(where[r].chunk);
      copy_row(streams[s], &from.chunk().columns[s], where[r].row - from.first, lengths[r], to);
    }
  }
  for (std::size_t r = 0; r < where.size(); ++r) {
    if (where[r].chunk == Location::kNone) continue;
    const Held& from = held.at(where[r].chunk);
    const std::uint32_t row = where[r].row - from.first;
    if (!from.chunk().is_invalid(row)) continue;
    if (out.invalid.empty()) out.invalid.resize(where.size(), Chunk::kValid);
    out.invalid[r] = std::max(out.invalid[r], from.chunk().invalid[row]);
  }
  for (auto& [chunk, one] : held) {
    if (!one.whole) cache.give_back(std::move(one.part));
  }
}

}  // namespace batchfeed::join
