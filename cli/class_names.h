// SPDX-License-Identifier: MIT
//
// What classes are called.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/survey.h>

#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::cli {

// The names of a label stream's classes, by index: of a list of states, or as comments in
// text give them. Empty where there are none; so are single names that are not known.
std::vector<std::string> class_names(const StreamSurvey& stream, const Setup& setup);

// "14 flight", or where it has no name "14".
std::string class_text(std::uint64_t index, const std::vector<std::string>& names);

}  // namespace batchfeed::cli
