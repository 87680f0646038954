// SPDX-License-Identifier: MIT
//
// Which sequences of the sources belong together, found once for the whole corpus (minibatch.md 2.1).
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "join/join.h"
#include "join/key_index.h"
#include "join/told.h"

namespace batchfeed::join {

struct Matches {
  std::vector<ChunkInfo> chunks;                // those of which sequences are left
  std::vector<std::uint32_t> primary_chunk;     // of each of them
  std::vector<std::uint64_t> first;             // of each of them: its row 0 below
  std::vector<std::uint32_t> samples;           // per row of the primary: nominal length, 0 = left out
  std::vector<std::vector<Location>> partners;  // per secondary, per row of the primary
  std::vector<std::uint64_t> left_out;          // sequences of the primary, counted over its chunks
  std::vector<Notice> notices;

  // Rows of a chunk that sequences are in.
  std::uint64_t rows_of(std::uint32_t chunk) const {
    return (chunk + 1 < first.size() ? first[chunk + 1] : samples.size()) - first[chunk];
  }
};

// `sizing`: the source whose stream has definesMBSize. Throws Error(config) if nothing or, where Options::exact,
// less than half is left; Error(format) where frames are too few.
Matches match(const Sources& sources, std::optional<std::size_t> sizing, const Options& options);

// The same where the primary, of which nothing but `before.left_out` went, has cut its chunks anew: row i of a chunk is
// its i-th sequence.
Matches cut_again(const Source& primary, Matches before);

}  // namespace batchfeed::join
