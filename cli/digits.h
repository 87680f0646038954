// SPDX-License-Identifier: MIT
//
// Numbers on the command line are decimal digits. CLI11 itself would take -1 for the largest number
// there is, 010 for eight, and too many digits for the largest number, which nobody means.
#pragma once

#include <CLI/App.hpp>

namespace batchfeed::cli {

// Makes every option of `app` and its subcommands that takes a count, a seed or bytes (as its type's name says) refuse
// anything else.
void expect_digits(CLI::App& app);

}  // namespace batchfeed::cli
