// SPDX-License-Identifier: MIT
//
// The utterances of Kaldi scp and ark files.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "formats/kaldi/ark.h"
#include "model/fault_sink.h"
#include "model/open_context.h"

namespace batchfeed::kaldi {

struct Entry {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  // of its object
  std::uint64_t end = 0;     // offset behind the object
  std::uint32_t file = 0;    // of Index::paths
  std::uint32_t first = 0;   // row
  std::uint32_t frames = 0;
};
inline bool same_object(const Entry& a, const Entry& b) noexcept { return a.file == b.file && a.offset == b.offset; }
// Sorts entries so that those of one object stand together, in the order of their rows.
inline bool before_in_file(const Entry& a, const Entry& b) noexcept {
  return std::tie(a.file, a.offset, a.first) < std::tie(b.file, b.offset, b.first);
}

struct Index {
  std::vector<std::string> paths;
  std::vector<io::Identity> identities;  // as paths
  std::vector<Entry> entries;
  std::vector<std::uint64_t> chunk_first;
  std::uint64_t dim = 0;  // values of a row, the same in all
  std::vector<Notice> notices;
};

// Whether a path is that of a list (scp, also compressed) and not of an archive, by its name.
bool is_list(std::string_view path) noexcept;

// One line of a scp file: key, then path, path:offset, and perhaps [first:last].
struct ScpLine {
  std::string key, path;
  std::uint64_t offset = 0;
  bool has_range = false;
  std::uint32_t first = 0, last = 0;
};
ScpLine parse_scp_line(std::string_view line, const Position& at, const Limits& limits);

// Opens a file of the index again; throws Error(stale) if it is no longer what was indexed.
io::File reopen(const Index& index, std::uint32_t number, const FileSystem& file_system);

Index build_index(const KaldiOptions& options, const OpenContext& context, FaultSink& faults);

}  // namespace batchfeed::kaldi
