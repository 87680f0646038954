// SPDX-License-Identifier: MIT
//
// A reader's state on disk.
#include <batchfeed/tools.h>

#include "io/atomic_file.h"
#include "io/file.h"

namespace batchfeed {

void save_state(const std::string& path, std::string_view state) {
  io::AtomicFile file(path);
  file.append(state);
  file.append("\n");
  file.commit();
}

std::string load_state(const std::string& path, const Limits& limits) {
  std::string text = io::read_whole(path, limits.state_bytes, "state_bytes");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace batchfeed
