// SPDX-License-Identifier: MIT
//
// What the subcommands share: exit codes, their declaration, and the error for a command line
// that makes no sense.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <stdexcept>
#include <string>

#include "console.h"
#include "format.h"
#include "hints.h"

namespace batchfeed::cli {

enum Exit : int {
  kDone = 0,
  kFaults = 1,    // `check` found some
  kUsage = 2,     // the command line makes no sense
  kInput = 3,     // input or configuration cannot be read
  kInternal = 4,  // a defect of batchfeed
};

// Thrown if the command line makes no sense; its text is WHAT[; hint: HINT], as in every message.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs `work`, and turns an Error(usage) from the library into a UsageError: it is caused by the command line.
template <class Work>
auto as_asked(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.fault().kind != FaultKind::usage) throw;
    const std::string text = in_flags(error.fault()).text();
    throw UsageError(
        printable(error.fault().at.file.empty() ? text.substr(text.find(' ') + 1) : text, 4 * text.size()));
  }
}

// Writes all that a command has to say to standard output. Returns kDone.
int put_text(std::string_view text);

// Declaring a subcommand adds its options to `app` and returns the function that runs it: the exit code.
using Run = std::function<int()>;

// `examples` stand in its --help right behind the summary.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples);

Run add_head(CLI::App& app, Console& console);
Run add_cat(CLI::App& app, Console& console);
Run add_sample(CLI::App& app, Console& console);
Run add_grep(CLI::App& app, Console& console);
Run add_diff(CLI::App& app, Console& console);
Run add_split(CLI::App& app, Console& console);
Run add_merge(CLI::App& app, Console& console);
Run add_shuffle(CLI::App& app, Console& console);
Run add_resume(CLI::App& app, Console& console);
Run add_stats(CLI::App& app, Console& console);
Run add_schema(CLI::App& app, Console& console);
Run add_read(CLI::App& app, Console& console);
Run add_check(CLI::App& app, Console& console);
Run add_info(CLI::App& app, Console& console);
Run add_index(CLI::App& app, Console& console);
Run add_plan(CLI::App& app, Console& console);
Run add_report(CLI::App& app, Console& console);
Run add_bench(CLI::App& app, Console& console);
Run add_config(CLI::App& app, Console& console);
Run add_convert(CLI::App& app, Console& console);
Run add_ctf2bin(CLI::App& app, Console& console);
Run add_help(CLI::App& app, Console& console);
Run add_manual(CLI::App& app, Console& console);
Run add_completion(CLI::App& app, Console& console);
Run add_version(CLI::App& app, Console& console);

}  // namespace batchfeed::cli
