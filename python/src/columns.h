// SPDX-License-Identifier: MIT
//
// Arrays from Python as the columns of a chunk, or as a stream of a minibatch.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>

#include <vector>

#include "bindings.h"

namespace batchfeed::python {

// For each stream a tuple: values (of the stream's element), lengths (uint32, one a
// sequence), and of a sparse stream indices (int32) and indptr (uint32, samples + 1).
// Throws nb::value_error if they do not fit each other.
void fill(const std::vector<StreamInfo>& streams, nb::handle columns, Chunk& out);
// Appends the arrays as they are to a stream whose storage and element are set. Only a sparse stream takes `indices`
// and `sample_begin`.
void fill(nb::handle values, nb::handle offsets, nb::handle indices, nb::handle sample_begin, StreamBatch& out);

}  // namespace batchfeed::python
