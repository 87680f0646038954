// SPDX-License-Identifier: MIT
//
// What sources say of the options of their streams.
#pragma once

#include <batchfeed/limits.h>

#include <cstdint>
#include <string>

namespace batchfeed {

// Throws Error(config): what is wrong with the options of a stream.
[[noreturn]] void bad_options(const std::string& stream, const char* id, std::string what, std::string hint = {});

// Throws Error(limit) if a stream may not be so wide.
void expect_dim(const std::string& stream, std::uint64_t dim, const Limits& limits);

}  // namespace batchfeed
