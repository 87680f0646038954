// SPDX-License-Identifier: MIT
#include "base/working_folder.h"

#include <filesystem>
#include <system_error>

namespace batchfeed {

std::string working_folder() {
  std::error_code none;
  std::string folder = std::filesystem::current_path(none).string();
  return !none && std::filesystem::equivalent(folder, ".", none) ? folder : std::string();
}

}  // namespace batchfeed
