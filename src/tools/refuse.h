// SPDX-License-Identifier: MIT
//
// What a conversion cannot write, or was asked for in a way that cannot be.
#pragma once

#include <batchfeed/error.h>

#include <string>
#include <utility>

namespace batchfeed {

[[noreturn]] inline void refuse(const char* id, const std::string& file, std::string what, std::string hint,
                                const std::string& stream = {}) {
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = id,
                    .at = {.file = file},
                    .what = std::move(what),
                    .hint = std::move(hint),
                    .stream = stream});
}

inline void expect_source(const void* source) {
  if (source == nullptr) refuse("tools.null-source", {}, "a source is null", "give one");
}

}  // namespace batchfeed
