// SPDX-License-Identifier: MIT
//
// Minibatches as JSON lines (docs/reference/cli.md, "read"): the form scripts
// and recorded runs rely on, key order included.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/minibatch.h>
#include <batchfeed/reader.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "numbers.h"

namespace batchfeed::cli {

// One object and a line feed behind what `out` holds.
void append_jsonl(const Minibatch& batch, const Reader& reader, Text& out);

// A JSON string with its quotes. Broken UTF-8 becomes U+FFFD.
void append_string(std::string_view text, Text& out);

// {"kind","file","line","column","byte","what","hint"}; null where unknown.
nlohmann::ordered_json fault_json(const Fault& fault);
// The same with "id", "stream" and the severity, for reports.
nlohmann::ordered_json notice_json(const Notice& notice);
std::string dump(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace batchfeed::cli
