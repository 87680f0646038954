// SPDX-License-Identifier: MIT
//
// HTK feature archives as a source (docs/reference/formats/htk.md).
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <memory>

#include "model/open_context.h"

namespace batchfeed::htk {

// Reads the scp files and the header of every archive they name. Throws Error.
std::unique_ptr<Source> open(const HtkOptions& options, const OpenContext& context);

}  // namespace batchfeed::htk
