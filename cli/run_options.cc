// SPDX-License-Identifier: MIT
#include "run_options.h"

#include <batchfeed/error.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "command.h"
#include "word_option.h"

namespace batchfeed::cli {

namespace {

// The numbers of a list that expect_digits() has checked.
std::vector<std::uint64_t> sizes_of(const std::string& list) {
  std::vector<std::uint64_t> sizes;
  for (const char *at = list.data(), *const end = at + list.size(); at < end; ++at)
    at = std::from_chars(at, end, sizes.emplace_back()).ptr;
  return sizes;
}

}  // namespace

void RunOptions::add_to(CLI::App& app) {
  const char* const group = "Minibatches";
  // Taken as one word and split here: with a delimiter CLI11 would pass over an empty size.
  app.add_option_function<std::string>(
         "--minibatch-size", [this](const std::string& list) { minibatch_size = sizes_of(list); },
         "Samples, or what --size-unit says, over all workers; a list gives one size per epoch (default: as the "
         "configuration's SGD section says, or 256)")
      ->type_name("N[,N...]")
      ->group(group);
  add_word_option(app, "--size-unit", size_unit,
                  "What sizes count: samples (default), sequences, or cells of the padded rectangle, sequences times "
                  "longest")
      ->type_name("UNIT")
      ->group(group);
  add_word_option(app, "--long-sequence", long_sequence,
                  "A sequence longer than a minibatch: alone, in a minibatch of its own (default); skip, left out and "
                  "counted; split, alone but as parallel sequences; or error")
      ->type_name("HOW")
      ->group(group);
  add_word_option(app, "--last-minibatch", last_minibatch,
                  "The last minibatch of a sweep, if it is not full: keep (default); drop, left out and counted; or "
                  "cross, filled up from the next sweep of the epoch")
      ->type_name("HOW")
      ->group(group);
  app.add_option("--bucket-minibatches", bucket_minibatches,
                 "Save padding: sort the sequences of N minibatches by length, and cut them into minibatches of like "
                 "length (0 = off; 16 saves most)")
      ->type_name("N")
      ->group(group);
  app.add_option("--memory-limit", memory_limit,
                 "Bytes for chunks and waiting minibatches, such as 800M or 2G (default: what the window needs)")
      ->type_name("BYTES")
      ->group(group);
  app.add_option("--prefetch-depth", prefetch_depth, "Packed minibatches kept ready (default 4)")
      ->type_name("N")
      ->group(group);
}

void RunOptions::set_epoch(const Corpus& corpus, ReaderOptions& options) {
  if (!corpus.config) return;
  if (corpus.config->wrong_epoch_size) throw Error(*corpus.config->wrong_epoch_size);
  if (corpus.config->epoch_size) options.epoch_samples = *corpus.config->epoch_size;
}

void RunOptions::apply(const Corpus& corpus, ReaderOptions& options) const {
  if (!minibatch_size.empty()) {
    options.minibatch_size = minibatch_size;
  } else if (corpus.config && corpus.config->wrong_minibatch_size) {
    throw Error(*corpus.config->wrong_minibatch_size);
  } else if (corpus.config && !corpus.config->minibatch_size.empty()) {
    options.minibatch_size = corpus.config->minibatch_size;
  }
  for (const std::uint64_t size : options.minibatch_size) {
    if (size == 0 && !options.legacy_speech) {
      throw Error(Fault{.kind = FaultKind::usage,
                        .id = "cli.minibatch-size",
                        .what = "a minibatch size of 0 reads nothing, expected at least 1",
                        .hint = "--minibatch-size 256"});
    }
  }
  if (size_unit) options.size_unit = *size_unit;
  if (long_sequence) options.long_sequence = *long_sequence;
  if (last_minibatch) options.last_minibatch = *last_minibatch;
  if (bucket_minibatches) options.bucket_minibatches = *bucket_minibatches;
  if (memory_limit) options.memory_limit = *memory_limit;
  if (prefetch_depth == 0u) throw UsageError("--prefetch-depth: expected at least 1, found 0");
  if (prefetch_depth) options.prefetch_depth = *prefetch_depth;
}

}  // namespace batchfeed::cli
