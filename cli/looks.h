// SPDX-License-Identifier: MIT
//
// What the files on the command line look like: a configuration, a corpus, or what somebody took for one.
#pragma once

#include <batchfeed/error.h>

#include <string>

#include "corpus.h"

namespace batchfeed::cli {

// By its name.
bool looks_like_config(const std::string& path);

// Throws Error for a corpus that is taken for a configuration: every line of it would be a fault.
void expect_config(const std::string& path, const CorpusArguments& arguments);
// Throws UsageError for what CNTK's own command line takes: configFile=x.cntk, and text that overrides.
void expect_no_overrides(const std::vector<std::string>& files);

// Throws UsageError: a configuration may have any name, so data among configurations are a slip.
void expect_of_one_kind(const CorpusArguments& arguments);

// Of a file of no known format: what it may be, and where to go with it.
Error not_a_corpus(const std::string& path, const Limits& limits);
// Of a text in which no stream was found.
Error no_stream(const std::string& path, const Limits& limits);

}  // namespace batchfeed::cli
