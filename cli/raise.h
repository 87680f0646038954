// SPDX-License-Identifier: MIT
//
// Limits on the command line.
#pragma once

#include <batchfeed/limits.h>

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace batchfeed::cli {

// Adds --raise FIELD=N, which may be repeated; FIELD is the name of a limit, as faults give it.
void add_raise(CLI::App& app, std::vector<std::string>& rules);
// `limits`, with the fields changed that the rules name. Throws UsageError.
Limits raised(const std::vector<std::string>& rules, Limits limits = {});

}  // namespace batchfeed::cli
