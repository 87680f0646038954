// SPDX-License-Identifier: MIT
#include "io/folder.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

namespace batchfeed::io {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  struct Close {
    void operator()(DIR* dir) const { ::closedir(dir); }
  };
  const std::unique_ptr<DIR, Close> dir(::opendir(folder.c_str()));
  if (!dir) return out;
  while (const dirent* entry = ::readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe): the stream is our own
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  return out;
}

std::uint64_t size_or_none(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<std::uint64_t>(size);
}

namespace {

// When a file, or the youngest beneath a folder, was last written.
std::optional<fs::file_time_type> last_written(const std::string& path) {
  std::error_code error;
  fs::file_time_type out = fs::last_write_time(path, error);
  if (error) return {};
  for (const std::string& name : names_in(path)) {
    if (const auto written = last_written(path + '/' + name)) out = std::max(out, *written);
  }
  return out;
}

}  // namespace

void remove_leftovers(const std::string& target) {
  const std::size_t slash = target.rfind('/');
  const std::string folder = slash == std::string::npos ? "./" : target.substr(0, slash + 1);
  const std::string name = slash == std::string::npos ? target : target.substr(slash + 1);
  for (const std::string& other : names_in(folder)) {
    for (const std::string& prefix : {name + ".tmp.", name + ".keys.tmp."}) {
      if (other.size() != prefix.size() + 6 || other.compare(0, prefix.size(), prefix) != 0) continue;
      const auto written = last_written(folder + other);
      if (written && fs::file_time_type::clock::now() - *written > std::chrono::hours(1)) remove_tree(folder + other);
    }
  }
}

void remove_tree(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return;
  for (const std::string& name : names_in(path)) remove_tree(path + '/' + name);
  ::rmdir(path.c_str());
}

}  // namespace batchfeed::io
