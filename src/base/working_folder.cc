// SPDX-License-Identifier: MIT
#include "base/working_folder.h"

#include <climits>
#include <filesystem>
#include <system_error>

namespace batchfeed {

std::string working_folder() {
  std::error_code none;
  std::string folder = std::filesystem::current_path(none).string();
  return !none && std::filesystem::equivalent(folder, ".", none) ? folder : std::string();
}

std::string from_anywhere(const std::string& path) {
  constexpr std::size_t kTemporary = 11;
  const std::string folder = path.empty() || path.starts_with('/') ? std::string() : working_folder();
  return folder.empty() || folder.size() + 1 + path.size() + kTemporary >= PATH_MAX ? path : folder + '/' + path;
}

}  // namespace batchfeed
