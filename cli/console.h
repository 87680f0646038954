// SPDX-License-Identifier: MIT
//
// Standard error for people: notices, errors, and a progress bar that shows
// itself on a terminal only. Standard output for data.
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
  bool verbose = false;  // also notices for the curious
  bool no_progress = false;

  // A line on standard error.
  void say(std::string_view line);
  void fail(const Fault& fault);
  void notice(const Notice& notice);  // the same one only once
  void warn(Fault fault);
  Report report();

  // A bar with rate and time left, labelled `what`; nothing unless standard
  // error is a terminal and the work takes a while.
  Progress progress(std::string what);
  void clear_progress();

  bool colour_out() const noexcept { return colour_out_; }
  bool terminal_out() const noexcept { return terminal_out_; }
  std::size_t width() const;  // of the terminal, 100 where there is none

 private:
  void draw(std::uint64_t done, std::uint64_t total);
  void erase();

  std::mutex mutex_;
  std::set<std::string> told_;  // notices
  bool terminal_out_ = false, terminal_err_ = false;
  bool colour_out_ = false, colour_err_ = false;
  bool drawn_ = false;
  std::string what_;
  std::chrono::steady_clock::time_point began_, last_;
};

// Standard output, gathered into large writes. A reader that went away
// (`| head`) ends the program quietly; other failures throw Error(io).
class Output {
 public:
  Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void append(std::string_view text);
  // Writes if much has gathered or some time has passed; call after each record.
  void breathe();
  void flush();

 private:
  std::string pending_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// An interrupt (Ctrl-C), SIGTERM and SIGHUP end the program at once with 128 and the signal's number, without
// what was half written, unless the command works in steps and asks in between; a second one always does. Those
// that whoever started the program ignores are ignored.
namespace interrupt {
void install();
void deferred(bool on);  // true: only note it
struct Interrupted {};   // thrown to unwind
void check();            // throws it, if one came
// `bar`, at whose steps it is asked.
Progress at_steps(Progress bar);
int status() noexcept;  // that the program ends with then
}  // namespace interrupt

}  // namespace batchfeed::cli
