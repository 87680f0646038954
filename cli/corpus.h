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
  bool cache_index = false, rebuild_cache = false;
  std::optional<OrderKind> order;
  std::optional<std::uint64_t> seed, window, window_samples;
  std::vector<double> mix_weights;
  std::optional<Shard> shard;
  std::optional<unsigned> threads;
  std::vector<std::string> raise;  // FIELD=N, for limits
  std::optional<std::uint64_t> unpacked_bytes, unpack_ratio, unpack_window_bytes;
  std::shared_ptr<const std::string> text;  // read instead of the only file (in_memory.h)
  std::size_t unpacked_text = 0;  // unpacked bytes to keep in memory, for commands that read files several times
  bool all_faults = false;        // of a configuration: each is reported, then the first thrown
  bool shuffles = false;          // the command shuffles what comes without a configuration, unless `order` is given

  void add_to(CLI::App& app, bool with_order);
  Limits limits() const;
  // Overrides order, index and paths of the setup, which may be a configuration's. Throws UsageError.
  void overlay(Setup& setup) const;
  // The name of an option given that is about shuffling; null if there is none.
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
  std::optional<LoadedConfig> config;  // without its setup
  std::optional<Inferred> inferred;    // for text without a configuration
};

// For several corpora with the same options: --section and --set are for the configurations among them, if there are
// any, and the others are not taken for one. Throws Error.
void for_configurations_alone(std::vector<CorpusArguments>& each);

// The same arguments for each of these files, a corpus each. Throws Error.
std::vector<CorpusArguments> one_by_one(CorpusArguments arguments, const std::vector<std::string>& files);

// Throws Error. `console` shows progress, and receives notices if `report` is empty.
Corpus load_corpus(const CorpusArguments& arguments, Console& console, const Report& report = {});

// Shows the progress of opening the corpus that the arguments name. Only the last one made is drawn.
Progress indexing(const CorpusArguments& arguments, Console& console);

// Several corpora, in all of which the classes of labels get the same numbers. Throws Error.
std::vector<Corpus> load_corpora(const std::vector<CorpusArguments>& each, Console& console);

// The reader sections of a configuration that has several, if none was asked for; else empty. Throws Error.
std::vector<std::string> sections_to_choose(const CorpusArguments& arguments);

}  // namespace batchfeed::cli
