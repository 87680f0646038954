// SPDX-License-Identifier: MIT
//
// Arrays from Python as the columns of a chunk. batchfeed._columns has made them
// fit: this only copies.
#pragma once

#include <batchfeed/source.h>

#include <vector>

#include "bindings.h"

namespace batchfeed::python {

// For each stream a tuple: values (of the stream's element), lengths (uint32, one a
// sequence), and of a sparse stream indices (int32) and indptr (uint32, samples + 1).
void fill(const std::vector<StreamInfo>& streams, nb::handle columns, Chunk& out);

}  // namespace batchfeed::python
