// SPDX-License-Identifier: MIT
//
// Counts all allocations of a program, and lets a chosen one fail. Linking allocations.cc
// replaces the global operators new and delete and aligned_alloc, from which Buffer allocates.
#pragma once

#include <atomic>
#include <cstdint>

namespace batchfeed::testing {

extern std::atomic<std::uint64_t> allocations;  // so far
// So many allocations succeed before one fails, and then none again; negative: none fails.
extern std::atomic<std::int64_t> allocations_left;
extern std::atomic<bool> allocation_failed;  // the chosen one did; the test resets it

}  // namespace batchfeed::testing
