// SPDX-License-Identifier: MIT
//
// Configuration text that knows where each byte comes from. All inputs become
// one joined text; its offsets are "origins". Pieces cut out of it, glued
// together or expanded keep the origin of every byte, as runs, so a fault deep
// in a merged section still points into the file it was written in.
#pragma once

#include <batchfeed/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed::config {

using Origin = std::uint32_t;

// The joined text's lines and where they stand in files.
class SourceMap {
 public:
  std::uint32_t add_file(std::string name);
  // The joined text from `at` on is file bytes from `byte`, on `line`, from `column`.
  void add_line(Origin at, std::uint32_t file, std::uint64_t line, std::uint64_t column, std::uint64_t byte);

  Position position(Origin at) const;
  // The input (number of add_file) that `at` belongs to.
  std::uint32_t file(Origin at) const;
  const std::string& file_name(std::uint32_t file) const { return files_[file]; }

 private:
  struct Line {
    Origin at;
    std::uint32_t file;
    std::uint64_t line, column, byte;
  };
  const Line& line_of(Origin at) const;

  std::vector<std::string> files_;
  std::vector<Line> lines_;  // by rising `at`
};

class Text {
 public:
  Text() = default;
  // `bytes` as they stand at `at` in the joined text.
  Text(std::string bytes, Origin at);

  std::string_view bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }

  // Where byte `i` comes from; i == size() is allowed: just after the last one.
  Origin origin(std::size_t i) const noexcept;

  Text slice(std::size_t begin, std::size_t end) const;
  void append(const Text& other, std::size_t begin, std::size_t end);
  void append(const Text& other) { append(other, 0, other.size()); }
  // Bytes that all come from one place: a blank between merged parts, a variable's text.
  void append_at(std::string_view bytes, Origin at);

 private:
  struct Run {
    std::size_t begin;  // in bytes_
    Origin at;
    bool fixed;  // every byte of the run has the same origin
  };

  std::string bytes_;
  std::vector<Run> runs_;  // by rising `begin`
};

}  // namespace batchfeed::config
