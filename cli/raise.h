// SPDX-License-Identifier: MIT
//
// Limits on the command line.
#pragma once

#include <batchfeed/limits.h>

#include <string>

namespace batchfeed::cli {

// --raise FIELD=N, as a fault names the field; throws UsageError.
void raise(Limits& limits, const std::string& rule);

}  // namespace batchfeed::cli
