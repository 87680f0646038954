// SPDX-License-Identifier: MIT
#include "drive.h"

#include <fmt/format.h>

#include <charconv>

#include "environment.h"
#include "format.h"

namespace batchfeed::cli {

namespace {

void set_workers(const DriveOptions& a, ReaderOptions& options, Console& console) {
  if (a.workers || a.rank) {
    options.workers = a.workers.value_or(1);
    options.rank = a.rank.value_or(0);
    if (options.workers == 0) throw UsageError("--workers: at least 1");
    if (options.rank >= options.workers) {
      throw UsageError(fmt::format("--rank {} must be below --workers {}", options.rank, options.workers));
    }
  } else if (const auto world = world_from_environment(); world && world->workers > 1) {
    options.workers = world->workers;
    options.rank = world->rank;
    console.warn(
        {.kind = FaultKind::usage,
         .id = "cli.world",
         .what = fmt::format("reading as rank {} of {} workers, as {} say", world->rank, world->workers, world->from),
         .hint = "--workers 1 reads everything"});
  }
}

}  // namespace

std::uint64_t parse_number(std::string_view text, const char* option) {
  std::uint64_t n = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{}: '{}' is {}", option, printable(text),
                                 code == std::errc::result_out_of_range
                                     ? fmt::format("too large a number, expected at most {}", ~std::uint64_t{0})
                                     : "not a whole number"));
  }
  return n;
}

void DriveOptions::add_to(CLI::App& app) {
  run.add_to(app);
  const char* const run_group = "Run";
  app.add_option("--start-epoch", start_epoch, "Number of the first epoch (default 0)")
      ->type_name("N")
      ->group(run_group);
  auto* size = app.add_option("--epoch-size", epoch_size,
                              "Samples in an epoch; 0 = one sweep, inf = one sweep, or without an end if there are no "
                              "epochs (--driver minibatch-source)")
                   ->type_name("N")
                   ->group(run_group);
  app.add_option("--epoch-sweeps", epoch_sweeps, "Sweeps in an epoch instead; 0: nothing is read")
      ->type_name("N")
      ->excludes(size)
      ->group(run_group);
  auto* crossing = app.add_flag("--cross-sweeps", cross, "A minibatch may span two sweeps")->group(run_group);
  app.add_flag("--no-cross-sweeps", no_cross, "A minibatch never spans two sweeps")
      ->excludes(crossing)
      ->group(run_group);
  app.add_option("--driver", driver,
                 "reader: epoch after epoch, as BrainScript's trainer (default); minibatch-source: one long timeline, "
                 "as the Python MinibatchSource")
      ->check(CLI::IsMember({"reader", "minibatch-source"}))
      ->type_name("KIND")
      ->group(run_group);
  const char* const ranks = "Workers";
  app.add_option("--workers", workers, "Number of workers (default: from the launcher's environment, or 1)")
      ->type_name("N")
      ->group(ranks);
  app.add_option("--rank", rank, "Which of them this is, from 0")->type_name("K")->group(ranks);
}

void DriveOptions::apply(const Corpus& corpus, ReaderOptions& options, Console& console) const {
  set_workers(*this, options, console);
  run.apply(corpus, options);
  options.driver = timeline() ? ReaderOptions::Driver::timeline : ReaderOptions::Driver::epochs;
  options.start_epoch = start_epoch;
  if (epoch_sweeps.value_or(0) != 0) {
    options.epoch_sweeps = *epoch_sweeps;
  } else if (epoch_size == "inf") {
    options.epoch_samples = timeline() ? ~0ull : kWholeSet;  // a timeline has no end then, and an epoch is a sweep
  } else {
    options.epoch_samples = epoch_size.empty() ? 0 : parse_number(epoch_size, "--epoch-size");
    if (epoch_size.empty()) RunOptions::set_epoch(corpus, options);
    // A timeline of 0 samples, or of the number FULL_DATA_SWEEP (minibatch.md 14.1), is one sweep.
    if (timeline() && (options.epoch_samples == 0 || options.epoch_samples == ~0ull - 1)) {
      options.epoch_samples = 0;
      options.epoch_sweeps = 1;
    }
  }
  if (cross || no_cross) options.cross_sweeps = cross;
}

void restore(Reader& reader, const std::string& state, const std::string& file) {
  try {
    reader.restore(state);
  } catch (const Error& error) {
    Fault fault = error.fault();
    if (fault.kind == FaultKind::state && fault.at.file.empty()) fault.at.file = file;
    throw Error(std::move(fault));
  }
}

}  // namespace batchfeed::cli
