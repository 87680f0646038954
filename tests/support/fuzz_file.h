// SPDX-License-Identifier: MIT
//
// For fuzz targets of whole files: a file in memory that has a path, and checks of what a
// source delivers from it.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/source.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchfeed::testing {

// Aborts with the place of the call, so that different findings are told apart.
inline void require(bool condition, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%d: does not hold\n", file, line);
  std::abort();
}

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_ >= 0);
    for (std::size_t at = 0; at < bytes.size();) {
      const ::ssize_t n = ::pwrite(fd_, bytes.data() + at, bytes.size() - at, static_cast<::off_t>(at));
      require(n > 0);
      at += static_cast<std::size_t>(n);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  int descriptor() const { return fd_; }  // stands at the begin

 private:
  int fd_;
};

// Splits the input, of at least 2 bytes, into a list and an archive: byte 0 is the target's, byte 1 is
// the length of the list, which follows, and the rest is the archive. "@" in the list stands for
// the archive's path.
class ListedFile {
 public:
  ListedFile(const std::uint8_t* data, std::size_t size)
      : list_(reinterpret_cast<const char*>(data) + 2, std::min<std::size_t>(data[1], size - 2)),
        archive_({reinterpret_cast<const char*>(data) + 2 + list_.size(), size - 2 - list_.size()}),
        scp_(text()) {}

  bool has_list() const { return !list_.empty(); }
  std::string archive() const { return archive_.path(); }
  std::string scp() const { return scp_.path(); }

 private:
  std::string text() const {
    std::string out;
    for (const char c : list_) {
      // "/" is left out: the list must not name other files of this machine.
      if (c == '@') {
        out += archive_.path();
      } else if (c != '/') {
        out += c;
      }
    }
    return out;
  }

  std::string_view list_;
  MemoryFile archive_, scp_;
};

// Aborts on faults that no input should lead to. Files in memory do not change: "stale", too, is an error
// of the source, a read past the end that it did not check for.
inline void check_fault(const Error& error) {
  const Fault& fault = error.fault();
  const bool expected = !fault.what.empty() && !fault.id.empty() && fault.kind != FaultKind::stale &&
                        fault.kind != FaultKind::internal && !fault.id.starts_with("source.");
  if (!expected) std::fprintf(stderr, "no input should lead to: %s: %s\n", fault.id.c_str(), error.what());
  require(expected);
}

// Reads all of a source. Its tables and chunks must keep the contract of source.h; faults of the data are fine.
inline void read_everything(std::shared_ptr<const Source> given) {
  const std::shared_ptr<const Source> source = checked(std::move(given));
  std::vector<SequenceInfo> table;
  Chunk chunk;
  for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
    source->sequences(c, table);
    try {
      source->read(c, chunk);
    } catch (const Error& error) {
      check_fault(error);
      continue;
    }
    for (const SequenceInfo& s : table)
      require(chunk.is_invalid(s.row) || chunk.columns[0].samples(s.row) == s.samples);
  }
}

}  // namespace batchfeed::testing
