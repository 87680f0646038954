// SPDX-License-Identifier: MIT
//
// What the files on the command line look like: a configuration, a corpus, or something else taken for one.
#pragma once

#include <batchfeed/error.h>

#include <string>

#include "corpus.h"

namespace batchfeed::cli {

// Whether a file is a configuration by its name.
bool looks_like_config(const std::string& path);

// Throws Error for a corpus that is taken for a configuration: every line of it would be a fault.
void expect_config(const std::string& path, const CorpusArguments& arguments);
// Throws UsageError for what CNTK's own command line takes: configFile=x.cntk, and text that overrides.
void expect_no_overrides(const std::vector<std::string>& files);

// Throws UsageError for data files beside a configuration: as that may have any name, they would be read as
// configurations, too.
void expect_of_one_kind(const CorpusArguments& arguments);

// The error for a file of no known format, with a hint what it may be and what to do.
Error not_a_corpus(const std::string& path, const Limits& limits);
// The error for a text in which no stream was found.
Error no_stream(const std::string& path, const Limits& limits);

}  // namespace batchfeed::cli
