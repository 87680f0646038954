// SPDX-License-Identifier: MIT
#include <glob.h>

#include <filesystem>

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
    std::error_code none;
    if (std::filesystem::exists(io::located(name, file_system), none)) {
      out.push_back(name);
      continue;
    }
    if (file_system.glob && is_url(name)) {
      const std::vector<std::string> found = file_system.glob(name);
      out.insert(out.end(), found.begin(), found.end());
      if (found.empty()) out.push_back(name);
      continue;
    }
    const std::size_t folder = io::located(name, file_system).size() - name.size();  // which the user has not named
    ::glob_t found{};
    if (::glob(pattern_of(name, file_system).c_str(), 0, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i] + folder);
    } else {
      out.push_back(name);
    }
    ::globfree(&found);
  }
  if (out.empty()) {
    throw Error(Fault{
        .kind = FaultKind::config, .id = "open.no-file", .what = "no file is given", .hint = "name at least one"});
  }
  return out;
}

}  // namespace batchfeed::assemble
