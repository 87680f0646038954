// SPDX-License-Identifier: MIT
#include "config/document.h"

#include <utility>

#include "base/lookalike.h"
#include "config/section.h"

namespace batchfeed::config {

Document::Document(Limits limits, Report report) : limits_(limits), report_(std::move(report)) {}
Document::~Document() = default;

void Document::fail(Origin at, std::string id, std::string what, std::string hint) const {
  hint = lookalike_or(what, std::move(hint));
  throw Error({.kind = FaultKind::config,
               .id = "config." + std::move(id),
               .at = position(at),
               .what = std::move(what),
               .hint = std::move(hint)});
}

void Document::over_limit(Origin at, const char* field, std::uint64_t limit, std::string what) const {
  throw Error({.kind = FaultKind::limit,
               .id = "config.limit",
               .at = position(at),
               .what = std::move(what) + ": above the limit " + field + " = " + std::to_string(limit),
               .hint = std::string("raise limits.") + field + " if the configuration is meant so"});
}

void Document::hold(const Error& error) {
  const Fault& fault = error.fault();
  if (!collect_ || quiet_ || fault.kind == FaultKind::internal) throw;
  // Not told: a fault that was told before, that a key with a wrong value is missing too, and that a value
  // which is an unknown variable is no number.
  const auto key = [](const Fault& f) { return std::string_view(f.what).substr(0, f.what.find(':')); };
  for (const Fault& held : faults_) {
    const bool same_line = held.at.line == fault.at.line && held.at.file == fault.at.file;
    if (!same_line) continue;
    const bool same_place = held.at.column == fault.at.column;
    if (key(held) == key(fault) && (same_place || fault.id == "config.missing-required")) return;
    if (same_place && held.id == "config.unknown-variable") return;
  }
  if (faults_.size() >= kFaults) throw;
  faults_.push_back(fault);
  if (faults_.size() == kFaults) faults_.back().what += " (the last fault of this section that is told)";
  if (report_) report_({Severity::error, faults_.back()});
}

void Document::start_anew() noexcept {
  faults_.clear();
  expansions_.start_anew();
  copied_bytes_.start_anew();
  elements_.start_anew();
}

void Document::tell(Severity severity, Origin at, std::string id, std::string what, std::string hint) {
  if (!report_ || quiet_) return;
  std::uint64_t& given = given_[id];
  if (given >= kNoticesPerId || !told_.emplace(at, id + '\0' + what).second) return;
  if (++given == kNoticesPerId) what += " (more of this kind are not told)";
  hint = lookalike_or(what, std::move(hint));
  report_({severity,
           {.kind = FaultKind::config,
            .id = "config." + std::move(id),
            .at = position(at),
            .what = std::move(what),
            .hint = std::move(hint)}});
}

void Document::warn(Origin at, std::string id, std::string what, std::string hint) {
  tell(Severity::warning, at, std::move(id), std::move(what), std::move(hint));
}

void Document::note(Origin at, std::string id, std::string what, std::string hint) {
  tell(Severity::info, at, std::move(id), std::move(what), std::move(hint));
}

void Document::count_expansion(Origin at, std::size_t bytes) {
  if (!expansions_.take(1, limits_.config_expansions))
    over_limit(at, "config_expansions", limits_.config_expansions, "too many $variables$ are replaced");
  count_copy(at, bytes);
}

void Document::count_copy(Origin at, std::size_t bytes) {
  if (!copied_bytes_.take(bytes, limits_.config_bytes))
    over_limit(at, "config_bytes", limits_.config_bytes,
               "the text grows too long by replacing $variables$ and by keys that many sections inherit");
}

void Document::count_elements(Origin at, std::uint64_t elements) {
  if (!elements_.take(elements, limits_.config_expansions))
    over_limit(at, "config_expansions", limits_.config_expansions, "the arrays and lists have too many elements");
}

Section& Document::keep(std::unique_ptr<Section> section) {
  sections_.push_back(std::move(section));
  return *sections_.back();
}

}  // namespace batchfeed::config
