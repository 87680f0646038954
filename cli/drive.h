// SPDX-License-Identifier: MIT
//
// How a run goes over a corpus: epochs, workers, minibatches. `read` and `resume verify` share
// these options, since a saved state belongs to them.
#pragma once

#include <batchfeed/reader.h>

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "command.h"
#include "corpus.h"
#include "run_options.h"

namespace batchfeed::cli {

struct DriveOptions {
  RunOptions run;
  std::uint64_t start_epoch = 0;
  std::string epoch_size;
  std::optional<std::uint64_t> epoch_sweeps;
  bool cross = false, no_cross = false;
  std::string driver = "reader";
  std::optional<std::uint64_t> workers, rank;

  void add_to(CLI::App& app);
  bool timeline() const { return driver == "minibatch-source"; }
  // Sets the options; workers and rank, if not given, come from the environment. Throws Error, UsageError.
  void apply(const Corpus& corpus, ReaderOptions& options, Console& console) const;
};

// Throws UsageError.
std::uint64_t parse_number(std::string_view text, const char* option);

// Restores a state that was read from `file`; faults name that file.
void restore(Reader& reader, const std::string& state, const std::string& file);

}  // namespace batchfeed::cli
