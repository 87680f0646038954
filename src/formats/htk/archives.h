// SPDX-License-Identifier: MIT
//
// Checks the parameter files that the utterances of an index are in. Each is opened once; one about which there is
// something to report may be opened twice.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/htk/index.h"

namespace batchfeed::htk {

// What a parameter file holds.
struct Held {
  std::uint64_t frames = 0;
  bool damaged = false;  // which has been reported
  // Opened before, to count its frames, and is_usual() beside the first file that was opened so: if that is the one
  // that all are compared with, this one need not be opened again. Its identity is in the index.
  bool usual = false;
};

class Archive;

// Whether there is nothing to report of an archive, and it has the dimension, kind and period of `first`.
bool is_usual(const Archive& archive, const Header& first);

// Opens the files of the index and fills in its identities and, from the first, its header. Returns a Held for each of
// its paths; `known`: those of the first paths, found before. Damage goes to `faults`; throws Error(io) that names the
// first few files that cannot be opened.
std::vector<Held> look_at_archives(Index& index, const HtkOptions& options, const OpenContext& context,
                                   FaultSink& faults, std::vector<Held> known);

// The fault of a file that a list names, with the line of the list, which helps more than the file's name alone.
Fault listed(Fault fault, const Position& at, const std::string& key, const HtkOptions& options,
             const FileSystem& file_system);

}  // namespace batchfeed::htk
