// SPDX-License-Identifier: MIT
#include "io/folder.h"

#include <dirent.h>
#include <unistd.h>

#include <memory>

namespace batchfeed::io {

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

void remove_flat(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return;
  for (const std::string& name : names_in(path)) ::unlink((path + '/' + name).c_str());
  ::rmdir(path.c_str());
}

}  // namespace batchfeed::io
