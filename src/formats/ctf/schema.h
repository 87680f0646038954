// SPDX-License-Identifier: MIT
//
// The declared streams, checked, and the recognition of their names.
#pragma once

#include <batchfeed/limits.h>
#include <batchfeed/options.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "formats/ctf/bytes.h"

namespace batchfeed::ctf {

class Schema {
 public:
  static constexpr int kNone = -1;

  // Throws Error(config) that names the stream and the rule.
  Schema(const CtfOptions& options, const Limits& limits);
  Schema(const Schema&) = delete;  // names_ point into aliases_
  Schema& operator=(const Schema&) = delete;

  const std::vector<StreamInfo>& streams() const noexcept { return streams_; }
  const std::string& alias(std::size_t stream) const noexcept { return aliases_[stream]; }
  std::size_t size() const noexcept { return streams_.size(); }
  int main() const noexcept { return main_; }
  // The samples of a sequence of `rows` lines that count, in which the stream named most is named `longest` times; 0:
  // it is left out. `damaged`: something in it is no sample.
  std::uint64_t length_of(std::uint64_t rows, std::uint64_t longest, bool damaged) const noexcept {
    if (rows == 0) return damaged && main_ == kNone ? 1 : 0;
    return main_ == kNone ? std::min(rows, longest) : rows;
  }

  // The stream whose name starts at p (behind the pipe), or kNone. `likely` is
  // tried first: in most files the streams of a line follow each other in one order.
  int match(const char* p, int likely) const noexcept {
    if (matches(names_[static_cast<std::size_t>(likely)], p)) return likely;
    return search(p);
  }
  int after(int stream) const noexcept {
    return static_cast<std::size_t>(stream) + 1 == names_.size() ? 0 : stream + 1;
  }

  // Longer names are not taken for misspelt ones.
  static constexpr std::size_t kLongestGuess = 64;
  // A name that is fewer edits away may be meant.
  static std::size_t edits_below(std::string_view name) noexcept {
    return std::max<std::size_t>(name.size() / 3, 1) + 1;
  }
  // The declared alias that resembles `name`, or nothing.
  std::string_view nearest(std::string_view name) const;

 private:
  struct Name {
    std::uint64_t head = 0, mask = 0;  // the first eight bytes
    std::uint32_t length = 0;
    const char* text = nullptr;
  };
  static bool matches(const Name& name, const char* p) noexcept {
    if ((load<std::uint64_t>(p) & name.mask) != name.head) return false;
    if (name.length > 8) {
      for (std::uint32_t i = 8; i < name.length; ++i) {
        if (p[i] != name.text[i]) return false;  // a newline ends the text, and no alias holds one
      }
    }
    return ends_name(p[name.length]);
  }
  void add(const StreamSpec& spec, Element element, const std::string& file);
  void index_names();
  int search(const char* p) const noexcept;

  std::vector<StreamInfo> streams_;
  std::vector<std::string> aliases_;
  std::vector<Name> names_;
  std::vector<std::int32_t> table_;  // many streams: open hashing by the name, kNone = free
  int main_ = kNone;
};

// "|name" as far as it goes: up to a blank, a byte below 20, a pipe or the end of the line.
std::string_view name_at(const char* p) noexcept;

}  // namespace batchfeed::ctf
