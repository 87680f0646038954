// SPDX-License-Identifier: MIT
//
// A range of bytes as blocks of whole lines, in a buffer that fits the L2 cache
// and is used again. Whatever the block's size, lines come out whole.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/spare.h"
#include "io/file.h"
#include "io/room.h"

namespace batchfeed::ctf {

// Fills up to `size` bytes, in order; 0 = the end.
using Fill = std::function<std::size_t(char* to, std::size_t size)>;

// Reads [begin, end) of a file. A read that the system refuses is tried once more
// on a fresh handle; the file must still be the same.
Fill fill_from(const io::File& file, std::uint64_t begin, std::uint64_t end);

using SpareBlock = Spare<char>;  // memory of a block

class LineBlocks {
 public:
  static constexpr std::size_t kBlock = 512 << 10;
  static constexpr std::size_t kFront =
      64;  // readable bytes before begin(), as behind end(): kernels load whole vectors

  // `offset`: of the first byte that `fill` gives, where a line starts. `buffer` is the
  // caller's, and can be reused afterwards. next() throws Error(limit) for a line longer than `line`.
  LineBlocks(Fill fill, std::uint64_t offset, Buffer<char>& buffer, const std::string& file, io::Room line,
             std::size_t block = kBlock);

  // Before the first next(): passes over the line that `offset` lies in, without keeping it. False: none begins behind
  // it, or not before `stop`.
  bool skip_line(std::uint64_t stop);
  // The next block of at least one line, or false. A last line without a newline is given one.
  bool next();

  const char* begin() const noexcept { return buffer_.data() + begin_; }
  const char* end() const noexcept { return buffer_.data() + end_; }  // behind a newline
  std::uint64_t offset() const noexcept { return offset_; }           // of begin() in the file
  std::uint64_t offset_of(const char* at) const noexcept { return offset_ + static_cast<std::uint64_t>(at - begin()); }
  bool closed_by_end_of_file() const noexcept { return added_newline_; }

 private:
  Fill fill_;
  Buffer<char>& buffer_;
  std::string file_;
  io::Room line_;
  std::size_t block_;
  std::size_t begin_ = kFront, end_ = kFront;  // the block
  std::size_t filled_ = kFront;                // bytes in the buffer: the block and the start of the next line
  bool skipped_ = false;                       // more lines may lie behind the block, which skip_line() left
  std::uint64_t offset_;
  bool at_end_ = false;
  bool added_newline_ = false;
};

}  // namespace batchfeed::ctf
