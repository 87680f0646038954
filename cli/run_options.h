// SPDX-License-Identifier: MIT
//
// Options of `read`, `plan` and `bench` about how minibatches are cut, filled and held in memory, which
// override the configuration. Each field is the option of the same name.
#pragma once

#include <batchfeed/options.h>

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "corpus.h"

namespace batchfeed::cli {

struct RunOptions {
  std::vector<std::uint64_t> minibatch_size;
  std::optional<SizeUnit> size_unit;
  std::optional<LongSequence> long_sequence;
  std::optional<LastMinibatch> last_minibatch;
  std::optional<std::uint64_t> bucket_minibatches;
  std::optional<std::uint64_t> memory_limit, prefetch_depth;

  void add_to(CLI::App& app);
  // Sets the length of an epoch if the configuration gives one. Throws Error.
  static void set_epoch(const Corpus& corpus, ReaderOptions& options);
  // Sets the options; sizes that are not given come from the configuration's SGD section. Throws Error, UsageError.
  void apply(const Corpus& corpus, ReaderOptions& options) const;
};

}  // namespace batchfeed::cli
