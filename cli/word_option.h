// SPDX-License-Identifier: MIT
//
// An option whose value is one word of an enumeration.
#pragma once

#include <batchfeed/names.h>

#include <CLI/App.hpp>
#include <CLI/Validators.hpp>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace batchfeed::cli {

// `field` must live until the command line has been parsed.
template <Named Enum>
CLI::Option* add_word_option(CLI::App& app, const std::string& flag, std::optional<Enum>& field,
                             const std::string& what) {
  const auto& words = Names<Enum>::all;
  return app
      .add_option_function<std::string>(
          flag, [&field](const std::string& word) { field = named<Enum>(word); }, what)
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(words), std::end(words))));
}

}  // namespace batchfeed::cli
