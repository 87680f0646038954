// SPDX-License-Identifier: MIT
//
// What ends a run whose sequences are damaged.
#pragma once

#include <cstdint>

namespace batchfeed::reader {

// Throws Error(format) where more sequences are damaged than are tolerated.
void expect_within(std::uint64_t invalid, std::uint64_t most);
// Throws Error(format): a whole sweep held only damaged sequences, and the run may have no end.
[[noreturn]] void all_damaged();

}  // namespace batchfeed::reader
