// SPDX-License-Identifier: MIT
//
// For fuzz targets of whole files: bytes as a file in memory that has a path,
// and what must hold for any chunk that a source delivers.
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
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed::testing {

// Says which line failed, so that a finding can be told from another.
inline void require(bool condition, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (condition) return;
  std::fprintf(stderr, "%s:%d: does not hold\n", file, line);
  std::abort();
}

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(fd_ >= 0);
    while (!bytes.empty()) {
      const ::ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      require(n > 0);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// An archive with a list in front of it, without NUL: byte 1 is the length of the
// list, byte 0 is left to the target. "@" in the list stands for the archive's path.
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
      // Other files of this machine are not part of the input.
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

inline void check_column(const StreamInfo& stream, const Column& column, std::size_t rows) {
  require(column.first_sample.size() == rows + 1 && column.first_sample[0] == 0);
  const std::size_t values = column.values.size() / size_of(column.element);
  for (std::size_t r = 0; r < rows; ++r) {
    require(column.first_sample[r] <= column.first_sample[r + 1]);
    const std::uint64_t n = column.first_sample[r + 1] - column.first_sample[r];
    if (stream.storage == Storage::dense && n > 0) {
      require(column.begin[r] + (n - 1) * column.step + column.dim <= values);
    }
  }
  if (stream.storage == Storage::sparse) {
    require(column.first_value.size() == std::size_t{column.first_sample[rows]} + 1);
    require(column.first_value[0] == 0 && column.first_value[column.first_value.size() - 1] == values);
    require(column.indices.size() == values);
    for (std::size_t i = 1; i < column.first_value.size(); ++i) {
      require(column.first_value[i - 1] <= column.first_value[i]);
    }
    for (const std::int32_t index : column.indices) {
      require(index >= 0 && static_cast<std::uint64_t>(index) < stream.dim);
    }
  }
}

// Files in memory stay as they are: a read behind the end is a count that nobody compared.
inline void check_fault(const Error& error) {
  const Fault& fault = error.fault();
  const bool expected =
      !fault.what.empty() && !fault.id.empty() && fault.kind != FaultKind::stale && fault.kind != FaultKind::internal;
  if (!expected) std::fprintf(stderr, "no input should lead to: %s: %s\n", fault.id.c_str(), error.what());
  require(expected);
}

// Reads all of a source. Tables and chunks must agree; a fault of data is fine.
inline void read_everything(const Source& source) {
  std::vector<SequenceInfo> table;
  Chunk chunk;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    std::uint64_t samples = 0;
    for (const SequenceInfo& s : table) samples += s.samples;
    require(source.chunks()[c].sequences == table.size() && source.chunks()[c].samples == samples);
    try {
      source.read(c, chunk);
    } catch (const Error& error) {
      check_fault(error);
      continue;
    }
    const std::size_t rows = chunk.columns.at(0).first_sample.size() - 1;
    for (const SequenceInfo& s : table) {
      require(s.row < rows && s.samples >= 1);
      require(chunk.is_invalid(s.row) || chunk.columns[0].samples(s.row) == s.samples);
    }
    for (std::size_t k = 0; k < chunk.columns.size(); ++k) check_column(source.streams()[k], chunk.columns[k], rows);
  }
}

}  // namespace batchfeed::testing
