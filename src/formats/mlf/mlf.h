// SPDX-License-Identifier: MIT
//
// MLF labels, text or binary, as a source of sparse one-hot vectors
// (docs/reference/formats/mlf.md).
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <memory>

#include "model/open_context.h"

namespace batchfeed::mlf {

// Reads the state list and indexes the files. Throws Error.
std::unique_ptr<Source> open(const MlfOptions& options, const OpenContext& context);

}  // namespace batchfeed::mlf
