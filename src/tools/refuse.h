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

// The same for what only the data can tell, so that it is no fault of the caller's (usage).
[[noreturn]] inline void refuse_data(const char* id, const std::string& file, std::string what, std::string hint,
                                     const std::string& stream = {}) {
  throw Error(Fault{.kind = FaultKind::format,
                    .id = id,
                    .at = {.file = file},
                    .what = std::move(what),
                    .hint = std::move(hint),
                    .stream = stream});
}

// Runs `work`, which hands a sequence to a writer. The writer blames its caller (usage) for a bad one; in a conversion
// the data is to blame (format).
template <class Work>
void write_data(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.fault().kind != FaultKind::usage) throw;
    Fault fault = error.fault();
    fault.kind = FaultKind::format;
    throw Error(std::move(fault));
  }
}

inline void expect_source(const void* source) {
  if (source == nullptr) refuse("tools.null-source", {}, "a source is null", "give one");
}

}  // namespace batchfeed
