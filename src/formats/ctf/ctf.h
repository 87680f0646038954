// SPDX-License-Identifier: MIT
//
// The CNTK text format: one line is a row of samples "|name values", rows with
// one id are a sequence (docs/reference/formats/ctf.md).
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <memory>
#include <string>

#include "model/open_context.h"

namespace batchfeed::ctf {

// Opens one file (shards are put together above). Throws Error.
std::unique_ptr<Source> open(const CtfOptions& options, const std::string& file, const OpenContext& context);

}  // namespace batchfeed::ctf
