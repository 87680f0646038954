// SPDX-License-Identifier: MIT
//
// One pass over a text corpus that looks only at line starts and names: where
// each sequence stands, its key, and how long it says it is.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/ctf/schema.h"
#include "io/file.h"
#include "model/index.h"
#include "model/open_context.h"

namespace batchfeed::ctf {

// Where the data of a file starts and how its sequences are told apart.
struct Start {
  bool line_mode = false;        // every line is a sequence; its key is its line number from 0
  std::uint64_t line_begin = 0;  // the first line that is neither blank nor only comment
  std::uint64_t begin = 0;       // of the first sequence: `line_begin`, or behind the white space that leads it
  std::uint64_t lines = 0;       // lines before it
};

// Throws Error(format) for UTF-16, for a file without data, and for a first line without an id.
Start find_start(const io::File& file, bool skip_sequence_ids, KeyMode keys, const Limits& limits);

struct IndexNotes {
  std::uint64_t left_out = 0;        // sequences without a declared input (or without the main stream)
  std::uint64_t first_left_out = 0;  // byte
  std::uint64_t above = 0;           // sequences with ids above 2^64 - 1, where they are only counted
  std::uint64_t first_above = 0;     // byte
  std::string above_id;              // of the first
  struct Repeated {
    std::uint64_t key, first, second;  // bytes where the two begin
    std::uint64_t sequences;           // that have the key of an earlier one, this and others
  };
  std::optional<Repeated> repeated;  // the first key that comes back; set by the caller
};

struct IndexResult {
  Index index;  // without chunks
  IndexNotes notes;
};

// Indexes in context.threads ranges; `range_bytes` is the least size of one. `every_line`: as RangeIndexer.
// Throws Error for ids out of range unless they are only counted, lines or keys above a limit, and where no sequence is
// left.
IndexResult index_file(const io::File& file, const Start& start, const Schema& schema, const OpenContext& context,
                       std::uint64_t range_bytes = 8ull << 20, bool every_line = false);

// Cuts the entries into chunks of at most `limit` bytes (ctf.md 12.1).
std::vector<ChunkInfo> cut_chunks(Index& index, std::uint64_t limit);

// The first key that comes back later.
std::optional<IndexNotes::Repeated> find_repeated(const IndexEntries& entries);

}  // namespace batchfeed::ctf
