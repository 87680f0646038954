// SPDX-License-Identifier: MIT
#include "model/fault_sink.h"

#include <algorithm>
#include <utility>

#include "model/errors_ahead.h"

namespace batchfeed {

FaultSink::FaultSink(std::string file, std::uint64_t budget, int trace_level, Report report, std::uint64_t per_id,
                     CountOnly count_only)
    : file_(std::move(file)),
      budget_(budget),
      trace_level_(trace_level),
      report_(std::move(report)),
      per_id_(per_id),
      count_only_(std::move(count_only)) {}

void FaultSink::error(Fault fault) {
  if (ErrorsAhead* const to = ahead(); to != nullptr) {
    to->note(*this, std::move(fault), kPerId);
    return;
  }
  bool exhausted = false;
  {
    const std::lock_guard lock(mutex_);
    ++errors_;
    exhausted = errors_ > budget_;
    if (!exhausted && first_.size() < kFirst) first_.push_back(fault);
  }
  if (!exhausted) {
    notice(Severity::error, std::move(fault));
    return;
  }
  if (budget_ > 0) {
    std::string before;
    const std::lock_guard lock(mutex_);
    for (const Fault& f : first_)
      before += (before.empty() ? "" : ", ") + std::to_string(f.at.line) + ':' + std::to_string(f.at.column);
    fault.what += " (one error more than the " + std::to_string(budget_) + " that maxErrors tolerates" +
                  (before.empty() ? ")" : "; the first were at " + before + ')');
  }
  throw Error(std::move(fault));
}

// The first faults are made in any case: the error that exhausts the budget says where they were.
bool FaultSink::count_error() {
  const std::lock_guard lock(mutex_);
  if (errors_ >= budget_ || first_.size() < kFirst) return false;
  ++errors_;
  return true;
}

bool FaultSink::spend(const FoundErrors& found) {
  {
    const std::lock_guard lock(mutex_);
    if (found.errors > budget_ - std::min(budget_, errors_)) return false;
    errors_ += found.errors;
    for (const Fault& fault : found.first) {
      if (first_.size() < kFirst) first_.push_back(fault);
    }
  }
  for (const Fault& fault : found.first) notice(Severity::error, fault);
  const std::lock_guard lock(mutex_);
  for (const auto& [id, n] : found.more) {
    if (trace_level_ > 0) seen_[id] += n;
  }
  return true;
}

bool FaultSink::told_enough(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  if (first_.size() < kFirst) return false;
  if (trace_level_ < 1 || !report_) return true;
  const auto seen = seen_.find(id);
  return per_id_ != 0 && seen != seen_.end() && seen->second >= per_id_;
}

FaultSink::Spent FaultSink::spent() const {
  const std::lock_guard lock(mutex_);
  return {errors_, first_};
}

void FaultSink::restore(const Spent& before) {
  const std::lock_guard lock(mutex_);
  errors_ = before.errors;
  first_ = before.first;
}

bool FaultSink::wanted(Severity severity, std::string_view id) {
  if (ErrorsAhead::finds_again() && severity != Severity::error) return false;
  if (trace_level_ < (severity == Severity::info ? 2 : 1)) return false;
  {
    const std::lock_guard lock(mutex_);
    auto seen = seen_.find(id);
    if (seen == seen_.end()) seen = seen_.emplace(std::string(id), 0).first;
    if (++seen->second > per_id_ && per_id_ != 0) return false;
  }
  return report_ && !(count_only_ && count_only_(severity, id));
}

void FaultSink::take_back(std::string_view id) {
  const std::lock_guard lock(mutex_);
  --errors_;
  --seen_.find(id)->second;
}

void FaultSink::notice(Severity severity, Fault fault) {
  if (wanted(severity, fault.id)) report_({severity, std::move(fault)});
}

void HeldReports::release() {
  for (Notice& n : held_) to_.notice(n.severity, std::move(n.fault));
  held_.clear();
  const std::lock_guard lock(to_.mutex_);
  for (const auto& [id, n] : sink_.seen_) {
    if (n > FaultSink::kPerId) to_.seen_[id] += n - FaultSink::kPerId;
  }
  sink_.seen_.clear();
}

std::uint64_t FaultSink::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

std::vector<Notice> FaultSink::finish() const {
  const std::lock_guard lock(mutex_);
  std::vector<Notice> out;
  if (per_id_ == 0) return out;
  for (const auto& [id, n] : seen_) {
    if (n <= per_id_) continue;
    out.push_back(
        {Severity::warning, Fault{.kind = FaultKind::format,
                                  .id = id,
                                  .at = {.file = file_},
                                  .what = std::to_string(n - per_id_) +
                                          (n - per_id_ == 1 ? " further notice of '" : " further notices of '") + id +
                                          (n - per_id_ == 1 ? "' was not shown" : "' were not shown"),
                                  .hint = "`check()` lists all of them"}});
  }
  if (errors_ > 0 && errors_ <= budget_) {  // beyond the budget the run ended with an error that says so
    out.push_back({Severity::warning, Fault{.kind = FaultKind::format,
                                            .id = "errors-skipped",
                                            .at = {.file = file_},
                                            .what = std::to_string(errors_) +
                                                    (errors_ == 1 ? " damaged place was" : " damaged places were") +
                                                    " skipped (maxErrors = " + std::to_string(budget_) + ')',
                                            .hint = "`check()` lists all of them"}});
  }
  return out;
}

}  // namespace batchfeed
