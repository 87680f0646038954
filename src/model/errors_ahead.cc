// SPDX-License-Identifier: MIT
#include "model/errors_ahead.h"

#include <utility>

#include "model/fault_sink.h"

namespace batchfeed {

namespace {
thread_local ErrorsAhead* in_scope = nullptr;
thread_local bool finding_again = false;

struct FindsAgain {
  FindsAgain() noexcept { finding_again = true; }
  ~FindsAgain() { finding_again = false; }
  FindsAgain(const FindsAgain&) = delete;
  FindsAgain& operator=(const FindsAgain&) = delete;
};
}  // namespace

ErrorsAhead::Scope::Scope(ErrorsAhead& to) noexcept : before_(in_scope) { in_scope = &to; }
ErrorsAhead::Scope::~Scope() { in_scope = before_; }

ErrorsAhead* ErrorsAhead::current() noexcept { return in_scope; }
bool ErrorsAhead::finds_again() noexcept { return finding_again; }

ErrorsAhead::Part& ErrorsAhead::part_of(FaultSink& sink) {
  for (const std::shared_ptr<Part>& part : parts_) {
    if (part->sink == &sink && !part->again) return *part;
  }
  parts_.push_back(std::make_shared<Part>(&sink));
  return *parts_.back();
}

bool ErrorsAhead::count(FaultSink& sink, std::string_view id, std::size_t most) {
  Part& part = part_of(sink);
  if (part.first.size() < most) return false;
  auto more = part.more.find(id);
  if (more == part.more.end()) more = part.more.emplace(std::string(id), 0).first;
  ++more->second;
  ++part.errors;
  return true;
}

void ErrorsAhead::note(FaultSink& sink, Fault fault, std::size_t most) {
  if (count(sink, fault.id, most)) return;
  Part& part = part_of(sink);
  part.first.push_back(std::move(fault));
  ++part.errors;
}

void ErrorsAhead::close(const FaultSink& sink, std::function<void()> again, std::function<void()> forget) {
  for (const std::shared_ptr<Part>& part : parts_) {
    if (part->sink != &sink || part->again) continue;
    part->again = std::move(again);
    part->forget = std::move(forget);
    return;
  }
}

void ErrorsAhead::settle() const {
  for (const std::shared_ptr<Part>& part : parts_) {
    if (part->settled.exchange(true) || part->sink->spend(*part) || !part->again) continue;
    // The budget is exceeded. The caller may ignore that, so the next settle() must throw the same.
    const FaultSink::Spent before = part->sink->spent();
    try {
      const FindsAgain scope;
      part->again();
    } catch (...) {
      part->sink->restore(before);
      part->settled = false;
      part->forget();
      throw;
    }
  }
}

void ErrorsAhead::forget() const {
  for (const std::shared_ptr<Part>& part : parts_) {
    if (!part->settled.exchange(true) && part->forget) part->forget();
  }
}

}  // namespace batchfeed
