// SPDX-License-Identifier: MIT
//
// load_config over texts: what the public functions, the tests and the fuzzer share.
#pragma once

#include <batchfeed/config.h>

#include <string>
#include <vector>

#include "config/document.h"

namespace batchfeed::config {

// Binds the reader section `request.section` of the loaded document. Files and
// `set` of the request are not looked at.
LoadedConfig load(Document& doc, const ConfigRequest& request);

// Binds every reader section, or the one that is asked for, and reports what is wrong. Returns the sections.
std::vector<std::string> check(Document& doc, const ConfigRequest& request);

// Every reader section, as dotted paths in file order.
std::vector<std::string> find_readers(Document& doc);

}  // namespace batchfeed::config
