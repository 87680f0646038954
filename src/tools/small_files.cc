// SPDX-License-Identifier: MIT
//
// Reads and writes small files, such as a reader's state.
#include <batchfeed/tools.h>

#include "io/atomic_file.h"
#include "io/file.h"

namespace batchfeed {

void save_file(const std::string& path, std::string_view bytes, bool replace) {
  io::AtomicFile file(path, {.replace = replace});
  file.append(bytes);
  file.commit();
}

void save_state(const std::string& path, std::string_view state) { save_file(path, std::string(state) + '\n'); }

std::string load_state(const std::string& path, const Limits& limits) {
  std::string text = io::read_whole(path, limits.state_bytes, "state_bytes");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace batchfeed
