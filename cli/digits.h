// SPDX-License-Identifier: MIT
//
// Numbers on the command line are decimal digits: what else the library that takes the line apart
// would make of them (-1 the largest there is, 010 eight, too many digits the largest) nobody means.
#pragma once

#include <CLI/App.hpp>

namespace batchfeed::cli {

// Every option of `app` and its commands that takes a count, a seed or bytes, by its type's name.
void expect_digits(CLI::App& app);

}  // namespace batchfeed::cli
