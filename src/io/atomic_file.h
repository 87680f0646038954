// SPDX-License-Identifier: MIT
//
// A file that appears whole or not at all: written beside its final name,
// flushed to disk, then renamed. Destroyed without commit(), it leaves nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/unfinished.h"

namespace batchfeed::compressed {
class ZstdWriter;
}

namespace batchfeed::io {

struct AtomicFileOptions {
  bool durable = true;  // else nothing is flushed to disk: whole unless power fails
  bool plain = false;   // not compressed, whatever its name
  bool clear = true;    // delete temporary files that killed writers of this path left long ago
  bool replace = true;  // else a path that exists is refused, also if it appears before commit()
  // A file of this system: who may not read it may not read this one. Other names change nothing. Without one, that is
  // the file that is replaced.
  std::string no_more_than = {};
};

class AtomicFile {
 public:
  // Throws Error(io). The temporary name is unique, so writers may race: the last
  // commit wins, or without `replace` the first, and each result is whole. What is
  // appended to a path that ends in .zst is compressed on the way, with a seek table behind it.
  explicit AtomicFile(std::string path, AtomicFileOptions options = {});
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Throws Error(usage) after seal(), and so does a second commit(). Where a call could not write
  // all it had to, the file is torn: only discard() may follow.
  void append(std::span<const std::byte> bytes);
  void append(std::string_view text) { append(std::as_bytes(std::span(text))); }
  // Puts `bytes` over the first ones that were appended: a header that counts what follows.
  void rewrite_head(std::span<const std::byte> bytes);
  // Bytes appended, before compression.
  std::uint64_t size() const noexcept { return size_; }
  // The path that it gets, from wherever the process may be then.
  const std::string& place() const noexcept { return place_; }
  // The path of the file until commit(), likewise.
  const std::string& temporary() const noexcept { return temp_; }
  // Everything of commit() that is likely to fail, so that of several files all
  // or none get their names.
  void seal();
  // Deletes a file that was only needed on the way; throws if it cannot be deleted.
  void discard();
  void commit();

 private:
  void expect_unwritten(bool open) const;
  void forget();  // nothing has the temporary name any more

  std::string path_, place_, temp_;
  AtomicFileOptions options_;
  int fd_ = -1;
  bool done_ = false;  // nothing is left to remove
  bool torn_ = false;
  std::optional<Unfinished> unfinished_;
  std::uint64_t size_ = 0;
  std::unique_ptr<compressed::ZstdWriter> zstd_;
};

// Throws Error(usage): the writer of this path is done, as it has written all or has failed.
[[noreturn]] void refuse_written(const std::string& path);

// Gives a file or a folder its final name, which faults call `name`. Without `replace` it throws what
// refuse_existing() does.
void put_in_place(const std::string& from, const std::string& to, bool replace, const std::string& name);
[[noreturn]] void refuse_existing(const std::string& path);

// Takes the permissions from a file or folder that another one does not give either, but not from its owner.
void allow_no_more_than(const std::string& path, const std::string& other) noexcept;

// Exchanges two paths, so that neither is ever missing; where the file system cannot do that,
// `other` is missing for a moment.
void exchange(const std::string& one, const std::string& other);

// Returns when all that was written to the file system of `path` is on disk.
void sync_file_system(const std::string& path);

}  // namespace batchfeed::io
