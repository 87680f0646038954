// SPDX-License-Identifier: MIT
//
// Numbers, sizes and times as people read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchfeed::cli {

std::string count_text(std::uint64_t n);                     // 1,234,567
std::string bytes_text(std::uint64_t n);                     // 1.4 MB (powers of ten)
std::string value_text(double value);                        // 0.333333
std::string seconds_text(double seconds);                    // 850 ms, 12.3 s, 4 min 10 s
std::string plural(std::uint64_t n, std::string_view word);  // "1 sequence", "2 sequences"
// Text that is safe on a line of a terminal: control characters, characters that change the direction of text, and
// broken UTF-8 become \xNN. At most `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 80);
// Puts `by` in front of every line that is not empty.
std::string indented(std::string_view text, std::string_view by);
constexpr std::size_t kPathLength = 4096 * 4;  // the `limit` for paths, which must not be cut

// A table of aligned columns: numbers to the right, words to the left.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text(std::string_view indent = "  ") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace batchfeed::cli
