// SPDX-License-Identifier: MIT
//
// Where a source sends damage it can live with: counted against the budget the
// user gave (maxErrors), reported with its place, fatal when the budget is spent.
#pragma once

#include <batchfeed/error.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace batchfeed {

// Thread-safe. Notices of one id are passed on up to `kPerId` times; the rest is
// counted and told by finish().
class FaultSink {
 public:
  static constexpr std::uint64_t kPerId = 10;

  // `trace_level`: 0 passes nothing on but failures, 1 warnings, 2 also notes.
  // `per_id` = 0 lifts the limit of notices (check).
  FaultSink(std::string file, std::uint64_t budget, int trace_level, Report report, std::uint64_t per_id = kPerId);

  // One error of the budget. Throws Error when it is exhausted: the fault
  // itself if the budget is 0, else one that says how many came before and where
  // the first ones were.
  void error(Fault fault);

  // Costs nothing.
  void warning(Fault fault) { notice(Severity::warning, std::move(fault)); }
  // For what may come by the million: make() gives the fault, if it will be passed on.
  template <class Make>
  void warning(const std::string& id, const Make& make) {
    if (wanted(Severity::warning, id) && report_) report_({Severity::warning, make()});
  }
  void info(Fault fault) { notice(Severity::info, std::move(fault)); }

  std::uint64_t errors() const;
  // One notice per id that was cut short, and one with the sum of errors; nothing
  // where all were told.
  std::vector<Notice> finish() const;

 private:
  friend class HeldFaults;
  bool wanted(Severity severity, const std::string& id);  // and counts it
  void notice(Severity severity, Fault fault);

  std::string file_;
  std::uint64_t budget_;
  int trace_level_;
  Report report_;
  std::uint64_t per_id_;
  mutable std::mutex mutex_;
  std::uint64_t errors_ = 0;
  std::vector<Fault> first_;                   // the first three errors
  std::map<std::string, std::uint64_t> seen_;  // by id
};

// For damage that may turn out not to be told: what comes into sink() waits for release().
// Holds no more than what the other sink, which limits notices, could pass on.
class HeldFaults {
 public:
  explicit HeldFaults(FaultSink& to)
      : to_(to), sink_(to.file_, 0, to.trace_level_, [this](const Notice& n) { held_.push_back(n); }) {}

  FaultSink& sink() noexcept { return sink_; }
  void release();

 private:
  FaultSink& to_;
  std::vector<Notice> held_;
  FaultSink sink_;
};

}  // namespace batchfeed
