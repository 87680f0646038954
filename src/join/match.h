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
  std::vector<ChunkInfo> chunks;                // those that have sequences left
  std::vector<std::uint32_t> primary_chunk;     // of each of them
  std::vector<std::uint64_t> first;             // of each of them: where its row 0 is in `samples` and `partners`
  std::vector<std::uint32_t> samples;           // per row of the primary: nominal length, 0 = left out
  std::vector<std::vector<Location>> partners;  // per secondary, per row of the primary
  std::vector<std::uint64_t> left_out;          // numbers of sequences of the primary, counted over its chunks
  std::vector<Notice> notices;

  // Rows of a chunk in `samples` and `partners`.
  std::uint64_t rows_of(std::uint32_t chunk) const {
    return (chunk + 1 < first.size() ? first[chunk + 1] : samples.size()) - first[chunk];
  }
};

// `sizing`: the source whose stream has definesMBSize. Throws Error(config) if nothing or, where Options::exact,
// less than half is left; Error(format) where frames are too few.
Matches match(const Sources& sources, std::optional<std::size_t> sizing, const Options& options);

// The matches once the primary has left out before.left_out, and nothing else, and cut its chunks anew: row i of a
// chunk is then its i-th sequence.
Matches cut_again(const Source& primary, Matches before);

}  // namespace batchfeed::join
