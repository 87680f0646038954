// SPDX-License-Identifier: MIT
//
// How minibatches are cut, filled and held: what `read`, `plan` and `bench` let the
// command line say instead of the configuration. Each is the option of the same name.
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
  // The length of an epoch, which a configuration may give. Throws Error.
  static void set_epoch(const Corpus& corpus, ReaderOptions& options);
  // Sizes that are not given come from the configuration's SGD section. Throws Error, UsageError.
  void apply(const Corpus& corpus, ReaderOptions& options) const;
};

}  // namespace batchfeed::cli
