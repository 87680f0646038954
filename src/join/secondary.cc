// SPDX-License-Identifier: MIT
#include "join/secondary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/saturate.h"
#include "model/stream_faults.h"
#include "model/total.h"

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
    ErrorsAhead* const ahead = ErrorsAhead::current();
    if (!slot->loaded) {
      std::optional<ErrorsAhead::Scope> scope;
      if (ahead != nullptr) scope.emplace(slot->errors);
      source_.read(chunk, slot->chunk);
      slot->loaded = true;
    }
    if (ahead != nullptr) ahead->add(slot->errors);
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

// Whether its few bytes are so many samples that decoded chunks would not fit into the cache.
bool outgrows(const Source& source, std::uint64_t most) {
  constexpr std::uint64_t kSample = 12;  // bytes of a label
  std::uint64_t samples = 0;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    const RowReader* const rows = source.row_reader(c);
    if (rows == nullptr || rows->row_memory(c) != RowMemory::far_more) return false;
    samples = add_sat(samples, source.chunks()[c].samples);
  }
  return mul_sat(samples, kSample) > most;
}

// Whether each partner stands behind the one before, so that each row is read once, and rows can be read alone.
bool go_in_step(const Source& source, std::span<const Location> partners) {
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    if (source.row_reader(c) == nullptr) return false;
  }
  const Location* last = nullptr;
  for (const Location& at : partners) {
    if (at.chunk == Location::kNone) continue;
    if (last != nullptr && std::pair(at.chunk, at.row) <= std::pair(last->chunk, last->row)) return false;
    last = &at;
  }
  return true;
}

}  // namespace

std::uint64_t most_kept(const Source& source, std::uint64_t cache_bytes) {
  return std::min(cache_bytes, add_sat(mul_sat(total(source.chunks()).bytes, 8), 32u << 20));
}

Readings choose_readings(const Source& source, std::span<const Location> partners, std::uint64_t cache_bytes) {
  constexpr std::uint64_t kSmall = 4u << 20;  // bytes of files; such a source had better stay decoded
  if (outgrows(source, most_kept(source, cache_bytes))) return {Reading::run_by_run, Reading::run_by_run};
  if (!go_in_step(source, partners)) return {Reading::kept, {}};
  return {total(source.chunks()).bytes > kSmall ? Reading::in_step : Reading::kept, Reading::in_step};
}

