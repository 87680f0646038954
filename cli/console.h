// SPDX-License-Identifier: MIT
//
// Standard error for people: notices, errors, and a progress bar, which is drawn on a terminal
// only. Standard output for data.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/tools.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace batchfeed::cli {

// Thread-safe, as notices and progress come from worker threads.
class Console {
 public:
  Console();

  bool quiet = false;    // no notices
  bool verbose = false;  // notices of severity info, too
  bool no_progress = false;

  // A line on standard error.
  void say(std::string_view line);
  void fail(const Fault& fault);
  void notice(const Notice& notice);  // equal ones only once
  void warn(Fault fault);
  Report report();

  // Draws a bar with rate and time left, labelled `what`, if the work takes a while; empty
  // if standard error is no terminal.
  Progress progress(std::string what);
  void clear_progress();

  bool colour_out() const noexcept { return colour_out_; }
  bool terminal_out() const noexcept { return terminal_out_; }
  std::size_t width() const;  // columns of the terminal, 100 without one

 private:
  void draw(std::uint64_t done, std::uint64_t total);
  void erase();

  std::mutex mutex_;
  std::set<std::string> told_;  // texts of the notices so far
  bool terminal_out_ = false, terminal_err_ = false;
  bool colour_out_ = false, colour_err_ = false;
  bool drawn_ = false;
  std::string what_;
  std::chrono::steady_clock::time_point began_, last_;
};

// Standard output, buffered for large writes. If its reader has gone away (`| head`), the
// program ends quietly; other failures throw Error(io).
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void append(std::string_view text);
  // Writes if much is buffered or some time has passed; to be called after each record.
  void breathe();
  void flush();

 private:
  std::string pending_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// SIGINT (Ctrl-C), SIGTERM and SIGHUP end the program at once with the exit code 128 + signal, and remove files that
// are half written. While deferred, the first signal is only noted, and the command checks for it between its steps;
// a second one always ends the program. Signals that were ignored when the program was started stay ignored.
namespace interrupt {
void install();
void deferred(bool on);
struct Interrupted {};
void check();  // throws Interrupted if a signal came while deferred
// `bar`, which calls check() at each step.
Progress at_steps(Progress bar);
int status() noexcept;  // the exit code after Interrupted
}  // namespace interrupt

}  // namespace batchfeed::cli
