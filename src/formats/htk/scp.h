// SPDX-License-Identifier: MIT
//
// One line of an scp file (docs/reference/formats/htk.md):
//   path | key=path | key=path[first,last]
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/limits.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchfeed::htk {

// Characters that are dropped around a path and around a key.
inline constexpr std::string_view kBlanks = " \t\r\v\f";

struct ScpEntry {
  std::string key;   // without its extension
  std::string path;  // as it is opened
  std::uint32_t first = 0;
  std::uint32_t frames = 0;
  bool whole = false;   // no range: all frames of the file
  bool blanks = false;  // there were blanks around `=` or before `[`, which were dropped
};

// How paths become those of this machine.
struct ScpRules {
  std::string prefix;     // normalised: ends in `/`; empty: none
  std::string directory;  // what `...` stands for: that of the scp file
  std::vector<std::pair<std::string, std::string>> path_map;
  Limits limits;
};

// prefixPathInSCP as it is used: `\` -> `/`, one `/` at the end.
std::string normalise_prefix(std::string_view prefix);

// A logical name without its extension, which begins at the last dot of its last component.
std::string_view without_extension(std::string_view name) noexcept;

// `line` has no line end. Throws Error(format, io or limit); `at` is the
// position of its first byte.
ScpEntry parse_scp_line(std::string_view line, const ScpRules& rules, const Position& at);

}  // namespace batchfeed::htk
