// SPDX-License-Identifier: MIT
//
// The entries of a list of files (scp), a line each, in bounded memory. Blank lines and a
// mark of UTF-8 in front are passed over.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/lines.h"
#include "io/room.h"

namespace batchfeed::io {

class ListReader {
 public:
  // `entries` counts those of all lists of a corpus, `paths` are the files they have named; both
  // outlive the reader, as does the list.
  ListReader(const File& list, std::uint64_t& entries, const std::vector<std::string>& paths, const Limits& limits);

  // The next entry; false at the end. Throws Error(limit) for too long a line or too many entries.
  bool next();
  std::string_view text() const noexcept { return text_; }
  const Position& at() const noexcept { return at_; }  // where it begins

  // Counts what is kept of the entry: so many bytes, its key, and what was added to `paths`. Throws
  // Error(limit) where a compressed list becomes too large.
  void keep(std::size_t bytes, std::string_view key);

  std::uint64_t blank_lines() const noexcept { return blank_lines_; }

 private:
  const Limits& limits_;
  std::uint64_t& entries_;
  const std::vector<std::string>& paths_;
  LineReader lines_;
  IndexRoom room_;
  Position at_;
  std::string_view text_;
  std::size_t known_ = 0;  // paths before this entry
  std::uint64_t blank_lines_ = 0;
};

}  // namespace batchfeed::io
