// SPDX-License-Identifier: MIT
#include "io/path_policy.h"

#include <batchfeed/files.h>

#include <algorithm>
#include <string>

namespace batchfeed {

bool is_url(std::string_view name) noexcept {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inside = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-'; };
  const std::string_view scheme = name.substr(0, name.find(':'));
  const std::string_view behind = name.substr(scheme.size());
  return !scheme.empty() && letter(scheme[0]) && std::all_of(scheme.begin(), scheme.end(), inside) &&
         (behind.starts_with("://") || behind.starts_with("::"));
}

}  // namespace batchfeed

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

std::string path_in_list(std::string_view path, std::string_view directory_of_list) {
  if (!is_url(directory_of_list) || is_url(path) || path.starts_with('/')) return std::string(path);
  return std::string(directory_of_list) + '/' + std::string(path);
}

}  // namespace batchfeed::io
