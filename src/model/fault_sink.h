// SPDX-License-Identifier: MIT
//
// Where a source sends damage it can live with: counted against the budget the
// user gave (maxErrors), at once or when its turn comes (errors_ahead.h), reported
// with its place, fatal when the budget is spent.
#pragma once

#include <batchfeed/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/errors_ahead.h"
#include "model/open_context.h"

namespace batchfeed {

// Thread-safe. Notices of one id are passed on up to `kPerId` times; the rest is
// counted and told by finish().
class FaultSink {
 public:
  static constexpr std::uint64_t kPerId = 10;

  // `trace_level`: 0 passes nothing on but failures, 1 warnings, 2 also notes.
  // `per_id` = 0 lifts the limit of notices (check); `count_only` may take those of which the number is enough.
  FaultSink(std::string file, std::uint64_t budget, int trace_level, Report report, std::uint64_t per_id = kPerId,
            CountOnly count_only = {});

  // One error of the budget. Throws Error when it is exhausted: the fault
  // itself if the budget is 0, else one that says how many came before and where
  // the first ones were.
  void error(Fault fault);
  // For errors that may come by the million: make() gives the fault, and is called only if it is needed.
  template <class Make>
  void error(std::string_view id, const Make& make) {
    if (ErrorsAhead* const to = ahead(); to != nullptr) {
      if (!to->count(*this, id, told_enough(id) ? 0 : kPerId)) error(make());
    } else if (!count_error()) {
      error(make());
    } else if (wanted(Severity::error, id)) {
      try {
        report_({Severity::error, make()});
      } catch (...) {  // make() could not read the file to find the place: the error will come again
        take_back(id);
        throw;
      }
    }
  }

  // Warnings and notes do not count against the budget.
  void warning(Fault fault) { notice(Severity::warning, std::move(fault)); }
  template <class Make>
  void warning(std::string_view id, const Make& make) {
    if (wanted(Severity::warning, id)) report_({Severity::warning, make()});
  }
  void info(Fault fault) { notice(Severity::info, std::move(fault)); }
  template <class Make>
  void info(std::string_view id, const Make& make) {
    if (wanted(Severity::info, id)) report_({Severity::info, make()});
  }

  // Counts and reports errors that were found ahead; false, and nothing is changed, if the budget has not enough left.
  bool spend(const FoundErrors& found);

  struct Spent {
    std::uint64_t errors = 0;
    std::vector<Fault> first = {};
  };
  Spent spent() const;
  void restore(const Spent& before);

  std::uint64_t errors() const;
  // One notice per id that was cut short, and one with the sum of errors; nothing
  // where all were told.
  std::vector<Notice> finish() const;

 private:
  friend class HeldReports;
  bool wanted(Severity severity, std::string_view id);  // counts the notice, too
  void notice(Severity severity, Fault fault);
  ErrorsAhead* ahead() const noexcept { return budget_ > 0 ? ErrorsAhead::current() : nullptr; }
  bool count_error();                           // false, without counting, if error() has to see the fault
  bool told_enough(std::string_view id) const;  // no fault of that id will be reported or named any more
  void take_back(std::string_view id);

  std::string file_;
  std::uint64_t budget_;
  int trace_level_;
  Report report_;
  std::uint64_t per_id_;
  CountOnly count_only_;
  mutable std::mutex mutex_;
  std::uint64_t errors_ = 0;
  static constexpr std::size_t kFirst = 3;
  std::vector<Fault> first_;                                // the first errors
  std::map<std::string, std::uint64_t, std::less<>> seen_;  // by id
};

// For damage that may turn out not to be reported: notices to sink() are held until release().
// Holds no more than what `to`, which limits notices, could pass on.
class HeldReports {
 public:
  explicit HeldReports(FaultSink& to)
      : to_(to), sink_(to.file_, 0, to.trace_level_, [this](const Notice& n) { held_.push_back(n); }) {}

  FaultSink& sink() noexcept { return sink_; }
  void release();

 private:
  FaultSink& to_;
  std::vector<Notice> held_;
  FaultSink sink_;
};

}  // namespace batchfeed
