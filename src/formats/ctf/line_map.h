// SPDX-License-Identifier: MIT
//
// Line numbers for messages: found by counting newlines when they are needed,
// so that the index need not carry them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "io/file.h"

namespace batchfeed::ctf {

// Thread-safe. Remembers a count per MiB of what it has passed.
class LineMap {
 public:
  explicit LineMap(const io::File& file) : file_(file) {}
  // The number, from 1, of the line that holds the byte.
  std::uint64_t line_of(std::uint64_t byte);
  // The memory of the text that was read last; for tests.
  std::size_t kept_bytes() const noexcept { return block_.capacity(); }

 private:
  std::uint64_t newlines(std::uint64_t begin, std::uint64_t end);

  const io::File& file_;
  std::mutex mutex_;
  std::vector<std::uint64_t> before_ = {0};  // newlines before each MiB
  std::vector<std::byte> block_;  // what was read last, from block_begin_ on: places are asked for one behind the other
  std::uint64_t block_begin_ = 0;
  std::uint64_t last_byte_ = 0, last_newlines_ = 0;  // the last answer
};

}  // namespace batchfeed::ctf
