// SPDX-License-Identifier: MIT
//
// `batchfeed read --explain K`: where the sequences of one minibatch come from.
#pragma once

#include <batchfeed/reader.h>

#include <cstdint>
#include <string>

namespace batchfeed::cli {

// Explains minibatch `k` of the reader's current epoch, on every rank: as text, or as one line
// of JSON. Reads indexes and places, no data. Throws UsageError if no rank has so many minibatches.
std::string explain(Reader& reader, std::uint64_t k, bool json);

}  // namespace batchfeed::cli
