// SPDX-License-Identifier: MIT
//
// Files of data: opened once, read by offset with pread, never mapped
// (docs/explanation/why-not-mmap.md). A file that changes after it was opened is
// a fault, never a wrong sample.
#pragma once

#include <batchfeed/error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace batchfeed::io {

// A fault of kind io for a failed system call, with a hint where one helps.
[[noreturn]] void fail(const char* action, const std::string& path, int error);

// What identifies the bytes of a file without reading them.
struct Identity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t mtime_ns = 0;
  bool operator==(const Identity&) const = default;
};

// A regular file open for reading. Reading is thread-safe.
class File {
 public:
  // Throws Error(io): cannot be opened, or is no regular file.
  explicit File(std::string path);
  // As above, but a path that ends in a symbolic link is refused: for files that
  // others could have put in our way, such as caches.
  static File open_without_following(std::string path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return identity_.size; }
  const Identity& identity() const noexcept { return identity_; }
  int descriptor() const noexcept { return fd_; }

  // Fills all of `out` from `offset`; a file that ends early is Error(stale).
  void read(std::uint64_t offset, std::span<std::byte> out) const;

  // Throws Error(stale) if size or time of the open file are no longer those it
  // had when it was opened.
  void expect_unchanged() const;

 private:
  File(std::string path, int flags);

  std::string path_;
  int fd_ = -1;
  Identity identity_;
};

// Whole content, for small files (configurations, lists, caches).
// Error(limit) above `limit` bytes.
std::string read_whole(const std::string& path, std::uint64_t limit, const char* limit_name);

}  // namespace batchfeed::io
