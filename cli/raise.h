// SPDX-License-Identifier: MIT
//
// Limits on the command line.
#pragma once

#include <batchfeed/limits.h>

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace batchfeed::cli {

// --raise FIELD=N, repeatable, as a fault names the field.
void add_raise(CLI::App& app, std::vector<std::string>& rules);
// `limits`, but for what they say. Throws UsageError.
Limits raised(const std::vector<std::string>& rules, Limits limits = {});

}  // namespace batchfeed::cli
