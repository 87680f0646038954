// SPDX-License-Identifier: MIT
//
// The part of `info` about features and labels.
#pragma once

#include <batchfeed/tools.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace batchfeed::cli {

std::string speech_text(const std::vector<SpeechStream>& streams, const Description& about);
nlohmann::ordered_json speech_json(const std::vector<SpeechStream>& streams);

}  // namespace batchfeed::cli
