// SPDX-License-Identifier: MIT
//
// A corpus divided into parts (train, test), and several corpora as one.
#pragma once

#include <batchfeed/convert.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace batchfeed {

struct SplitOptions {
  // Of the sequences, for each part; they sum to 1. At most 255 parts.
  std::vector<double> fractions = {};
  std::uint64_t seed = 0;
  // Parts have exactly these sizes. Otherwise a sequence's key alone decides, so that it
  // stays in its part when the corpus grows, and sizes meet the fractions on average only.
  // The key of a sequence in shards without ids is its number in the whole.
  bool exact = false;
  // Exact within each class of this stream: the index of the largest value of the
  // first sample. Damaged sequences are a class of their own.
  std::string stratify = {};
  // Sequences whose keys agree up to the last of these characters (speakers) stay
  // together; not with exact or stratify.
  std::string group = {};
  unsigned jobs = 0;       // threads that read, to stratify; 0 = one per core
  Progress progress = {};  // bytes read, to stratify; may throw to give up
};

// The part of every sequence: for each chunk, by its place in the table.
using Parts = std::vector<std::vector<std::uint8_t>>;

// Reads data only to stratify. Memory: a byte a sequence, 24 more where it is exact.
// Throws Error(usage) for fractions or streams that make no sense.
Parts split_parts(const Source& source, const SplitOptions& options);

// Writes each part to its target, in the order of the source, which is read once.
// Every target appears whole, and all of them or none. options.to applies where
// `formats` says unknown; shuffle and verify are ignored. Keys are kept; those that only
// number the sequences of each shard from 0 become numbers of the whole.
std::vector<ConvertResult> split(const Source& source, const Parts& parts, const std::vector<std::string>& targets,
                                 const std::vector<Format>& formats, const ConvertOptions& options);

// The corpora one after the other, with the streams of the first; a sparse dim is the
// largest of all. Throws Error(usage) if streams do not fit. Keys count the sequences
// from 0; key_text() gives the corpora's own. Memory: 8 bytes a sequence.
std::unique_ptr<Source> concatenate(std::vector<std::shared_ptr<const Source>> corpora);

// Whether two sequences have the same key (to within the hashes of their texts).
bool keys_repeat(const Source& source);

// concatenate() of options.streams (all if empty), for convert() with these options. Sets options.keys where they are
// automatic: keys that are all different and say more than the order are kept; else sequences are numbered, unless
// each is a line of text, which needs no key. options.report is told where keys are lost by that. Throws Error(usage)
// also where keys that are to be kept occur more than once. Reads data where one_sample_each() does.
std::unique_ptr<Source> merge(std::vector<std::shared_ptr<const Source>> corpora, ConvertOptions& options);

}  // namespace batchfeed
