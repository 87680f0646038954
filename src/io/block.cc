// SPDX-License-Identifier: MIT
#include "io/block.h"

#include <cstring>

namespace batchfeed::io {

void Block::fill(const File& file, Piece all) {
  clear();
  memory_.resize(static_cast<std::size_t>(all.end - all.begin));
  try {
    file.read(all.begin, {memory_.data(), memory_.size()});
  } catch (const Error&) {
    return;
  }
  all_ = all;
}

void Block::read(const File& file, std::uint64_t offset, std::span<std::byte> out) const {
  const std::byte* const there = find({offset, offset + out.size()});
  if (there == nullptr) return file.read(offset, out);
  std::memcpy(out.data(), there, out.size());
}

}  // namespace batchfeed::io
