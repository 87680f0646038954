// SPDX-License-Identifier: MIT
#include "io/path_policy.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/counted.h"
#include "base/words.h"

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

namespace {

// Whether a path is a folder or lies in it: "/data" holds "/data/a", not "/data2".
bool holds(std::string_view folder, std::string_view path) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// A URL as the code that fetches it may read it: escapes decoded, also of escapes (%252e), '\' as '/', no line ends.
std::string decoded(std::string_view url) {
  std::string out;
  for (const char given : url) {
    out += given;
    while (out.size() >= 3 && out[out.size() - 3] == '%') {
      const char* const end = out.data() + out.size();
      unsigned code = 0;
      if (std::from_chars(end - 2, end, code, 16).ptr != end) break;
      out.resize(out.size() - 2);
      out.back() = static_cast<char>(code);
    }
    if (out.back() == '\\') out.back() = '/';
    if (out.back() == '\t' || out.back() == '\n' || out.back() == '\r') out.pop_back();
  }
  return out;
}

bool climbs(std::string_view url) {
  const std::string text = decoded(url);
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of("/?#;"), rest.size());
    if (rest.substr(0, end) == "..") return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// Whether a URL names a local file, also through others, as in zip://a.ctf::file:///b.zip. Links would be followed.
bool names_local_file(std::string_view url) {
  const std::string text = decoded(url);
  for (std::string_view rest = text;;) {
    const std::string scheme = lower(rest.substr(0, rest.find(':')));
    if (scheme == "file" || scheme == "local") return true;
    const std::size_t next = rest.find("::");
    if (next == rest.npos) return false;
    rest.remove_prefix(next + 2);
  }
}

std::string resolved(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  return error ? std::string() : real.string();
}

}  // namespace

std::string located(const std::string& path, const FileSystem& file_system) {
  const bool relative = !path.empty() && path.front() != '/' && !is_url(path);
  return relative && !file_system.folder.empty() ? file_system.folder + '/' + path : path;
}

std::string resolve_in_roots(const std::string& path, const FileSystem& file_system, const Position& at) {
  const bool url = is_url(path), local = url && names_local_file(path);
  const auto& roots = file_system.roots;
  std::string real = url ? path : resolved(located(path, file_system));
  const bool inside = !real.empty() && !(url && (local || climbs(real))) &&
                      std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
                        const std::string folder = is_url(root) ? root : resolved(located(root, file_system));
                        return is_url(root) == url && !folder.empty() && holds(folder, real) &&
                               !(url && real.find("::", root.size()) != real.npos);  // its last part may lead elsewhere
                      });
  if (inside) return real;
  throw Error(Fault{.kind = FaultKind::io,
                    .id = "io.outside-roots",
                    .at = at,
                    .what = "'" + path + "'" + (real.empty() || real == path ? "" : " is '" + real + "', and") +
                            " lies outside the folders that may be read",
                    .hint = local ? "name a local file by its path, not by a URL"
                                  : "allow its folder too (`roots = DIR`), or do not name it"});
}

namespace {
// Without escapes, as glob() reads the folders of a pattern.
std::string unescaped(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') ++i;
    if (i < pattern.size()) out += pattern[i];
  }
  return out;
}
}  // namespace

void expect_in_roots(const std::string& pattern, const FileSystem& file_system) {
  if (file_system.roots.empty()) return;
  const std::size_t first = pattern.find_first_of("*?[");
  if (is_url(pattern)) {
    const std::string front = pattern.substr(0, pattern.rfind('/', first) + 1);
    resolve_in_roots(climbs(pattern) ? pattern : front, file_system, {.file = pattern});
    return;
  }
  const std::filesystem::path behind = unescaped(std::string_view(pattern).substr(first));
  if (std::find(behind.begin(), behind.end(), "..") != behind.end()) {
    throw Error(Fault{.kind = FaultKind::io,
                      .id = "io.outside-roots",
                      .at = {.file = pattern},
                      .what = "a pattern with '..' behind a '*' may lead out of the folders that may be read",
                      .hint = "name the folder in front of the '*'"});
  }
  const std::string front = unescaped(std::string_view(pattern).substr(0, first)) + 'x';
  resolve_in_roots(std::string(directory_of(front)), file_system, {.file = pattern});
}

void expect_no_way_out(const std::vector<std::string>& found, const std::string& pattern,
                       const FileSystem& file_system) {
  for (const std::string& name : found) {
    try {
      if (!file_system.roots.empty()) resolve_in_roots(name, file_system, {.file = pattern});
    } catch (const Error& error) {
      if (error.fault().id != "io.outside-roots") throw;
      throw Error(Fault{.kind = FaultKind::io,
                        .id = "io.outside-roots",
                        .at = {.file = pattern},
                        .what = "the pattern follows a link that lies outside the folders that may be read",
                        .hint = "allow that folder too (`roots = DIR`), or do not follow the link"});
    }
  }
}

std::uint32_t FileNumbers::operator()(const std::string& path, const Position& at) {
  if (path.size() >= PATH_MAX && !is_url(path)) {
    throw Error(Fault{
        .kind = FaultKind::io,
        .id = "io.long-path",
        .at = at,
        .what = "the path has " + counted(path.size(), "byte") + ", expected at most " + std::to_string(PATH_MAX - 1),
        .hint = "the system takes no longer one; name it by a link to its folder"});
  }
  if (const auto found = names_.find(path)) return static_cast<std::uint32_t>(*found);
  if (!file_system_.roots.empty()) resolve_in_roots(path, file_system_, at);
  paths_.push_back(path);
  return static_cast<std::uint32_t>(names_.number(path));
}

std::string_view directory_of(std::string_view path) noexcept {
  const std::size_t slash = path.find_last_of("/\\");
  if (slash == path.npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string map_beside(std::string_view path, std::string_view list, const FileSystem& file_system) {
  if (is_url(path) || is_url(list)) return {};
  const std::string_view name = path.substr(path.find_last_of("/\\") + 1),
                         folder = path.substr(0, path.size() - name.size());
  const std::string to = std::string(directory_of(list)) + '/';
  std::error_code none;
  if (folder == to || name.empty() || std::filesystem::exists(located(std::string(path), file_system), none) ||
      !std::filesystem::is_regular_file(located(to + std::string(name), file_system), none))
    return {};
  // The FROM of a rule must not be empty, and ends at the first '='.
  const std::string_view from = folder.empty() ? name : folder;
  if (from.find('=') != from.npos) return {};
  return std::string(from) + '=' + to + (folder.empty() ? std::string(name) : std::string());
}

std::string path_in_list(std::string_view path, std::string_view directory_of_list) {
  if (!is_url(directory_of_list) || is_url(path) || path.starts_with('/')) return std::string(path);
  return std::string(directory_of_list) + '/' + std::string(path);
}

}  // namespace batchfeed::io
