// SPDX-License-Identifier: MIT
#include "base/text_table.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace batchfeed {
namespace {

constexpr std::uint64_t kNumber = (std::uint64_t{1} << 48) - 1;
constexpr std::size_t kLargestBlock = std::size_t{1} << 20, kFirstSlots = 64;

}  // namespace

std::uint64_t TextTable::number(std::string_view text) {
  if (texts_.size() + 1 > slots_.size() - slots_.size() / 8) grow();
  const std::uint64_t hash = hash_(text);
  std::uint64_t& slot = slots_[slot_of(text, hash)];
  if (slot == 0) {
    texts_.push_back(keep(text));
    slot = texts_.size() | (hash & ~kNumber);
  }
  return (slot & kNumber) - 1;
}

std::optional<std::uint64_t> TextTable::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t slot = slots_[slot_of(text, hash_(text))];
  return slot == 0 ? std::nullopt : std::optional((slot & kNumber) - 1);
}

std::size_t TextTable::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    if ((slots_[at] ^ hash) <= kNumber && (*this)[(slots_[at] & kNumber) - 1] == text) break;
  }
  return at;
}

std::string_view TextTable::operator[](std::uint64_t number) const {
  const char* at = texts_[number];
  std::size_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    size |= std::size_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80u) == 0) return {at, size};
  }
}

const char* TextTable::keep(std::string_view text) {
  std::array<char, 10> length;
  std::size_t digits = 0;
  for (std::size_t rest = text.size();; rest >>= 7) {
    const bool last = rest < 0x80;
    length[digits++] = static_cast<char>((rest & 0x7F) | (last ? 0 : 0x80));
    if (last) break;
  }
  const std::size_t needed = digits + text.size();
  char* to = at_;
  if (needed > left_) {
    const bool alone = needed > next_block_ / 4;  // the rest of the block before is for others still
    const std::size_t bytes = alone ? needed : next_block_;
    std::unique_ptr<char[]> block(new char[bytes]);
    to = block.get();
    blocks_.push_back(std::move(block));
    if (!alone) {
      at_ = to;
      left_ = bytes;
      next_block_ = std::min(2 * next_block_, kLargestBlock);
    }
  }
  if (to == at_) {
    at_ += needed;
    left_ -= needed;
  }
  std::memcpy(to, length.data(), digits);
  if (!text.empty()) std::memcpy(to + digits, text.data(), text.size());
  return to;
}

void TextTable::grow() {
  std::vector<std::uint64_t> slots(std::max(kFirstSlots, 2 * slots_.size()));
  const std::uint64_t mask = slots.size() - 1;
  for (std::uint64_t n = 0; n < texts_.size(); ++n) {
    const std::uint64_t hash = hash_((*this)[n]);
    std::uint64_t slot = hash & mask;
    while (slots[slot] != 0) slot = (slot + 1) & mask;
    slots[slot] = (n + 1) | (hash & ~kNumber);
  }
  slots_ = std::move(slots);
}

}  // namespace batchfeed
