// SPDX-License-Identifier: MIT
//
// What `convert` and `ctf2bin` share.
#pragma once

#include <batchfeed/convert.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "corpus.h"

namespace batchfeed::cli {

inline constexpr std::uint64_t kChunkBytes = 32u << 20, kShuffleMemory = 256u << 20;  // where nobody says

// By `--to`, else by the target's name. Throws UsageError.
Format target_format(const std::string& to, const std::string& path);

// The names of classes that labels of these streams have; none where they are numbers.
std::vector<std::string> label_names(const std::string& state_list, const Setup& setup,
                                     const std::vector<std::string>& streams);

// Ids that only number the sequences of a text are kept in text, as who joins by words needs
// them, and in a binary file of another order, where they say what it was.
void keep_ids(ConvertOptions& options, const Setup& setup);
// Whether a setup is one text corpus with ids.
bool has_ids(const Setup& setup);

// Throws UsageError if there is such a file already, unless it may be replaced, or it is standard output.
void expect_absent(const std::string& target, bool force);
// A part of a corpus does not replace it, although a file may be replaced: what it leaves out would be lost. Nor does
// it replace a file that a list among the sources names.
void expect_no_source(const std::string& target, Format to, const Setup& setup,
                      const char* left = "only a part of it would be left");
// The same of a command that writes all there is, where it was told `streams`, or opened by a configuration, which need
// not name them all.
void expect_no_source(const std::string& target, Format to, const Corpus& corpus,
                      const std::vector<std::string>& streams);
// As expect_absent() where a file is made again and again: throws if there is one that does not begin as its kind does,
// or does not hold `mark` behind that.
void expect_own(const std::string& target, std::string_view beginning, const char* kind, std::string_view mark = {});

// Where sequences are taken in the order of the file: chunks of text that stay in the
// cache. What is written or shown is the same.
void cut_small(Setup& setup);

// A binary file without a configuration is opened in its own precision. `setup`
// receives what the arguments mean.
std::unique_ptr<Source> open_for_conversion(const CorpusArguments& arguments, Console& console, Setup* setup = nullptr);
// One that is loaded, by these arguments.
std::unique_ptr<Source> open_for_conversion(Corpus corpus, const CorpusArguments& arguments, Console& console);

int run_conversion(const Source& source, const std::string& target, ConvertOptions options, bool json,
                   Console& console);

}  // namespace batchfeed::cli
