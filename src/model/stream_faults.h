// SPDX-License-Identifier: MIT
//
// Faults of a source's streams: their options, and limits on their size.
#pragma once

#include <batchfeed/limits.h>

#include <cstdint>
#include <string>

namespace batchfeed {

// Throws Error(config): what is wrong with the options of a stream. `file`: the one they do not fit, if any.
[[noreturn]] void bad_options(const std::string& stream, const char* id, std::string what, std::string hint = {},
                              const std::string& file = {});

// Throws Error(limit) if a stream may not be so wide.
void expect_dim(const std::string& stream, std::uint64_t dim, const Limits& limits);

[[noreturn]] void chunk_too_large();
// Offsets of samples and values in a column have 32 bits: throws Error(limit) for a larger one.
inline std::uint32_t expect_offset(std::uint64_t at) {
  if (at > 0xFFFFFFFFu) chunk_too_large();
  return static_cast<std::uint32_t>(at);
}

}  // namespace batchfeed
