// SPDX-License-Identifier: MIT
//
// Several sources become one, by key: the first is primary and gives chunks,
// order and the set of sequences; each other gives the sequence with the same
// key (minibatch.md 2). And: shards of one corpus, one after the other.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace batchfeed::join {

struct Options {
  // Frames are drawn one by one: each sequence counts the frames of the primary,
  // and every source must have all of them (htk.md 11.1).
  bool frames = false;
  // Utterances whose sources differ in length are left out. An Error if more than half of all utterances are too long
  // or differ among the features, or more than half have no labels of their length (HTKMLFReader, htk.md 11.2).
  // A repeated key gets the next partner with it each time, as if lists were joined line by line.
  bool exact = false;
  // Where `exact`: how many sequences the primary has left out as too long. They count as left out here, too.
  std::uint64_t too_long = 0;
  // Each sequence of the primary needs a partner in every source, as long as it is or of one sample, which then stands
  // for all of them; else an Error (HTKMLFReader that writes, htk.md 14.4). Repeated keys are as where `exact`.
  bool strict = false;
  // Called where `exact` has left sequences out, with their numbers, counted over the chunks of the primary: it must
  // leave these out of the primary, too, and cut its chunks anew. Empty: chunks stay as they are.
  std::function<void(const std::vector<std::uint64_t>&)> cut_again = {};
  // Of each source: its sequences should be as long as the primary's (features and
  // their labels); others are kept, and counted in a notice. Empty: none.
  std::vector<bool> same_length = {};
  // Receives every sequence that a notice would only count, with its place; then
  // notices() says nothing of these. Empty: notices count them.
  std::function<void(const Fault&)> each = {};
  // Bytes of decoded chunks of secondary sources kept for reuse.
  std::uint64_t cache_bytes = 512ull << 20;
};

// Throws Error(config): a stream name twice, two sources that define the
// minibatch size, no key in common. notices() has what the join leaves out, then what
// the sources tell.
std::unique_ptr<Source> join(std::vector<std::unique_ptr<Source>> sources, const Options& options);

// One source of all chunks, in order: shards of a corpus, or the corpora of a
// mixture. Throws Error(config) if streams differ.
// Of what kind the shards' keys are, which decides what key_text() says.
enum class Keys : std::uint8_t {
  shared,    // of one table, which every shard knows
  numbered,  // of each shard from 0 (binary corpora); here those of later shards get the numbers behind
  own,       // each shard's: a key has a name where all say the same, else it is its number
};
std::unique_ptr<Source> concatenate(std::vector<std::unique_ptr<Source>> shards, Keys keys = Keys::own);
std::shared_ptr<const Source> concatenate(std::vector<std::shared_ptr<const Source>> corpora);

}  // namespace batchfeed::join
