// SPDX-License-Identifier: MIT
//
// How the hints of faults name options and tools, which each front door writes in its own way.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace batchfeed {

// Hints name options, tools and keys of a configuration between backquotes: `section = Train.reader` is an option and
// a value for it, `force` one without, `check()` a tool. Gives the hint with each of them replaced by
// words(name, value), which is called here with ("section", "Train.reader"), ("force", "") and ("check()", "").
std::string with_names(std::string_view hint,
                       const std::function<std::string(std::string_view name, std::string_view value)>& words);

}  // namespace batchfeed
