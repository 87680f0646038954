// SPDX-License-Identifier: MIT
//
// The lines of a text file, one after the other, in bounded memory: scp lists,
// MLF labels, state lists. Each line knows its number and where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"

namespace batchfeed::io {

enum class LineEnd : std::uint8_t {
  lf,   // LF; one CR before it is no part of the line
  any,  // LF, CRLF or a lone CR
};

// Throws Error(format) if `text`, the beginning of a file, is UTF-16, as some editors of Windows write it, or is
// compressed: read as text, every fault would be about something else.
void expect_text(std::string_view text, const std::string& path);

class LineReader {
 public:
  // The file must outlive the reader. A line of more than `limit` bytes is
  // Error(limit) that names the field of Limits.
  LineReader(const File& file, LineEnd ends, std::uint64_t limit, const char* limit_name);

  // Starts at `offset` and treats `end` as the end of the file. `line` is the
  // number of the line that starts there.
  void seek(std::uint64_t offset, std::uint64_t end, std::uint64_t line);

  // The next line, empty ones included; false at the end.
  bool next();

  std::string_view text() const noexcept { return {buffer_.data() + from_, size_}; }
  std::uint64_t number() const noexcept { return number_; }     // from 1
  std::uint64_t begin() const noexcept { return begin_; }       // byte of the file
  std::uint64_t end() const noexcept { return begin_ + raw_; }  // behind the terminator
  bool terminated() const noexcept { return terminated_; }      // false: the file ends in this line

 private:
  bool fill();
  std::size_t find_end();

  const File* file_;
  LineEnd ends_;
  std::uint64_t limit_;
  const char* limit_name_;
  std::vector<char> buffer_;
  std::size_t have_ = 0;                       // bytes of the buffer that are data
  std::size_t next_ = 0;                       // start of the next line in the buffer
  std::size_t from_ = 0, size_ = 0, raw_ = 0;  // the line in the buffer; raw_: its size with the terminator
  std::uint64_t buffer_at_ = 0;                // offset in the file of buffer_[0]
  std::uint64_t stop_ = 0;
  std::uint64_t begin_ = 0, number_ = 0, next_number_ = 1;
  bool terminated_ = false;
};

}  // namespace batchfeed::io
