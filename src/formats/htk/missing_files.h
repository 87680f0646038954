// SPDX-License-Identifier: MIT
//
// Files of a list that cannot be opened, of which a check may meet any number: an exception for each takes longest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/file.h"

namespace batchfeed::htk {

class MissingFiles {
 public:
  explicit MissingFiles(const FileSystem& file_system) : file_system_(file_system) {}

  // Behind some files in a row that could not be opened: the fault of one more such file, without an exception.
  // Null: open it. Valid until the next call.
  const Fault* expected(const std::string& path) {
    if (in_a_row_ < kMany) return nullptr;
    if (!last_ || last_->at.file != path) last_ = io::cannot_open(path, file_system_);
    return last_ ? &*last_ : nullptr;
  }

  void opened() noexcept { in_a_row_ = 0; }
  void failed(const Fault& fault) noexcept { in_a_row_ = fault.id == "io.open" ? in_a_row_ + 1 : 0; }

 private:
  static constexpr std::uint64_t kMany = 16;

  const FileSystem& file_system_;
  std::uint64_t in_a_row_ = 0;
  std::optional<Fault> last_;  // of the file that was asked for last
};

}  // namespace batchfeed::htk
