// SPDX-License-Identifier: MIT
//
// The figures of a stream, as `stats`, `report`, `info` and `schema` give them.
#pragma once

#include <batchfeed/survey.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace batchfeed::cli {

// `names`: of the classes, from class_names.h.
nlohmann::ordered_json survey_json(const StreamSurvey& stream, const std::vector<std::string>& names);
nlohmann::ordered_json lengths_json(const Description::Lengths& lengths);
// "0 ... 255, whole numbers"
std::string range_text(const Inferred::Stream& stream);

}  // namespace batchfeed::cli
