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
// of each chunk is believed; together with the streams it says where chunks begin and end.
// The last one must end where the header begins (in the older layout: where the file ends).
// Throws Error otherwise.
std::vector<Fix> mend(const io::File& file, io::AtomicFile& target, const FixOptions& options);

// mend() of a file of the older layout. A table that fits the data is left as it is.
std::vector<Fix> mend_legacy(const io::File& file, io::AtomicFile& target, const FixOptions& options);

}  // namespace batchfeed::cbf
