// SPDX-License-Identifier: MIT
#include "io/identity.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/counted.h"
#include "io/file.h"
#include "io/sys.h"

namespace batchfeed::io {

namespace {

// Files that the system makes up while they are read (/proc) say that they are empty; what they hold must not be lost.
void expect_empty(int fd, const std::string& path) {
  std::byte byte{};
  ssize_t n = 0;
  do n = sys().pread(fd, &byte, 1, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0) fail("read", path, errno);
  if (n == 0) return;
  throw Error(Fault{.kind = FaultKind::io,
                    .id = "io.size-unknown",
                    .at = {.file = path},
                    .what = "says that it has no bytes, and has some",
                    .hint = "the system makes it up while it is read; copy it to a file"});
}

}  // namespace

Identity identify(int fd, const std::string& path) {
  struct ::stat s {};
  if (sys().fstat(fd, &s) != 0) fail("examine", path, errno);
  if (!S_ISREG(s.st_mode)) {
    throw Error(Fault{.kind = FaultKind::io,
                      .id = "io.not-a-file",
                      .at = {.file = path},
                      .what = S_ISDIR(s.st_mode) ? "is a directory, expected a file" : "is not a regular file",
                      .hint = S_ISDIR(s.st_mode)
                                  ? "name the files in it; a pattern in quotes, such as 'FOLDER/*.ctf', will do"
                                  : "data must be in a file that can be read at any offset"});
  }
  if (s.st_size == 0) expect_empty(fd, path);
  return {.device = static_cast<std::uint64_t>(s.st_dev),
          .inode = static_cast<std::uint64_t>(s.st_ino),
          .size = static_cast<std::uint64_t>(s.st_size),
          // Times before 1677 and after 2262, which some file systems keep, wrap around.
          .mtime_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(s.st_mtim.tv_sec) * 1'000'000'000u +
                                                static_cast<std::uint64_t>(s.st_mtim.tv_nsec))};
}

void fail_changed(const std::string& path, const char* when, const Identity& before, const Identity& now) {
  std::string what = std::string("changed ") + when;
  if (before.size != now.size) {
    what += ": " + counted(before.size, "byte") + " then, " + std::to_string(now.size) + " now";
  }
  throw Error(Fault{.kind = FaultKind::stale,
                    .id = "io.changed",
                    .at = {.file = path},
                    .what = std::move(what),
                    .hint = "open it again"});
}

}  // namespace batchfeed::io
