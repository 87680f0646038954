// SPDX-License-Identifier: MIT
#include "run_options.h"

#include <batchfeed/error.h>

#include <CLI/Validators.hpp>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace batchfeed::cli {

namespace {

constexpr std::array<std::string_view, 3> kUnits = {"samples", "sequences", "cells"};
constexpr std::array<std::string_view, 4> kLong = {"alone", "skip", "split", "error"};
constexpr std::array<std::string_view, 3> kLast = {"keep", "drop", "cross"};

// Sets `field` to the enumerator whose name was given; names in the enum's order.
template <class Enum, std::size_t N>
void set_by_name(const std::string& given, const std::array<std::string_view, N>& names, Enum& field) {
  for (std::size_t i = 0; i < N; ++i) {
    if (given == names[i]) field = static_cast<Enum>(i);
  }
}

// The numbers of a list that `expect_digits` let through.
std::vector<std::uint64_t> sizes_of(const std::string& list) {
  std::vector<std::uint64_t> sizes;
  for (const char *at = list.data(), *const end = at + list.size(); at < end; ++at)
    at = std::from_chars(at, end, sizes.emplace_back()).ptr;
  return sizes;
}

template <std::size_t N>
CLI::IsMember one_of(const std::array<std::string_view, N>& names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace

void RunOptions::add_to(CLI::App& app) {
  const char* const group = "Minibatches";
  // One word, taken apart here: a delimiter of the library's would pass over an empty size.
  app.add_option_function<std::string>(
         "--minibatch-size", [this](const std::string& list) { minibatch_size = sizes_of(list); },
         "Samples, or what --size-unit says, over all workers; a list gives one size per epoch (default: as the "
         "configuration's SGD section says, or 256)")
      ->type_name("N[,N...]")
      ->group(group);
  app.add_option("--size-unit", size_unit,
                 "What sizes count: samples (default), sequences, or cells of the padded rectangle, sequences times "
                 "longest")
      ->check(one_of(kUnits))
      ->type_name("UNIT")
      ->group(group);
  app.add_option("--long-sequence", long_sequence,
                 "A sequence longer than a minibatch: alone in one (default), skip with a count, split, or error")
      ->check(one_of(kLong))
      ->type_name("HOW")
      ->group(group);
  app.add_option("--last-minibatch", last_minibatch,
                 "The last minibatch of a sweep where it is not full: keep (default), drop with a count, or cross, "
                 "filled up from the next sweep of the epoch")
      ->check(one_of(kLast))
      ->type_name("HOW")
      ->group(group);
  app.add_option("--bucket-minibatches", bucket_minibatches,
                 "Cut padding: sort the sequences of N minibatches by length, cut them into minibatches of alike ones "
                 "(0 = off; 16 saves most)")
      ->type_name("N")
      ->group(group);
  app.add_option("--memory-limit", memory_limit,
                 "Bytes for chunks and waiting minibatches, such as 800M or 2G (default: what the window needs)")
      ->type_name("BYTES")
      ->group(group);
  app.add_option("--prefetch-depth", prefetch_depth, "Packed minibatches that wait (default 4)")
      ->type_name("N")
      ->group(group);
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
  set_by_name(size_unit, kUnits, options.size_unit);
  set_by_name(long_sequence, kLong, options.long_sequence);
  set_by_name(last_minibatch, kLast, options.last_minibatch);
  if (bucket_minibatches) options.bucket_minibatches = *bucket_minibatches;
  if (memory_limit) options.memory_limit = *memory_limit;
  if (prefetch_depth == 0u) throw UsageError("--prefetch-depth: expected at least 1, found 0");
  if (prefetch_depth) options.prefetch_depth = *prefetch_depth;
}

}  // namespace batchfeed::cli
