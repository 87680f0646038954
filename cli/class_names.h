// SPDX-License-Identifier: MIT
//
// What classes are called.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/survey.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed::cli {

// The names of a label stream's classes, by index: of a list of states, or as comments in
// text give them. Empty where there are none; so are single names that are not known.
std::vector<std::string> class_names(const StreamSurvey& stream, const Setup& setup);

// The names that comments give to indices below `dim`, as converters of vocabularies write
// them: `|NAME 178:1 |# flight`. Empty unless they say one and the same of every index.
std::vector<std::string> commented_names(std::string_view text, std::string_view name, std::uint64_t dim);

// "14 flight", or where it has no name "14".
std::string class_text(std::uint64_t index, const std::vector<std::string>& names);

}  // namespace batchfeed::cli