namespace {

// Copies n samples of a row, and the last one `more` times again; not again where to.step is 0, as one stored sample
// stands for all.
void copy_dense(const Column& from, std::uint32_t row, std::uint32_t n, std::uint32_t more, Column& to) {
  // All that is stored for the samples, windows' repeated edges included.
  const std::uint64_t stored = n == 0 ? 0 : (n - 1) * from.step + from.dim;
  const std::size_t each = size_of(from.element);
  const std::byte* const first = from.values.data() + from.begin[row] * each;
  const std::size_t bytes = static_cast<std::size_t>(stored) * each;
  to.begin.push_back(to.values.size() / each);
  to.values.append(first, bytes);
  // A window of a sequence of one frame holds only that frame, so each further window needs one more copy of it.
  const std::size_t step = static_cast<std::size_t>(to.step) * each;
  for (std::uint32_t i = 0; i < more && step != 0; ++i) to.values.append(first + bytes - step, step);
}

void copy_sparse(const Column& from, std::uint32_t row, std::uint32_t n, std::uint32_t times, Column& to) {
  const std::size_t each = size_of(from.element);
  for (std::uint32_t t = 0; t < times; ++t) {
    const std::uint32_t* begin = from.first_value.data() + from.first_sample[row];
    const std::uint32_t count = begin[n] - begin[0];
    const std::uint32_t at = expect_offset(std::uint64_t{to.indices.size()} + count) - count;
    to.values.append(from.values.data() + begin[0] * each, count * each);
    to.indices.append(from.indices.data() + begin[0], count);
    for (std::uint32_t i = 1; i <= n; ++i) to.first_value.push_back(at + (begin[i] - begin[0]));
  }
}

// Appends a row of `from` to `to`, an empty one if `from` is null: at most `most` samples; with `repeat` a single
// sample `length` times.
void copy_row(bool repeat, const Column* from, std::uint32_t row, std::uint32_t length, std::uint32_t most,
              Column& to) {
  if (from == nullptr) {
    to.begin.push_back(0);
    to.first_sample.push_back(to.first_sample.back());
    return;
  }
  std::uint32_t samples = std::min(from->samples(row), most);
  repeat = repeat && samples == 1;
  if (from->storage == Storage::dense) {
    copy_dense(*from, row, samples, repeat && length > 1 ? length - 1 : 0, to);
  } else {
    copy_sparse(*from, row, samples, repeat ? length : 1, to);
  }
  if (repeat) samples = length;
  to.first_sample.push_back(expect_offset(std::uint64_t{to.first_sample.back()} + samples));
}

// Rows [first, ...) of a chunk of the secondary source.
struct Part {
  std::shared_ptr<const Chunk> kept;
  Chunk own;
  std::uint32_t first = 0;
  const Chunk& chunk() const noexcept { return kept ? *kept : own; }
};
using Parts = std::map<std::uint32_t, Part>;  // by chunk

Parts read_parts(const ChunkCache& cache, Reading reading, std::span<const Location> where) {
  Parts parts;
  for (std::size_t r = 0; r < where.size(); ++r) {
    const std::uint32_t chunk = where[r].chunk;
    if (chunk == Location::kNone || parts.contains(chunk)) continue;
    if (reading == Reading::kept) {
      parts.emplace(chunk, Part{.kept = cache.get(chunk), .own = {}});
      continue;
    }
    const auto last = std::find_if(where.rbegin(), where.rend(), [&](const Location& at) { return at.chunk == chunk; });
    const RowRange rows{where[r].row, last->row + 1};
    parts.emplace(chunk, Part{.kept = nullptr, .own = cache.read(chunk, rows), .first = rows.first});
  }
  return parts;
}

// How many of `where`, from the first on, stand one behind the other and are not too many samples.
std::size_t run_of(std::span<const Location> where) {
  constexpr std::uint64_t kMost = 1u << 16;  // samples; one sequence may have more
  const Location* last = nullptr;
  std::uint64_t samples = 0;
  for (std::size_t r = 0; r < where.size(); ++r) {
    const Location& at = where[r];
    if (at.chunk == Location::kNone) continue;
    samples += at.samples;
    if (last != nullptr && (at.chunk != last->chunk || at.row != last->row + 1 || samples > kMost)) return r;
    last = &at;
  }
  return where.size();
}

// Reserves memory, so that nothing grows row by row: for `rows` rows of the mean size of all rows in `parts`, and for
// no more than these take together, as a few rows may be most of it.
void make_room(const Parts& parts, std::size_t s, std::size_t rows, Column& to) {
  std::size_t all = 0, values = 0, indices = 0, firsts = 0;
  for (const auto& [chunk, part] : parts) {
    const Column& from = part.chunk().columns[s];
    all += from.first_sample.size() - 1;
    values += from.values.size();
    indices += from.indices.size();
    firsts += from.first_value.size();
  }
  const auto share = [&](std::size_t n) { return rows >= all ? n : static_cast<std::size_t>(mul_sat(n, rows) / all); };
  to.values.reserve(share(values));
  if (to.storage == Storage::dense) {
    to.begin.reserve(rows);
  } else {
    to.first_value.reserve(share(firsts) + 1);
    to.indices.reserve(share(indices));
  }
}

// Appends rows [from, to) of what is wanted, which are in `parts`.
void append(const std::vector<StreamInfo>& streams, const Parts& parts, const Wanted& wanted, std::size_t from,
            std::size_t to, std::size_t first, Chunk& out) {
  for (std::size_t s = 0; s < streams.size(); ++s) {
    Column& column = out.columns[first + s];
    const bool broadcast = streams[s].broadcast;  // one stored sample stands for all of each row
    // Not where rows come in runs: those of later runs are not known yet.
    if (from == 0 && to == wanted.where.size()) make_room(parts, s, to, column);
    for (std::size_t r = from; r < to; ++r) {
      const Location& at = wanted.where[r];
      const std::uint32_t length = wanted.samples[r];
      if (at.chunk == Location::kNone) {
        copy_row(false, nullptr, 0, length, 0, column);
        continue;
      }
      const Part& part = parts.at(at.chunk);
      const Column& from_column = part.chunk().columns[s];
      column.step = broadcast ? 0 : from_column.step;
      copy_row(wanted.repeat || broadcast, &from_column, at.row - part.first, length,
               broadcast        ? 1
               : wanted.no_more ? length
                                : ~0u,
               column);
    }
  }
  for (std::size_t r = from; r < to; ++r) {
    const Location& at = wanted.where[r];
    if (at.chunk == Location::kNone) continue;
    const Part& part = parts.at(at.chunk);
    const std::uint32_t row = at.row - part.first;
    if (!part.chunk().is_invalid(row)) continue;
    if (out.invalid.empty()) out.invalid.resize(wanted.where.size(), Chunk::kValid);
    out.invalid[r] = std::max(out.invalid[r], part.chunk().invalid[row]);
  }
}

}  // namespace

void fetch(const Source& source, const ChunkCache& cache, Reading reading, const Wanted& wanted, std::size_t first,
           Chunk& out) {
  const std::vector<StreamInfo>& streams = source.streams();
  const std::size_t rows = wanted.where.size();
  for (std::size_t s = 0; s < streams.size(); ++s) {
    out.columns[first + s].reset(streams[s]);
    out.columns[first + s].first_sample.reserve(rows + 1);
  }
  for (std::size_t from = 0; from < rows;) {
    const auto left = wanted.where.subspan(from);
    const std::size_t to = from + (reading == Reading::run_by_run ? run_of(left) : left.size());
    Parts parts = read_parts(cache, reading, wanted.where.subspan(from, to - from));
    append(streams, parts, wanted, from, to, first, out);
    for (auto& [chunk, part] : parts) {
      if (!part.kept) cache.give_back(std::move(part.own));
    }
    from = to;
  }
}

}  // namespace batchfeed::join
