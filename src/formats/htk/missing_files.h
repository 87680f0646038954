// SPDX-License-Identifier: MIT
//
// Files of a list that cannot be opened, of which there may be any number: an exception for each takes longest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
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

  // Those that are told together: the first few are named.
  void keep(Fault fault) {
    if (++kept_ <= kNamed) named_.push_back(std::move(fault));
  }
  // Throws what was kept, if anything, of so many files listed.
  void refuse(std::size_t files) {
    if (named_.empty()) return;
    Fault fault = named_.front();
    if (kept_ > 1) {
      fault.what +=
          "; so it is with " + std::to_string(kept_ - 1) + " more of the " + counted(files, "file") + " listed";
      for (std::size_t i = 1; i < named_.size(); ++i) fault.what += (i == 1 ? ": " : ", ") + named_[i].at.file;
    }
    throw Error(std::move(fault));
  }

 private:
  static constexpr std::uint64_t kMany = 16, kNamed = 4;

  const FileSystem& file_system_;
  std::uint64_t in_a_row_ = 0;
  std::optional<Fault> last_;  // of the file that was asked for last
  std::vector<Fault> named_;
  std::uint64_t kept_ = 0;
};

}  // namespace batchfeed::htk
