// SPDX-License-Identifier: MIT
//
// What can be mended in text without knowing its streams.
#pragma once

#include <batchfeed/fix.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"
#include "io/file.h"

namespace batchfeed::ctf {

// Appends the mended text to `target`, which the caller commits.
std::vector<Fix> mend(const io::File& file, io::AtomicFile& target, const FixOptions& options);

// Appends a line to `out`, the entries of every sparse sample in ascending order of
// their indices; returns how many samples had to be sorted.
std::size_t sort_entries(std::string_view line, std::string& out);

}  // namespace batchfeed::ctf
