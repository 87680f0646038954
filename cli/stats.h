// SPDX-License-Identifier: MIT
//
// The figures of a stream, as `stats` and `report` give them.
#pragma once

#include <batchfeed/survey.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace batchfeed::cli {

// `names` of its classes: class_names.h.
nlohmann::ordered_json survey_json(const StreamSurvey& stream, const std::vector<std::string>& names);
nlohmann::ordered_json lengths_json(const Description::Lengths& lengths);
// "12.5": six digits at most.
std::string figure(double value);

}  // namespace batchfeed::cli
