// SPDX-License-Identifier: MIT
//
// Names of streams that hardly any sequence has: a slip of whoever wrote the file,
// as a reader gives no sequence that lacks a declared stream.
#pragma once

#include <batchfeed/tools.h>

namespace batchfeed {

// Moves streams that fewer than one sequence in ten has to `rare`.
void set_rare_apart(Inferred& inferred);

}  // namespace batchfeed
