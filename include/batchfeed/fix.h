// SPDX-License-Identifier: MIT
//
// Mends what can be mended in a file without guessing, into a new file.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/limits.h>
#include <batchfeed/tools.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace batchfeed {

struct FixOptions {
  bool force = false;                // replace an existing target
  std::uint64_t most = 100;          // places kept of each kind of repair
  std::optional<KeyMode> keys = {};  // text: how ids are compared; unset: as infer_ctf() finds
  bool skip_sequence_ids = false;    // text: each line is a sequence, whatever its id
  Limits limits = {};
  FileSystem file_system = {};  // of the file that is mended; the target is where it is named
  Progress progress = {};       // bytes; may throw to give up
};

// One kind of repair.
struct Fix {
  std::string id = {};    // "fix.line-end"; stable
  std::string what = {};  // "line ends CR LF became LF"
  std::uint64_t count = 0;
  std::vector<Position> places = {};  // in the old file, the first of them
};

// Text: a byte order mark goes, line ends become LF, the last line gets one, runs of
// lines with one id (as a reader with `keys` has it) are brought together behind the first
// of them, entries of a sparse sample are sorted by index (equal indices keep their order). All else is copied
// as it stands. Memory: 40 bytes for each run of lines with one id.
// Binary: the place of the header (modern layout) and the chunk table are computed from
// the data and the number of sequences that each chunk is said to have; entries of a
// sparse sample are sorted by index (equal indices keep their order); all else is copied.
// Throws Error for other formats, and for a binary file where the numbers do not agree with
// the data: then nothing is written. The target appears whole, also if there was nothing
// to mend. Returns the kinds of repair made, in this order; empty: a plain copy.
std::vector<Fix> fix_file(const std::string& path, const std::string& target, const FixOptions& options = {});

}  // namespace batchfeed
