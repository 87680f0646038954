// SPDX-License-Identifier: MIT
//
// Options for label files that come without a configuration, out of the files.
#pragma once

#include <batchfeed/options.h>

#include "model/open_context.h"

namespace batchfeed::mlf {

// Sets `binary`, `dim` and, of text whose fourth column is not the class
// everywhere, `labels`: the names in ascending order, unless `labels` or
// `mapping_file` tells them. Reads all of the files. Throws Error.
void infer(MlfOptions& options, const OpenContext& context);

}  // namespace batchfeed::mlf
