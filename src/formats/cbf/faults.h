// SPDX-License-Identifier: MIT
//
// Faults of this format, located by byte. Cold code, kept out of the loops.
#pragma once

#include <batchfeed/error.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace batchfeed::cbf {

// Makes faults for one file.
class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) {}

  Fault make(std::string_view id, std::uint64_t byte, std::string what, std::string hint = {},
             std::string stream = {}) const {
    return {.kind = FaultKind::format,
            .id = std::string(id),
            .at = {.file = file_, .byte = byte, .has_byte = true},
            .what = std::move(what),
            .hint = std::move(hint),
            .stream = std::move(stream)};
  }
  [[noreturn]] void fail(std::string_view id, std::uint64_t byte, std::string what, std::string hint = {},
                         std::string stream = {}) const {
    throw Error(make(id, byte, std::move(what), std::move(hint), std::move(stream)));
  }
  // A bound of limits.h, `field`, was exceeded.
  [[noreturn]] void over_limit(std::string_view id, std::uint64_t byte, const std::string& what, std::uint64_t found,
                               std::uint64_t limit, const std::string& field) const {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = std::string(id),
                      .at = {.file = file_, .byte = byte, .has_byte = true},
                      .what = what + ": " + std::to_string(found) + ", the limit is " + std::to_string(limit),
                      .hint = "raise limits." + field});
  }

 private:
  std::string file_;
};

// Whether the bytes are UTF-8 as Unicode defines it: shortest forms, no surrogates.
bool is_utf8(std::string_view text);

// A name out of a file, fit for a message: clipped, odd bytes as \xNN.
std::string printable(std::string_view name);

}  // namespace batchfeed::cbf
