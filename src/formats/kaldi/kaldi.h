// SPDX-License-Identifier: MIT
//
// Kaldi feature matrices and alignments as a source
// (docs/reference/formats/kaldi.md).
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <memory>

#include "model/open_context.h"

namespace batchfeed::kaldi {

// Indexes the files. Throws Error.
std::unique_ptr<Source> open(const KaldiOptions& options, const OpenContext& context);

}  // namespace batchfeed::kaldi
