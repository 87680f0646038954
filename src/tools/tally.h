// SPDX-License-Identifier: MIT
//
// Counts notices by id and passes the first ones on.
#pragma once

#include <batchfeed/tools.h>

#include <mutex>

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
    ++by_id_[notice.fault.id];
    ++(notice.severity == Severity::error ? faults_ : warnings_);
    if (faults_ + warnings_ <= most_ && report_) report_(notice);
  }

  // `n` more that are not passed on.
  void count(const std::string& id, Severity severity, std::uint64_t n) {
    const std::lock_guard lock(mutex_);
    by_id_[id] += n;
    (severity == Severity::error ? faults_ : warnings_) += n;
  }

  void into(CheckResult& result) const {
    const std::lock_guard lock(mutex_);
    result.faults = faults_;
    result.warnings = warnings_;
    result.by_id = by_id_;
  }

 private:
  std::uint64_t most_;
  Report report_;
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> by_id_;
  std::uint64_t faults_ = 0, warnings_ = 0;
};

}  // namespace batchfeed
