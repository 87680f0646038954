// SPDX-License-Identifier: MIT
//
// Says what is wrong with a command line, and what was probably meant.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace batchfeed::cli {

// The message, WHAT; hint: HINT, for an error of CLI11's parser.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error);

// "batchfeed config check"
std::string path_of(const CLI::App& app);

}  // namespace batchfeed::cli
