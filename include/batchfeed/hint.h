// SPDX-License-Identifier: MIT
//
// How the hints of faults name options and tools, which each front door writes in its own way.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace batchfeed {

// In a hint stands `section = Train.reader` for an option and what it could be, `force` for one without a value, and
// `check()` for a tool; also keys of a configuration, `maxErrors` or `frameMode = false`, where options of the
// library's own mean the same. Gives the hint with each of them as `words` says, who is told "section" and
// "Train.reader", "force" and "", "check()" and "".
std::string with_names(std::string_view hint,
                       const std::function<std::string(std::string_view name, std::string_view value)>& words);

}  // namespace batchfeed
