// SPDX-License-Identifier: MIT
//
// Rows of a secondary source, copied to where the primary's chunk wants them.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "join/key_index.h"
#include "model/errors_ahead.h"

namespace batchfeed::join {

// Decoded chunks of one source, the last used ones kept up to a bound. Two
// threads that want one chunk decode it once. Thread-safe.
class ChunkCache {
 public:
  ChunkCache(const Source& source, std::uint64_t bytes) : source_(source), bytes_(bytes) {}
  std::shared_ptr<const Chunk> get(std::uint32_t chunk) const;

  // Reads a few rows of a chunk that has a row reader, and does not keep them; give_back()
  // returns their memory for the next read().
  Chunk read(std::uint32_t chunk, RowRange rows) const;
  void give_back(Chunk used) const;

 private:
  struct Slot {
    std::mutex loading;
    bool loaded = false;  // once it is, the chunk stays as it is
    Chunk chunk;
    ErrorsAhead errors;        // of its reading; count for the first chunk of the primary that needs it
    std::uint64_t memory = 0;  // guarded by mutex_
  };
  const Source& source_;
  std::uint64_t bytes_;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<std::uint32_t, std::shared_ptr<Slot>>> recent_;  // the last used first
  mutable std::unordered_map<std::uint32_t, decltype(recent_)::iterator> slots_;
  mutable std::vector<Chunk> spare_;
};

// How the chunks of a secondary source are read.
enum class Reading : std::uint8_t {
  kept,       // whole, and kept: any row may be wanted, and again
  in_step,    // rows are wanted in their order and once: only these are read
  run_by_run  // a few rows that stand together at a time, as a few bytes are many samples
};

// How to read for all rows of a chunk of the primary, and for some of them; none: that would take too long.
struct Readings {
  Reading whole = Reading::kept;
  std::optional<Reading> some;
};

// How to read a source of which `partners` are wanted, one after the other. `cache_bytes` as Options say.
Readings choose_readings(const Source& source, std::span<const Location> partners, std::uint64_t cache_bytes);

// Bytes of decoded chunks that are kept of a source: in proportion to its files, and not to what these claim.
std::uint64_t most_kept(const Source& source, std::uint64_t cache_bytes);

// What is wanted of a secondary source for rows of the primary.
struct Wanted {
  std::span<const Location> where;         // for each row; kNone: nothing
  std::span<const std::uint32_t> samples;  // the primary's for each row: how often a single sample is repeated
  bool no_more = false;                    // samples beyond the primary's are not wanted
  bool repeat = false;                     // a single sample is repeated in every stream
};

// Fills columns [first, first + streams) of `out` with the rows that are wanted. Damaged ones are marked.
void fetch(const Source& source, const ChunkCache& cache, Reading reading, const Wanted& wanted, std::size_t first,
           Chunk& out);

}  // namespace batchfeed::join
