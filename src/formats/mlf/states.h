// SPDX-License-Identifier: MIT
//
// State lists: names of classes, one a line (labelMappingFile), and the target
// vectors that may replace them (labelToTargetMappingFile).
#pragma once

#include <batchfeed/files.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"

namespace batchfeed::mlf {

// Class i is the i-th line that is not empty, compared byte by byte.
class StateList {
 public:
  static constexpr std::uint32_t kUnknown = 0xFFFFFFFFu;

  // Throws Error: no label at all, or one twice.
  StateList(const std::string& path, const Limits& limits, const FileSystem& file_system);
  // From names in memory, which are checked alike; faults give `place` as where they stand.
  StateList(const std::vector<std::string>& names, const std::string& place, const Limits& limits);
  StateList(const StateList&) = delete;
  StateList& operator=(const StateList&) = delete;

  std::uint32_t find(std::string_view name) const {
    const auto found = classes_.find(name);
    return found == classes_.end() ? kUnknown : found->second;
  }
  std::size_t size() const noexcept { return names_.size(); }
  std::string_view name(std::size_t state) const noexcept { return names_[state]; }
  std::uint64_t line(std::size_t state) const;  // of the file

 private:
  void split(const std::string& path, const Limits& limits);

  std::string text_;
  std::vector<std::string_view> names_;  // views into text_
  std::unordered_map<std::string_view, std::uint32_t, SeededHash> classes_;
};

// For each class the indices of the ones in its target vector. The file has lines
// `label bits`, in the order of the state list, bits all `dim` long. Throws Error.
std::vector<std::vector<std::int32_t>> read_targets(const std::string& path, const StateList& states, std::uint64_t dim,
                                                    const Limits& limits, const FileSystem& file_system);

}  // namespace batchfeed::mlf
