// SPDX-License-Identifier: MIT
//
// Damage in chunks that are read ahead of their turn is told, and counts against maxErrors, when their turn comes: so
// where a run ends, and with what, does not depend on threads.
#pragma once

#include <batchfeed/error.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

class FaultSink;

// Errors of one sink.
struct Found {
  std::uint64_t errors = 0;
  std::vector<Fault> first = {};
  std::map<std::string, std::uint64_t, std::less<>> more = {};  // by id: those behind the first
};

// What one reading of a chunk found. Filled by one thread; any may settle it then, one at a time.
class ErrorsAhead {
 public:
  // While one lives, what its thread tells a FaultSink that has a budget is kept in `to`.
  class Scope {
   public:
    explicit Scope(ErrorsAhead& to) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ErrorsAhead* const before_;
  };
  static ErrorsAhead* current() noexcept;  // of this thread, or null
  // Whether this thread finds again what it found ahead, of which warnings were told.
  static bool finds_again() noexcept;

  bool empty() const noexcept { return parts_.empty(); }
  // What is in `other` too, and counts once.
  void add(const ErrorsAhead& other) { parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end()); }

  // One error of a sink. Of the first `most` the faults are kept: false while there are fewer.
  bool count(FaultSink& sink, std::string_view id, std::size_t most);
  void note(FaultSink& sink, Fault fault, std::size_t most);
  // The reading that told `sink` is over: again() would tell it the same, forget() makes it as if it had not been.
  void close(const FaultSink& sink, std::function<void()> again, std::function<void()> forget);

  // Its turn has come. Throws Error(format), as again() does, where there are more than a budget allows.
  void settle() const;
  // It never came.
  void forget() const;

 private:
  struct Part : Found {
    FaultSink* sink;
    std::function<void()> again = {}, forget = {};
    std::atomic<bool> settled{false};

    explicit Part(FaultSink* to) : sink(to) {}
  };
  Part& part_of(FaultSink& sink);

  std::vector<std::shared_ptr<Part>> parts_;
};

}  // namespace batchfeed
