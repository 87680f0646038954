// SPDX-License-Identifier: MIT
#include <glob.h>

#include <filesystem>
#include <memory>

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

std::vector<std::string> matching(const std::string& name, const FileSystem& file_system) {
  const std::size_t folder = io::located(name, file_system).size() - name.size();  // which the user has not named
  ::glob_t found{};
  const std::unique_ptr<::glob_t, decltype(&::globfree)> owner(&found, &::globfree);
  std::vector<std::string> out;
  if (::glob(pattern_of(name, file_system).c_str(), 0, nullptr, &found) != 0) return out;
  for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i] + folder);
  return out;
}

}  // namespace

// Shell patterns in the list of files become the files they name, sorted. A name
// that exists is never a pattern.
std::vector<std::string> expand(const std::vector<std::string>& names, const FileSystem& file_system) {
  std::vector<std::string> out;
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
    const std::vector<std::string> found = remote ? file_system.glob(name) : matching(name, file_system);
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
