// SPDX-License-Identifier: MIT
//
// The bounds batchfeed sets on what a file may ask for. Exceeding one is a
// fault of kind `limit` that names the field; each can be raised by the caller.
#pragma once

#include <cstdint>

namespace batchfeed {

struct Limits {
  std::uint64_t line_bytes = 1ull << 30;       // one line of a text corpus; lines of up to 512 KiB always pass
  std::uint64_t list_line_bytes = 1ull << 16;  // one line of an scp, MLF, or list file
  std::uint64_t dim = (1ull << 31) - 1;        // dimension of a stream
  std::uint64_t streams = 1024;                // streams of a source, sources of a reader, readers of a configuration
  std::uint64_t name_bytes = 1024;             // a stream's name or alias, the path of a configuration's section
  std::uint64_t key_bytes = 4096;              // a sequence's textual key
  std::uint64_t sequence_samples = (1ull << 31) - 1;  // samples of one sequence
  std::uint64_t label_frames = 1ull << 24;            // frames that one utterance's labels cover (46 hours of 10 ms)
  std::uint64_t label_ratio = 256;  // frames that an MLF may cover for each of its bytes; up to 2 Mi frames pass
  std::uint64_t chunk_values = 0xFFFFFFFFull;  // values of one stream in one chunk
  std::uint64_t implied_samples = 4ull << 20;  // samples and values of a chunk that have no bytes in the file
  std::uint64_t scp_entries = 100'000'000;     // entries of all scp lists of a stream
  std::uint64_t mlf_states = 1'000'000;        // labels of a state list
  std::uint64_t config_bytes = 4ull << 20;     // a configuration, with its includes
  std::uint64_t config_depth = 32;             // nested groups
  std::uint64_t config_expansions = 100'000;   // $variables$ replaced, keys of a section, elements of arrays and lists
  std::uint64_t config_includes = 64;          // configuration files, included ones among them
  std::uint64_t state_bytes = 16ull << 20;     // a saved state
  std::uint64_t pattern_bytes = 64ull << 20;   // paths that the patterns of a source look at; a folder counts 512 more
  std::uint64_t unpacked_bytes = 1ull << 40;   // bytes that a compressed file unpacks to
  std::uint64_t unpack_ratio = 2000;           // unpacked bytes for each compressed byte; up to 64 MiB always pass
  std::uint64_t unpack_window_bytes = 128ull << 20;  // memory that unpacking a zstd file may need
  std::uint64_t unpack_held_ratio = 256;  // bytes of a line or index per byte of compressed text; 64 and 32 MiB pass
};

}  // namespace batchfeed
