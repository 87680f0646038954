// SPDX-License-Identifier: MIT
//
// Options for Kaldi files that come without any, out of the files.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <string>

#include "model/open_context.h"

namespace batchfeed::kaldi {

// Whether the first object is integers. Throws Error.
bool holds_alignments(const std::string& path, const OpenContext& context);

// One more than the largest integer of the files. Reads all of them. Throws Error.
std::uint64_t count_classes(const KaldiOptions& options, const OpenContext& context);

}  // namespace batchfeed::kaldi
