// SPDX-License-Identifier: MIT
//
// The parameter files that the utterances of an index are in, each opened once.
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
};

// Looks at all of them and fills in the index's identities and, from the first, its header. One for each of
// its paths. Damage goes to `faults`; throws Error(io) that names the first few of those that cannot be opened.
std::vector<Held> look_at_archives(Index& index, const HtkOptions& options, const OpenContext& context,
                                   FaultSink& faults);

// The fault of a file that a list names: the list's line helps more than the file's name alone.
Fault listed(Fault fault, const Position& at, const std::string& key, const FileSystem& file_system);

}  // namespace batchfeed::htk
