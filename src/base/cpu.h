// SPDX-License-Identifier: MIT
//
// Which vector code may run: kernels exist for some sets of instructions and differ in time alone.
#pragma once

#include <string_view>

namespace batchfeed {

// "scalar", "avx2", "avx512" or "neon": the best tier that the CPU has and `wanted` allows (other words and
// nothing mean the best there is).
std::string_view cpu_tier(std::string_view wanted) noexcept;
// What the environment variable BATCHFEED_CPU wants; nothing if it is not set.
std::string_view forced_tier() noexcept;

}  // namespace batchfeed
