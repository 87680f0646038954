// SPDX-License-Identifier: MIT
//
// Files of a list that cannot be opened. There may be any number of them, and an exception for each would take most of
// the time.
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

  // Called before a file is opened. After kMany files in a row that could not be: tries this one and returns its fault,
  // without an exception; valid until the next call. Null: open it.
  const Fault* expected(const std::string& path) {
    if (in_a_row_ < kMany) return nullptr;
    if (!last_ || last_->at.file != path) last_ = io::cannot_open(path, file_system_);
    return last_ ? &*last_ : nullptr;
  }

  void opened() noexcept { in_a_row_ = 0; }
  void failed(const Fault& fault) noexcept { in_a_row_ = fault.id == "io.open" ? in_a_row_ + 1 : 0; }

  // Keeps a fault for refuse(), which names the files of the first kNamed ones.
  void keep(Fault fault) {
    if (++kept_ <= kNamed) named_.push_back(std::move(fault));
  }
  // Throws one Error for all faults kept, if there are any; `files` is how many are listed.
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
