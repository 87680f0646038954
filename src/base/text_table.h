// SPDX-License-Identifier: MIT
//
// Texts out of files, numbered in order of first appearance: 8 bytes and 9 to 18 of its table beside
// those of a text, so that a list of short names does not take many times its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/seeded_hash.h"

namespace batchfeed {

class TextTable {
 public:
  // The number of a text, which is size() of before if it is new.
  std::uint64_t number(std::string_view text);

  std::optional<std::uint64_t> find(std::string_view text) const;

  // Valid as long as the table is.
  std::string_view operator[](std::uint64_t number) const;
  std::uint64_t size() const noexcept { return texts_.size(); }

 private:
  // Where a text's number stands, or would.
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
  const char* keep(std::string_view text);
  void grow();

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* at_ = nullptr;  // room in the last block that is shared
  std::size_t left_ = 0, next_block_ = 4096;
  std::deque<const char*> texts_;  // each behind its length: 7 bits a byte, the low ones first, bit 7 where more follow
  std::vector<std::uint64_t> slots_;  // 0: free; else a number + 1, above it 16 bits of the text's hash
  SeededHash hash_;
};

}  // namespace batchfeed
