// SPDX-License-Identifier: MIT
//
// Keys of a binary file, which itself has none: PATH.keys beside it, text.
//
//   #batchfeed-keys 1
//   KEY                          one line a sequence, in the order of the file
//   #end SEQUENCES BYTES         as many as the file has
//
// A side file whose numbers do not fit its data is ignored.
#pragma once

#include <batchfeed/files.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"

namespace batchfeed::cbf {

inline constexpr std::string_view kKeysHead = "#batchfeed-keys 1\n";

std::string keys_path(const std::string& path);
std::string keys_trailer(std::uint64_t sequences, std::uint64_t bytes);

// Throws Error if there is a PATH.keys that batchfeed did not write: nobody has named it, so it is never replaced.
void refuse_foreign_keys(const std::string& path);

// Whether there is a PATH.keys of batchfeed's that belongs to other data, and so is ignored; worth a notice.
bool has_other_keys(const std::string& path, std::uint64_t sequences, std::uint64_t bytes,
                    const FileSystem& file_system = {});

// Calls file.commit() and deletes the PATH.keys of an older file, which readers would trust if its numbers fit. With
// `replace` they are deleted before the commit, else after it: until it succeeds, they may belong to another writer
// that created PATH first.
void commit_without_keys(io::AtomicFile& file, bool replace);

class Keys {
 public:
  // Empty if there is no such file, or one that does not fit.
  Keys() = default;
  Keys(const std::string& path, std::uint64_t sequences, std::uint64_t bytes, const FileSystem& file_system = {});

  bool empty() const noexcept { return begin_.empty(); }
  std::string_view operator[](std::uint64_t i) const noexcept;

 private:
  std::string text_;
  std::vector<std::uint64_t> begin_;  // of each line, and of the trailer
};

}  // namespace batchfeed::cbf
