// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include "assemble/open.h"
#include "base/counted.h"
#include "io/descriptor.h"
#include "io/file.h"
#include "io/path_policy.h"

namespace batchfeed::assemble {

namespace {

// The pattern for glob(): `name` behind its folder, in which no character counts as a pattern.
std::string pattern_of(const std::string& name, const FileSystem& file_system) {
  const std::string place = io::located(name, file_system);
  std::string out;
  for (const char c : std::string_view(place).substr(0, place.size() - name.size())) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out + name;
}

// A few links of a folder to itself make any number of folders, and glob() keeps all names it finds, so the bytes of
// names are limited; opening a folder takes as long as some hundred names and counts as much. The state is
// thread_local, as glob() passes no context to its callbacks.
constexpr std::uint64_t kBytesOfFolder = 512;
thread_local std::uint64_t names_left;  // bytes
thread_local bool more_names;           // than the limit allows

struct Folder {
  ::DIR* entries;
  const char* name;  // glob() keeps it until it closes the folder
  std::size_t name_bytes;
};

void count(std::uint64_t bytes) {
  more_names = more_names || bytes > names_left;
  names_left -= more_names ? 0 : bytes;
}

// glob() silently passes over whatever the system fails to open or read, and the corpus would lack files: such a
// failure ends the search instead. Names that do not exist or are no folders are passed over as in the shell; so are
// folders without permission (as lost+found at the top of a disk), but with a warning.
thread_local int failure;
thread_local char failed_at[PATH_MAX];
thread_local std::uint64_t closed;  // folders or names without permission
thread_local char closed_at[PATH_MAX];

void look_at_failure(int error, const char* name) {
  if (failure != 0 || error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG) return;
  if (error == EACCES) {
    if (closed++ == 0) std::snprintf(closed_at, sizeof closed_at, "%s", name);
    return;
  }
  failure = error;
  std::snprintf(failed_at, sizeof failed_at, "%s", name);
}

void tell_closed(const std::string& pattern, std::size_t folder, const Report& report) {
  if (closed == 0 || !report) return;
  const std::string first = std::strlen(closed_at) > folder ? closed_at + folder : closed_at;
  std::string what = "'" + first + "' is closed to us";
  if (closed > 1) what += ", and " + counted(closed - 1, "other");
  report({.severity = Severity::warning,
          .fault = {.kind = FaultKind::io,
                    .id = "open.closed-folder",
                    .at = {.file = pattern},
                    .what = what + ": files that the pattern would name there are left out",
                    .hint = "make it readable, or name the folders that have the files"}});
}

bool is_over() { return more_names || failure != 0; }

void* open_folder(const char* name) {
  count(kBytesOfFolder);
  if (is_over()) return nullptr;
  ::DIR* entries = nullptr;
  const auto open = [&] { return (entries = ::opendir(name)) != nullptr ? 0 : -1; };
  if (io::open_making_room(open) != 0) {
    look_at_failure(errno, name);
    return nullptr;
  }
  auto* const folder = new (std::nothrow) Folder{entries, name, std::strlen(name)};
  if (folder != nullptr) return folder;
  ::closedir(entries);
  look_at_failure(ENOMEM, name);
  return nullptr;
}

// Skips `.` and `..`: a pattern such as `.?` would match them, and lead up the tree.
::dirent* next_entry(void* folder) {
  const Folder& in = *static_cast<Folder*>(folder);
  if (is_over()) return nullptr;
  ::dirent* entry = nullptr;
  do {
    errno = 0;
    entry = ::readdir(in.entries);
  } while (entry != nullptr && (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0));
  if (entry == nullptr) {
    look_at_failure(errno == 0 ? ENOENT : errno, in.name);
    return nullptr;
  }
  count(in.name_bytes + 1 + std::strlen(entry->d_name));
  return more_names ? nullptr : entry;
}

template <int (*Stat)(const char*, struct ::stat*)>
int look(const char* path, struct ::stat* out) {
  const int result = Stat(path, out);
  if (result != 0) look_at_failure(errno, path);
  return result;
}

void close_folder(void* folder) {
  const std::unique_ptr<Folder> owner(static_cast<Folder*>(folder));
  ::closedir(owner->entries);
}

// The local files that `name` matches, sorted. `left`: bytes of names that may still be looked at; reduced by those
// that were.
std::vector<std::string> matching(const std::string& name, const FileSystem& file_system, const Limits& limits,
                                  const Report& report, std::uint64_t& left) {
  // The length of the folder in front of the name, which the user has not written.
  const std::size_t folder = io::located(name, file_system).size() - name.size();
  ::glob_t found{};
  found.gl_opendir = open_folder;
  found.gl_readdir = next_entry;
  found.gl_closedir = close_folder;
  found.gl_stat = look<::stat>;
  found.gl_lstat = look<::lstat>;
  const std::unique_ptr<::glob_t, decltype(&::globfree)> owner(&found, &::globfree);
  names_left = left;
  more_names = false;
  failure = 0;
  closed = 0;
  std::vector<std::string> out;
  const int failed = ::glob(pattern_of(name, file_system).c_str(), GLOB_ALTDIRFUNC | GLOB_NOSORT, nullptr, &found);
  left = names_left;
  if (more_names) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.pattern",
                      .at = {.file = name},
                      .what = "the names and folders that patterns have to look at count more than " +
                              std::to_string(limits.pattern_bytes) + " bytes",
                      .hint = "name the folders that have the files, or raise limits.pattern_bytes"});
  }
  if (failure != 0) io::fail("open", std::strlen(failed_at) > folder ? failed_at + folder : name, failure);
  if (failed == GLOB_NOSPACE) throw std::bad_alloc();
  tell_closed(name, folder, report);
  if (failed != 0) return out;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i] + folder);
  std::sort(out.begin(), out.end());  // glob() itself would sort by the locale
  return out;
}

}  // namespace

// A name that exists is a file's, not a pattern; a pattern without matches stays, so that opening it says what is
// missing.
std::vector<std::string> expand(const std::vector<std::string>& names, const FileSystem& file_system,
                                const Limits& limits, const Report& report) {
  std::vector<std::string> out;
  std::uint64_t left = limits.pattern_bytes;
  for (const std::string& name : names) {
    if (name.find_first_of("*?[") == std::string::npos) {
      out.push_back(name);
      continue;
    }
    io::expect_in_roots(name, file_system);
    std::error_code none;
    if (std::filesystem::exists(io::located(name, file_system), none)) {
      out.push_back(name);
      continue;
    }
    const bool remote = file_system.glob && is_url(name);
    const std::vector<std::string> found =
        remote ? file_system.glob(name) : matching(name, file_system, limits, report, left);
    if (!remote) io::expect_no_way_out(found, name, file_system);
    out.insert(out.end(), found.begin(), found.end());
    if (found.empty()) out.push_back(name);
  }
  if (out.empty()) {
    throw Error(Fault{
        .kind = FaultKind::config, .id = "open.no-file", .what = "no file is given", .hint = "name at least one"});
  }
  return out;
}

}  // namespace batchfeed::assemble
