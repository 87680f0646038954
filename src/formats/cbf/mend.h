// SPDX-License-Identifier: MIT
//
// A chunk table that does not fit the data, computed from them; sparse entries that are
// out of order, sorted.
#pragma once

#include <batchfeed/fix.h>

#include <vector>

#include "io/atomic_file.h"
#include "io/file.h"

namespace batchfeed::cbf {

// Appends the mended file to `target`, which the caller commits. The number of sequences
// of each chunk is believed; together with the streams it says where chunks begin and end,
// and that must be where the header begins (in the older layout: the file ends). Throws
// Error otherwise.
std::vector<Fix> mend(const io::File& file, io::AtomicFile& target, const FixOptions& options);

// The same of the older layout alone. A table that fits is left as it is.
std::vector<Fix> mend_legacy(const io::File& file, io::AtomicFile& target, const FixOptions& options);

}  // namespace batchfeed::cbf
