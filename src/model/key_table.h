// SPDX-License-Identifier: MIT
//
// The key space that all sources of one reader share: text keys become numbers
// that can be compared, and back.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_list.h"
#include "base/text_table.h"

namespace batchfeed {

// numeric: text is never registered. text: dense numbers in order of first
// appearance. hashed: CNTK's hash; the text is kept for messages and two texts
// with one hash are found. Thread-safe.
class KeyTable {
 public:
  explicit KeyTable(KeyMode mode)
      : mode_(mode), texts_(mode == KeyMode::hashed ? TextTable::Same::cntk_hash : TextTable::Same::bytes) {}

  KeyMode mode() const noexcept { return mode_; }

  // The number of a text key, registering it if need be. Modes text and hashed.
  std::uint64_t id(std::string_view text);
  // id() of each, in their order: several times as fast.
  std::vector<std::uint64_t> ids(const TextList& texts);
  // Reserves memory for so many texts, if there are none yet.
  void expect(std::uint64_t texts);

  // The number of a name in any mode. numeric: its decimal prefix (blanks and a
  // sign before it, of which a minus wraps as in the reference; anything behind
  // it), nothing if there is none or it does not fit 64 bits.
  std::optional<std::uint64_t> key(std::string_view name);

  // Back to text; numeric keys in decimal.
  std::string text(std::uint64_t key) const;
  void append(std::uint64_t key, TextList& out) const;

  // The first two texts met whose hashes are equal (mode hashed).
  std::optional<std::pair<std::string, std::string>> collision() const;

 private:
  void ids(std::span<const std::string_view> texts, std::span<std::uint64_t> out);
  std::optional<std::string_view> find(std::uint64_t key) const;

  KeyMode mode_;
  mutable std::mutex mutex_;
  TextTable texts_;  // mode text: by number; mode hashed: the first of each hash
  std::optional<std::pair<std::string, std::string>> collision_;
};

}  // namespace batchfeed
