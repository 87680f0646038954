// SPDX-License-Identifier: MIT
//
// CONFIG or FILE on the command line: a `.cntk` configuration, or a corpus that
// comes without one, whose streams are inferred.
#pragma once

#include <batchfeed/config.h>
#include <batchfeed/options.h>
#include <batchfeed/tools.h>

#include <optional>
#include <string>
#include <vector>

#include "command.h"

namespace batchfeed::cli {

struct CorpusArguments {
  std::vector<std::string> files;
  std::string section;
  std::vector<std::string> set;
  std::string precision;
  std::string cache_dir;
  bool cache_index = false;
  std::string order;
  std::optional<std::uint64_t> seed, window;
  std::string shard;
  std::optional<unsigned> threads;

  void add_to(CLI::App& app, bool with_order);
};

struct Corpus {
  Setup setup;
  Format format = Format::config;      // of the first file
  std::optional<LoadedConfig> config;  // setup moved out of it
  std::optional<Inferred> inferred;    // for text without a configuration
};

// Throws Error. `console` shows progress and receives notices, unless `report` does.
Corpus load_corpus(const CorpusArguments& arguments, Console& console, const Report& report = {});

}  // namespace batchfeed::cli
