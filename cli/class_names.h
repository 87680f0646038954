// SPDX-License-Identifier: MIT
//
// The names of classes.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/survey.h>

#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::cli {

// The names of a label stream's classes, by index: from a list of states, or from comments in
// text. Empty if there are none; a single name that is not known is an empty string.
std::vector<std::string> class_names(const StreamSurvey& stream, const Setup& setup);

// "14 flight", or "14" if the class has no name.
std::string class_text(std::uint64_t index, const std::vector<std::string>& names);

}  // namespace batchfeed::cli
