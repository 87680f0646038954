// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>

#include "assemble/open.h"
#include "io/path_policy.h"

namespace batchfeed::assemble {

namespace {

// That finds the files where they lie: of the folder nothing is a pattern.
std::string pattern_of(const std::string& name, const FileSystem& file_system) {
  const std::string place = io::located(name, file_system);
  std::string out;
  for (const char c : std::string_view(place).substr(0, place.size() - name.size())) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') out += '\\';
    out += c;
  }
  return out + name;
}

// A few links of a folder to itself make any number of folders, and glob() keeps the names of those it finds. To open
// one takes as long as to look at some hundred names. glob() says nothing of who asks to those it reads folders by.
constexpr std::uint64_t kBytesOfFolder = 512;
thread_local std::uint64_t names_left;
thread_local bool more_names;

struct Folder {
  ::DIR* entries;
  std::size_t name_bytes;
};

void count(std::uint64_t bytes) {
  more_names = more_names || bytes > names_left;
  names_left -= more_names ? 0 : bytes;
}

void* open_folder(const char* name) {
  count(kBytesOfFolder);
  if (more_names) return nullptr;
  ::DIR* const entries = ::opendir(name);
  if (entries == nullptr) return nullptr;
  auto* const folder = new (std::nothrow) Folder{entries, std::strlen(name)};
  if (folder == nullptr) ::closedir(entries);
  return folder;
}

::dirent* next_entry(void* folder) {
  const Folder& in = *static_cast<Folder*>(folder);
  ::dirent* const entry = more_names ? nullptr : ::readdir(in.entries);
  if (entry == nullptr || std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) return entry;
  count(in.name_bytes + 1 + std::strlen(entry->d_name));
  return more_names ? nullptr : entry;
}

void close_folder(void* folder) {
  const std::unique_ptr<Folder> owner(static_cast<Folder*>(folder));
  ::closedir(owner->entries);
}

// `left` is what may be looked at, and then what is left of that.
std::vector<std::string> matching(const std::string& name, const FileSystem& file_system, const Limits& limits,
                                  std::uint64_t& left) {
  const std::size_t folder = io::located(name, file_system).size() - name.size();  // which the user has not named
  ::glob_t found{};
  found.gl_opendir = open_folder;
  found.gl_readdir = next_entry;
  found.gl_closedir = close_folder;
  found.gl_stat = [](const char* path, struct ::stat* out) { return ::stat(path, out); };
  found.gl_lstat = [](const char* path, struct ::stat* out) { return ::lstat(path, out); };
  const std::unique_ptr<::glob_t, decltype(&::globfree)> owner(&found, &::globfree);
  names_left = left;
  more_names = false;
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
  if (failed != 0) return out;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i] + folder);
  std::sort(out.begin(), out.end());  // as glob() does but for the locale
  return out;
}

}  // namespace

// Shell patterns in the list of files become the files they name, sorted. A name
// that exists is never a pattern.
std::vector<std::string> expand(const std::vector<std::string>& names, const FileSystem& file_system,
                                const Limits& limits) {
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
    const std::vector<std::string> found = remote ? file_system.glob(name) : matching(name, file_system, limits, left);
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
