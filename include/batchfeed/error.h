// SPDX-License-Identifier: MIT
//
// Faults: what went wrong, where, and what to do about it. Every part of the
// library reports with these values; nothing here prints.
#pragma once

#include <batchfeed/names.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace batchfeed {

// Where in the input a fault lies. Lines and columns count from 1 (columns in
// bytes); 0 = unknown. `byte` is the offset from the start of the file.
struct Position {
  std::string file = {};
  std::uint64_t byte = 0;
  std::uint64_t line = 0;
  std::uint64_t column = 0;
  bool has_byte = false;  // whether `byte` means anything

  bool operator==(const Position&) const = default;
};

enum class FaultKind : std::uint8_t {
  usage,     // the caller asked for something that makes no sense
  config,    // a configuration that cannot be used
  io,        // the system refused: open, read, write
  format,    // bytes that break a format's rules
  limit,     // a bound of limits.h was exceeded
  stale,     // the data changed since it was indexed
  state,     // a saved state that does not belong here
  internal,  // a defect of batchfeed
};

template <>
struct Names<FaultKind> {
  static constexpr std::string_view all[] = {"usage", "config", "io", "format", "limit", "stale", "state", "internal"};
};

// A plain value: `check` collects thousands of them, a reader throws the first
// fatal one.
struct Fault {
  FaultKind kind = FaultKind::internal;
  std::string id = {};  // stable name of the rule, "ctf.index-range"; listed in docs/reference/errors.md
  Position at = {};
  std::string what = {};    // "stream 'features': index 784 is not below dim 784"
  std::string hint = {};    // "indices count from 0; or set dim = 785"; see hint.h
  std::string stream = {};  // the stream concerned, where there is one
  int system_error = 0;     // errno, where the system refused (`io`); 0: it did not

  // The one place that knows the message grammar:
  //   FILE[:LINE[:COLUMN]][ (byte N)]: WHAT[; hint: HINT]
  // A fault without a file starts with "batchfeed: ".
  std::string text() const;
};

class Error : public std::runtime_error {
 public:
  explicit Error(Fault fault) : std::runtime_error(fault.text()), fault_(std::move(fault)) {}
  const Fault& fault() const noexcept { return fault_; }

 private:
  Fault fault_;
};

// Something the user should know although the work goes on. `info` is for
// curious users (traceLevel 2), `warning` for all, `error` damage that was
// tolerated because the user allowed some (maxErrors), or because all of it is
// being collected (check).
enum class Severity : std::uint8_t { info, warning, error };
template <>
struct Names<Severity> {
  static constexpr std::string_view all[] = {"info", "warning", "error"};
};

struct Notice {
  Severity severity = Severity::warning;
  Fault fault = {};
};

// Receives notices. May be called from several threads at once. An exception that it throws ends the work that
// reported, and reaches the caller of that work unchanged. An empty function drops notices.
using Report = std::function<void(const Notice&)>;

}  // namespace batchfeed
