// SPDX-License-Identifier: MIT
//
// Counts notices by id and passes the first ones on.
#pragma once

#include <batchfeed/tools.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace batchfeed {

// Thread-safe.
class Tally {
 public:
  Tally(std::uint64_t most, Report report) : most_(most), report_(std::move(report)) {}

  void add(const Notice& notice) {
    const std::lock_guard lock(mutex_);
    if (notice.severity == Severity::info) {
      if (report_) report_(notice);
      return;
    }
    ++by_id(notice.fault.id);
    ++(notice.severity == Severity::error ? faults_ : warnings_);
    if (faults_ + warnings_ <= most_ && report_) report_(notice);
  }

  // Counts a notice that would not be passed on. False, and not counted: it has to go to add().
  bool count_only(Severity severity, std::string_view id) {
    if (severity == Severity::info) return !report_;
    const std::lock_guard lock(mutex_);
    if (faults_ + warnings_ < most_ && report_) return false;
    ++by_id(id);
    ++(severity == Severity::error ? faults_ : warnings_);
    return true;
  }

  // `n` more that are not passed on.
  void count(std::string_view id, Severity severity, std::uint64_t n) {
    const std::lock_guard lock(mutex_);
    by_id(id) += n;
    (severity == Severity::error ? faults_ : warnings_) += n;
  }

  void into(CheckResult& result) const {
    const std::lock_guard lock(mutex_);
    result.faults = faults_;
    result.warnings = warnings_;
    result.by_id = {by_id_.begin(), by_id_.end()};
  }

 private:
  std::uint64_t& by_id(std::string_view id) {
    const auto known = by_id_.find(id);
    return known != by_id_.end() ? known->second : by_id_.emplace(std::string(id), 0).first->second;
  }

  std::uint64_t most_;
  Report report_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> by_id_;
  std::uint64_t faults_ = 0, warnings_ = 0;
};

}  // namespace batchfeed
