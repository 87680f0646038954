// SPDX-License-Identifier: MIT
//
// Numbers on the command line are decimal digits. CLI11 itself would take -1 for the largest number
// there is, 010 for eight, and too many digits for the largest number, which nobody means. Names of files and folders
// are not empty, which mostly means that a variable of the shell is not set.
#pragma once

#include <CLI/App.hpp>

namespace batchfeed::cli {

// Makes every option of `app` and its subcommands that takes a count, a seed, bytes, a file or a folder (as its type's
// name says) refuse anything else.
void expect_words(CLI::App& app);

}  // namespace batchfeed::cli
