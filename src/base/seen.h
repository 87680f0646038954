// SPDX-License-Identifier: MIT
//
// A set of texts, each kept only as a 64-bit hash whose seed no file can know: 11 to 22 bytes a text, however long.
// Among a million different texts, two are taken for the same in one of 37 million processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/seeded_hash.h"

namespace batchfeed {

class Seen {
 public:
  // Adds a text; true if it was not in the set.
  bool add(std::string_view text);
  std::size_t size() const noexcept { return size_; }

 private:
  std::uint64_t& slot_of(std::uint64_t hash) noexcept;
  void grow();

  std::vector<std::uint64_t> slots_;  // 0: free; a power of 2 of them, three in four taken at most
  std::size_t size_ = 0;
  SeededHash hash_;
};

}  // namespace batchfeed
