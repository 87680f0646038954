// SPDX-License-Identifier: MIT
//
// The parameter files that the utterances of an index are in, each opened once, unless there is something odd about it.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/htk/index.h"

namespace batchfeed::htk {

// What one of them holds.
struct Held {
  std::uint64_t frames = 0;
  bool damaged = false;  // which has been reported
  // Opened before, to count its frames: there is nothing to tell of it, and what all files must have in common it has
  // in common with the first that was opened so. Its identity is in the index.
  bool usual = false;
};

class Archive;

// Whether an archive is so beside the first one.
bool is_usual(const Archive& archive, const Header& first);

// Looks at all of them and fills in the index's identities and, from the first, its header. One for each of
// its paths; `known`: of the first few of them, or all. Damage goes to `faults`; throws Error(io) that names the first
// few of those that cannot be opened.
std::vector<Held> look_at_archives(Index& index, const HtkOptions& options, const OpenContext& context,
                                   FaultSink& faults, std::vector<Held> known);

// The fault of a file that a list names: the list's line helps more than the file's name alone.
Fault listed(Fault fault, const Position& at, const std::string& key, const HtkOptions& options,
             const FileSystem& file_system);

}  // namespace batchfeed::htk
