// SPDX-License-Identifier: MIT
//
// Names as people write them: case of ASCII letters aside, and nearly right.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace batchfeed {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string_view text);
bool same_word(std::string_view a, std::string_view b) noexcept;  // ignoring case

// How many single-byte edits (or swaps of neighbours) part two words, ignoring
// case; `most` + 1 if more than `most`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most);

// For "did you mean": of the words that are tried, the first of those nearest to `meant`.
class Nearest {
 public:
  // Only words less than `below` edits away count, of which something is left by these.
  Nearest(std::string_view meant, std::size_t below) : meant_(meant), below_(below) {}

  // Whether `word` is the best so far; best() is then a view of it.
  bool offer(std::string_view word) {
    const std::size_t distance = below_ == 0 ? 0 : edit_distance(meant_, word, below_ - 1);
    if (distance >= below_ || (distance != 0 && distance >= std::max(meant_.size(), word.size()))) return false;
    below_ = distance;
    best_ = word;
    return true;
  }
  std::string_view best() const noexcept { return best_; }  // empty: none

 private:
  std::string_view meant_, best_;
  std::size_t below_;
};

}  // namespace batchfeed
