// SPDX-License-Identifier: MIT
//
// CONFIG or FILE on the command line: a `.cntk` configuration, or a corpus that
// comes without one, whose streams are inferred.
#pragma once

#include <batchfeed/config.h>
#include <batchfeed/options.h>
#include <batchfeed/tools.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace batchfeed::cli {

struct CorpusArguments {
  std::vector<std::string> files;
  std::string section;
  std::vector<std::string> set;
  std::optional<Element> precision;
  std::string state_list;
  std::vector<std::string> map_path;
  std::vector<std::string> roots;
  std::string cache_dir;
  bool cache_index = false;
  std::optional<OrderKind> order;
  std::optional<std::uint64_t> seed, window, window_samples;
  std::vector<double> mix_weights;
  std::optional<Shard> shard;
  std::optional<unsigned> threads;
  std::vector<std::string> raise;  // limits
  std::optional<std::uint64_t> unpacked_bytes, unpack_ratio, unpack_window_bytes;
  std::shared_ptr<const std::string> text;  // of the one file, read in its place (in_memory.h)
  std::size_t unpacked_text = 0;  // of compressed files, kept in memory for whoever looks at them several times
  bool all_faults = false;        // of a configuration: each is reported, then the first thrown

  void add_to(CLI::App& app, bool with_order);
  Limits limits() const;
  // What is said of order, index and paths here goes before what a configuration says. Throws UsageError.
  void overlay(Setup& setup) const;
  // An option that says how to shuffle, null if none is given.
  const char* given_of_shuffle() const;

 private:
  void add_configuration(CLI::App& app);
  void add_index(CLI::App& app);
  void add_limits(CLI::App& app);
  void add_order(CLI::App& app);
};

struct Corpus {
  Setup setup;                         // with a mixture: `mix`, one for each file
  Format format = Format::config;      // of the first file
  std::optional<LoadedConfig> config;  // setup moved out of it
  std::optional<Inferred> inferred;    // for text without a configuration
};

// Throws Error. `console` shows progress and receives notices, unless `report` does.
Corpus load_corpus(const CorpusArguments& arguments, Console& console, const Report& report = {});

// What shows how far the opening of what they name is. Of several the last one counts.
Progress indexing(const CorpusArguments& arguments, Console& console);

// Corpora that are put side by side: classes of labels have the same numbers in all of them. Throws Error.
std::vector<Corpus> load_corpora(const std::vector<CorpusArguments>& each, Console& console);

// The reader sections of a configuration that has several, where none was asked for. Throws Error.
std::vector<std::string> sections_to_choose(const CorpusArguments& arguments);

}  // namespace batchfeed::cli
