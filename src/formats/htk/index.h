// SPDX-License-Identifier: MIT
//
// What an scp file says there is: utterances, the archives they are in, and the
// cut into chunks. Every archive is opened once, so that what is missing or does
// not fit is known before the first minibatch.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <string>
#include <vector>

#include "formats/htk/header.h"
#include "model/fault_sink.h"
#include "model/open_context.h"

namespace batchfeed::htk {

struct Utterance {
  std::uint64_t key = 0;
  std::uint32_t file = 0;   // of Index::paths
  std::uint32_t first = 0;  // frame of the archive
  std::uint32_t frames = 0;
  std::uint32_t line = 0;  // of its scp file; the largest number if it has more lines
};

struct Index {
  std::vector<std::string> paths;
  std::vector<io::Identity> identities;    // as paths; of those that utterances are read from
  std::vector<Utterance> utterances;       // kept ones, in the order of the lists
  std::vector<std::uint64_t> list_first;   // first utterance of each scp file, and the end
  std::vector<std::uint64_t> chunk_first;  // first utterance of each chunk, and the end
  Header header;                           // of the first archive: what all have in common
  std::vector<Notice> notices;             // counts of what was left out
  std::uint64_t too_long = 0;              // entries of the lists that were left out for their length
  std::string damage;                      // of the first file or line that was left out for it

  // Cuts chunks: each ends with the first utterance that takes it beyond `chunk_frames` (legacy: or at a number of
  // utterances).
  void cut(const HtkOptions& options);
  // Leaves out utterances by number, ascending, and cuts the others anew.
  void leave_out(const std::vector<std::uint64_t>& gone, const HtkOptions& options);

  // Where the scp file names an utterance.
  Position place(std::uint64_t utterance, const HtkOptions& options) const;
};

// Damage of a single line or file goes to `faults`, which throws unless it tolerates more.
Index build_index(const HtkOptions& options, const OpenContext& context, FaultSink& faults);

}  // namespace batchfeed::htk
