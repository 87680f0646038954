// SPDX-License-Identifier: MIT
//
// `batchfeed read --explain K`: where the sequences of one minibatch come from.
#pragma once

#include <batchfeed/reader.h>

#include <cstdint>
#include <string>

namespace batchfeed::cli {

// Of minibatch `k` of the epoch that `reader` stands in, on every rank. As text,
// or as one line of JSON. Reads indexes and places, no data.
std::string explain(Reader& reader, std::uint64_t k, bool json);

}  // namespace batchfeed::cli
