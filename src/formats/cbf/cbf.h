// SPDX-License-Identifier: MIT
//
// CNTK binary format (docs/reference/formats/cbf.md): one file as a Source. Both
// layouts that call themselves version 1 are read, told apart by their first bytes.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <memory>
#include <string>

#include "model/open_context.h"

namespace batchfeed::cbf {

// Checks the header, the chunk table and the sequence lengths; data are checked
// as they are read. Keys are the ordinals of the sequences in the file, so the
// key mode must be numeric. Throws Error.
std::unique_ptr<Source> open(const CbfOptions& options, const std::string& file, const OpenContext& context);

}  // namespace batchfeed::cbf
