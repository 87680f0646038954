// SPDX-License-Identifier: MIT
#include "formats/ctf/line_map.h"

#include <algorithm>
#include <span>

namespace batchfeed::ctf {

constexpr std::uint64_t kStep = 1 << 20;
constexpr std::uint64_t kLeast = 64 << 10;  // read at once
constexpr std::uint64_t kNowhere = ~0ull;

std::uint64_t LineMap::newlines(std::uint64_t begin, std::uint64_t end) {
  std::uint64_t n = 0;
  for (std::uint64_t at = begin; at < end;) {
    if (at < block_begin_ || at >= block_begin_ + block_.size()) {
      block_.resize(
          static_cast<std::size_t>(std::min(std::clamp(end - at, kLeast, kStep), std::max(end, file_.size()) - at)));
      block_begin_ = kNowhere;  // if it cannot be read
      file_.read(at, block_);
      block_begin_ = at;
    }
    const std::uint64_t stop = std::min(end, block_begin_ + block_.size());
    const auto here = block_.begin() + static_cast<std::ptrdiff_t>(at - block_begin_);
    n += static_cast<std::uint64_t>(std::count(here, here + static_cast<std::ptrdiff_t>(stop - at), std::byte{'\n'}));
    at = stop;
  }
  return n;
}

std::uint64_t LineMap::line_of(std::uint64_t byte) {
  const std::lock_guard lock(mutex_);
  byte = std::min(byte, file_.size());
  const std::uint64_t step = byte / kStep;
  while (before_.size() <= step) {
    const std::uint64_t from = (before_.size() - 1) * kStep;
    before_.push_back(before_.back() + newlines(from, from + kStep));
  }
  std::uint64_t from = step * kStep;
  std::uint64_t n = before_[static_cast<std::size_t>(step)];
  if (last_byte_ > from && last_byte_ <= byte) {
    from = last_byte_;
    n = last_newlines_;
  }
  n += newlines(from, byte);
  last_byte_ = byte;
  last_newlines_ = n;
  // A corpus may have thousands of files, each with a fault.
  if (block_.size() > kLeast) {
    block_.clear();
    block_begin_ = kNowhere;
  }
  if (block_.capacity() > kLeast) block_.shrink_to_fit();
  return n + 1;
}

}  // namespace batchfeed::ctf
