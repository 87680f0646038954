// SPDX-License-Identifier: MIT
//
// Damage in chunks that are read ahead of their turn is reported, and counts against maxErrors, when their turn comes:
// so where a run ends, and with which error, does not depend on threads.
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

// Errors found for one sink.
struct FoundErrors {
  std::uint64_t errors = 0;
  std::vector<Fault> first = {};
  std::map<std::string, std::uint64_t, std::less<>> more = {};  // by id: how many beyond `first`
};

// The errors that one reading of a chunk found. Filled by one thread; then any thread may settle them, one at a time.
class ErrorsAhead {
 public:
  // While a Scope lives, the errors that its thread reports to a FaultSink with a budget are kept in `to`.
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
  // Whether this thread is in an again() of close(): warnings were reported when the chunk was first read.
  static bool finds_again() noexcept;

  bool empty() const noexcept { return parts_.empty(); }
  // Shares the errors of `other`: they count once, whichever is settled.
  void add(const ErrorsAhead& other) { parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end()); }

  // Counts an error of a sink if `most` faults are kept already; false if not: note() has to see the fault.
  bool count(FaultSink& sink, std::string_view id, std::size_t most);
  void note(FaultSink& sink, Fault fault, std::size_t most);
  // The reading that reported to `sink` is over. again() repeats it, to report the same; forget() undoes what it left
  // behind, as if it had not been.
  void close(const FaultSink& sink, std::function<void()> again, std::function<void()> forget);

  // The chunk's turn has come: counts and reports its errors. Throws Error(format), as again() does, where there are
  // more than a budget allows.
  void settle() const;
  // The chunk's turn never came.
  void forget() const;

 private:
  struct Part : FoundErrors {
    FaultSink* sink;
    std::function<void()> again = {}, forget = {};
    std::atomic<bool> settled{false};

    explicit Part(FaultSink* to) : sink(to) {}
  };
  Part& part_of(FaultSink& sink);

  std::vector<std::shared_ptr<Part>> parts_;
};

}  // namespace batchfeed
