// SPDX-License-Identifier: MIT
//
// Some sequences of a corpus, and some of its streams, as a corpus of their own:
// what `head`, `sample`, `grep` and `split` choose, and what convert() then writes.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace batchfeed {

// Sequences of a source: for each chunk the places in its table, ascending. Chunks
// behind the last one that has any may be missing.
using Rows = std::vector<std::vector<std::uint32_t>>;

std::uint64_t count(const Rows& rows) noexcept;

// `most` sequences in the order of the source, from number `first` on (from 0).
Rows rows_from(const Source& source, std::uint64_t first, std::uint64_t most);

// `most` sequences drawn without replacement, all sets of them equally likely; all
// of them where there are no more. The same seed draws the same ones, everywhere.
Rows sample_rows(const Source& source, std::uint64_t most, std::uint64_t seed);

// So many sequences are a fraction of the source's, rounded. Throws Error(usage) unless it is above 0 and up to 1.
std::uint64_t sample_count(const Source& source, double fraction);

// In the order of the source; chunks without any are gone. Keys and places are the
// source's; keys that only number the sequences of each of several shards from 0 become
// numbers of the whole. Thread-safe, as every Source.
std::unique_ptr<Source> subset(std::shared_ptr<const Source> source, Rows rows);

// The streams `keep`, in this order (all if empty), then `renames` (from, to). Throws
// Error(usage) for names that are not there, or not unique afterwards.
std::unique_ptr<Source> select_streams(std::shared_ptr<const Source> source, const std::vector<std::string>& keep,
                                       const std::vector<std::pair<std::string, std::string>>& renames = {});

// False if the keys are 0, 1, 2 ... in the order of the source, or of each of its shards, and say no more than it.
bool has_own_keys(const Source& source);

// Whether no sequence has more than one sample of a stream, so that a line of text can hold each. False where nominal
// lengths count one of several streams (StreamInfo::defines_mb_size). Reads data where lengths are only what a binary
// file says. Throws Error.
bool one_sample_each(const Source& source);

}  // namespace batchfeed
