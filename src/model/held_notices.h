// SPDX-License-Identifier: MIT
//
// Notices of which it is not known yet whether, or after which others, they will be reported. The first
// are held as they are, of the others only the number, as there may be one for each byte of a file.
#pragma once

#include <batchfeed/error.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

class HeldNotices {
 public:
  // Holds the notice if fewer than `most` are held; else counts it, or drops it if it is a note.
  void add(const Notice& notice, std::uint64_t most) {
    if (!count_only(notice.severity, notice.fault.id, most)) notices_.push_back(notice);
  }
  // Counts a notice that would not be held; false if it would: add() has to see it.
  bool count_only(Severity severity, std::string_view id, std::uint64_t most) {
    if (notices_.size() < most) return false;
    if (severity == Severity::info) return true;
    auto& more = severity == Severity::error ? faults_ : warnings_;
    const auto known = more.find(id);
    ++(known != more.end() ? known->second : more.emplace(std::string(id), 0).first->second);
    return true;
  }

  // tell(notice) for each that is held, count(id, severity, number) for the others; then it is empty.
  template <class Tell, class Count>
  void release(const Tell& tell, const Count& count) {
    for (const Notice& notice : notices_) tell(notice);
    for (const auto& [id, n] : faults_) count(id, Severity::error, n);
    for (const auto& [id, n] : warnings_) count(id, Severity::warning, n);
    clear();
  }
  void clear() {
    notices_.clear();
    faults_.clear();
    warnings_.clear();
  }

 private:
  std::vector<Notice> notices_;
  std::map<std::string, std::uint64_t, std::less<>> faults_, warnings_;  // that are not held, by id
};

}  // namespace batchfeed
