// SPDX-License-Identifier: MIT
//
// Allocations of a whole program, counted, or failing when it is their turn. Linking this
// replaces the global operators and aligned_alloc, which buffers ask.
#pragma once

#include <atomic>
#include <cstdint>

namespace batchfeed::testing {

extern std::atomic<std::uint64_t> allocations;  // so far
// Until one fails; negative: none does.
extern std::atomic<std::int64_t> allocations_left;
extern std::atomic<bool> allocation_failed;

}  // namespace batchfeed::testing
