// SPDX-License-Identifier: MIT
//
// Files of data: opened once, read by offset with pread, never mapped
// (docs/explanation/why-not-mmap.md), or by the functions of a FileSystem. A file
// that changes after it was opened is a fault, never a wrong sample.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/files.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/identity.h"

namespace batchfeed::compressed {
struct Stored;
class Unpacked;
}  // namespace batchfeed::compressed

namespace batchfeed::io {

class Descriptor;

// A fault of kind io for a failed system call, with a hint where one helps.
[[noreturn]] void fail(const char* action, const std::string& path, int error);

// The fault of opening a file, if it cannot be opened: for lists that name many missing files. Nothing for remote files
// and where there are roots: there only File can tell.
std::optional<Fault> cannot_open(const std::string& path, const FileSystem& files);

// A regular or a remote file open for reading. Reading is thread-safe. There may be more Files than the system lets a
// process hold open (descriptor.h).
class File {
 public:
  // Throws Error(io): cannot be opened, or is no regular file.
  explicit File(const std::string& path);
  // Also of URLs, if `file_system` can open them. Throws Error(io) too if the file does
  // not lie in one of its roots.
  File(std::string path, const FileSystem& file_system);
  // As above, but of compressed files (gzip, zstd; told by content) size, offsets and
  // bytes are those of what they unpack to. Throws also Error(format, limit).
  File(std::string path, const FileSystem& file_system, const Limits& limits);
  // As above, but a path that ends in a symbolic link is refused: for files that
  // others could have put in our way, such as caches.
  static File open_without_following(const std::string& path);
  // Opens what lies at the path of this local file now, without unpacking it.
  File reopened() const;
  File(File&&) noexcept;
  File& operator=(File&&) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  const Identity& identity() const noexcept { return identity_; }  // of the file as it is stored
  bool is_remote() const noexcept { return remote_ != nullptr; }
  bool is_compressed() const noexcept { return unpacked_ != nullptr; }

  // Fills all of `out` from `offset`; a file that ends early is Error(stale).
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  // The same of the bytes as they are stored, of which there are identity().size.
  void read_stored(std::uint64_t offset, std::span<std::byte> out) const;
  // Bytes [begin, end) are about to be read, front to back: what is far away is
  // fetched ahead. Never needed, never throws.
  void will_read(std::uint64_t begin, std::uint64_t end) const noexcept;

  // Whether reading out of order, or in several places at once, may unpack much in vain.
  bool is_slow_out_of_order() const noexcept;
  // A warning if so.
  void warn_if_slow(const Report& report) const;

  // Throws Error(stale) if size or time (or version) of the open file are no longer
  // those it had when it was opened.
  void expect_unchanged() const;
  // Throws Error(stale) if it is not the file that somebody looked at before.
  void expect_same(const Identity& before) const;

 private:
  // Opens what lies at `place`; faults name it `path`.
  File(const std::string& place, int flags, std::string path, const FileSystem& files = {});
  compressed::Stored stored() const;

  std::string path_;
  Identity identity_;
  std::uint64_t size_ = 0;
  std::unique_ptr<const Descriptor> local_;
  std::shared_ptr<const RemoteFile> remote_;              // or this
  std::shared_ptr<const compressed::Unpacked> unpacked_;  // of a compressed file
};

// A fault of kind format at a byte of a file.
[[noreturn]] void fail_at(const File& file, std::uint64_t byte, const char* id, std::string what,
                          std::string hint = {});

// A fault of an archive, which is read as it is stored; if it is compressed, the hint says so, as the fault is about
// the compressed bytes then.
Fault of_archive(Fault fault, const File& file);

// Whole content, for small files (configurations, lists, caches); with `unpack` that of a compressed file unpacked.
// Error(limit) above `limit` bytes.
std::string read_whole(const std::string& path, std::uint64_t limit, const char* limit_name,
                       const FileSystem& file_system = {}, const Limits* unpack = nullptr);

// The first bytes of a file, or of what it unpacks to; at most `most`. And the size
// of the file; 0 for a compressed one, where it is not known.
struct Head {
  std::string bytes;
  std::uint64_t size = 0;
};
Head read_head(const std::string& path, std::size_t most, const FileSystem& file_system, const Limits& limits);

}  // namespace batchfeed::io
