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

inline constexpr std::uint64_t kChunkBytes = 32u << 20, kShuffleMemory = 256u << 20;  // the defaults

// The format of a target: `to`, or if that is empty by the extension of `path`. Throws UsageError.
Format target_format(const std::string& to, const std::string& path);

// The names of the classes of labels in these streams (of all streams if empty); empty if classes have no names.
std::vector<std::string> label_names(const std::string& state_list, const Setup& setup,
                                     const std::vector<std::string>& streams);

// What --keys says.
ConvertOptions::Keys keys_of(const std::string& word);

// Makes a conversion keep ids of a text even if they only number its sequences: in text, where joins by text need
// them; and in a shuffled binary file, where they tell the order before.
void keep_ids(ConvertOptions& options, const Setup& setup);
// Whether a setup is one text corpus with ids.
bool has_ids(const Setup& setup);

// Throws UsageError if `target` exists (unless `force`), or is a folder, standard output or empty.
void expect_absent(const std::string& target, bool force);
// Throws UsageError if `target` is a file that `setup` reads, or that a list among its sources names: if a part of a
// corpus replaced the corpus, the rest would be lost. `left` says that in the message.
void expect_no_source(const std::string& target, Format to, const Setup& setup,
                      const char* left = "only a part of it would be left");
// The same for a command that writes all sequences: it writes only a part if `streams` are chosen, or if the corpus was
// opened by a configuration, which need not declare all streams, or by a list other than `target`, which need not name
// all that its files hold; or if streams were taken for slips, and are not read.
void expect_no_source(const std::string& target, Format to, const Corpus& corpus,
                      const std::vector<std::string>& streams);
// For a file that is written again and again: throws UsageError if `target` exists and is not of its kind, which begins
// with `beginning` and holds `mark`.
void expect_own(const std::string& target, std::string_view beginning, const char* kind, std::string_view mark = {});

// Makes chunks of text so small that they stay in the CPU's cache, for commands that take sequences in
// the order of the file: what they write or show does not depend on chunks.
void cut_small(Setup& setup);

// Opens a corpus to be written; a binary file without a configuration in its own precision. `setup`
// receives the setup that the arguments gave.
std::unique_ptr<Source> open_for_conversion(const CorpusArguments& arguments, Console& console, Setup* setup = nullptr);
// The same for a corpus that was loaded by these arguments.
std::unique_ptr<Source> open_for_conversion(Corpus corpus, const CorpusArguments& arguments, Console& console);

int run_conversion(const Source& source, const std::string& target, ConvertOptions options, bool json,
                   Console& console);

}  // namespace batchfeed::cli
