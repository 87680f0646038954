// SPDX-License-Identifier: MIT
#include "io/path_policy.h"

#include <string>

namespace batchfeed::io {

void check_data_path(std::string_view path, const Position& at) {
  const auto refuse = [&](const char* id, std::string what, std::string hint) {
    throw Error(Fault{.kind = FaultKind::io, .id = id, .at = at, .what = std::move(what), .hint = std::move(hint)});
  };
  if (path.empty()) refuse("io.no-path", "the entry names no file", {});
  if (path.find('\0') != path.npos) refuse("io.bad-path", "the file's name has a NUL byte", "is this a text file?");
  if (path.front() == '|' || path.back() == '|') {
    refuse("io.pipe", "'" + std::string(path) + "' is a command, expected a file",
           "batchfeed starts no programs; run it and list what it writes");
  }
  if (path == "-")
    refuse("io.stdin", "'-' is the standard input, expected a file",
           "data must be in a file that can be read at any offset");
}

std::string_view directory_of(std::string_view path) noexcept {
  const std::size_t slash = path.find_last_of("/\\");
  if (slash == path.npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

}  // namespace batchfeed::io
