// SPDX-License-Identifier: MIT
#include "base/text_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"

namespace batchfeed {
namespace {

constexpr std::size_t kLargestBlock = std::size_t{1} << 20, kAtOnce = 32;

// Of 2^bits slots, at most seven in eight are used.
constexpr std::uint64_t most_texts(unsigned bits) {
  return (std::uint64_t{1} << bits) - (std::uint64_t{1} << bits) / 8;
}

}  // namespace

std::uint64_t TextTable::hash_of(std::string_view text) const noexcept {
  return same_ == Same::bytes ? hash_text(text, hash_.seed) : hash_(cntk_key_hash(text));
}

bool TextTable::same(std::string_view kept, std::string_view text) const noexcept {
  return kept == text || (same_ == Same::cntk_hash && cntk_key_hash(kept) == cntk_key_hash(text));
}

std::uint64_t TextTable::number(std::string_view text) {
  make_room(1);
  const std::uint64_t hash = hash_of(text);
  return number(text, hash, home(hash));
}

void TextTable::numbers(std::span<const std::string_view> texts, std::span<std::uint64_t> out) {
  std::array<std::uint64_t, kAtOnce> hashes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  std::array<std::size_t, kAtOnce> slots;     // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!texts.empty()) {
    const std::size_t n = std::min(texts.size(), kAtOnce);
    make_room(n);
    for (std::size_t i = 0; i < n; ++i) {
      hashes[i] = hash_of(texts[i]);
      __builtin_prefetch(&slots_[home(hashes[i])]);
    }
    std::size_t known = 0;
    for (std::size_t i = 0; i < n; ++i) {
      slots[i] = candidate(home(hashes[i]), hashes[i]);
      const std::uint64_t slot = slots_[slots[i]];
      if (slot == 0) continue;
      ++known;
      __builtin_prefetch(place((slot & mask_) - 1));
    }
    if (known != 0) {
      for (std::size_t i = 0; i < n; ++i) {
        if (const std::uint64_t slot = slots_[slots[i]]; slot != 0) __builtin_prefetch(*place((slot & mask_) - 1));
      }
    }
    for (std::size_t i = 0; i < n; ++i) out[i] = number(texts[i], hashes[i], slots[i]);
    texts = texts.subspan(n);
    out = out.subspan(n);
  }
}

std::uint64_t TextTable::number(std::string_view text, std::uint64_t hash, std::size_t at) {
  const std::size_t slot = slot_of(at, hash, [&](std::string_view kept) { return same(kept, text); });
  if (slots_[slot] != 0) return (slots_[slot] & mask_) - 1;
  push(text);
  slots_[slot] = size_ | (hash & ~mask_);
  return size_ - 1;
}

std::optional<std::uint64_t> TextTable::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t hash = hash_of(text);
  const std::size_t slot = slot_of(home(hash), hash, [&](std::string_view kept) { return same(kept, text); });
  return slots_[slot] == 0 ? std::nullopt : std::optional((slots_[slot] & mask_) - 1);
}

std::optional<std::uint64_t> TextTable::find_cntk_hash(std::uint64_t hash) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint64_t own = hash_(hash);
  const std::size_t slot = slot_of(home(own), own, [&](std::string_view kept) { return cntk_key_hash(kept) == hash; });
  return slots_[slot] == 0 ? std::nullopt : std::optional((slots_[slot] & mask_) - 1);
}

std::size_t TextTable::candidate(std::size_t at, std::uint64_t hash) const noexcept {
  const std::uint64_t* const slots = slots_.data();
  while (slots[at] != 0 && (slots[at] ^ hash) > mask_) at = (at + 1) & static_cast<std::size_t>(mask_);
  return at;
}

template <class Is>
std::size_t TextTable::slot_of(std::size_t at, std::uint64_t hash, const Is& is) const {
  for (;; at = (at + 1) & static_cast<std::size_t>(mask_)) {
    at = candidate(at, hash);
    if (slots_[at] == 0 || is((*this)[(slots_[at] & mask_) - 1])) return at;
  }
}

std::string_view TextTable::text_at(const char* at) noexcept {
  std::size_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    size |= std::size_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80u) == 0) return {at, size};
  }
}

void TextTable::push(std::string_view text) {
  std::array<char, 10> length;  // NOLINT(cppcoreguidelines-pro-type-member-init): `digits` of it
  std::size_t digits = 0;
  for (std::size_t rest = text.size();; rest >>= 7) {
    const bool last = rest < 0x80;
    length[digits++] = static_cast<char>((rest & 0x7F) | (last ? 0 : 0x80));
    if (last) break;
  }
  const std::size_t needed = digits + text.size();
  if (run_of(size_) == places_.size()) {
    Buffer<const char*> run;
    run.resize(static_cast<std::size_t>(kFirst << places_.size()));
    places_.push_back(std::move(run));
  }
  char* to = at_;
  if (needed > left_) {
    // A long text gets a block of its own, so that the room left in the shared block is not lost.
    const bool alone = needed > next_block_ / 4;
    Buffer<char> block;
    block.reserve(alone ? needed : next_block_);
    to = block.data();
    blocks_.push_back(std::move(block));
    if (!alone) {
      at_ = to;
      left_ = blocks_.back().capacity();
      next_block_ = std::min(2 * next_block_, kLargestBlock);
    }
  }
  if (to == at_) {
    at_ += needed;
    left_ -= needed;
  }
  std::memcpy(to, length.data(), digits);
  if (!text.empty()) std::memcpy(to + digits, text.data(), text.size());
  places_.back()[static_cast<std::size_t>(size_ + kFirst - (kFirst << (places_.size() - 1)))] = to;
  ++size_;
}

void TextTable::make_room(std::uint64_t texts) {
  if (bits_ == 0 || texts > most_texts(bits_) - size_) reserve(size_ + texts);
}

void TextTable::reserve(std::uint64_t texts) {
  unsigned bits = std::max(bits_, kFirstBits);
  while (most_texts(bits) < texts) ++bits;
  if (bits != bits_) grow(bits);
}

// Slots are in the order of their hashes, so both tables are walked nearly front to back.
void TextTable::grow(unsigned bits) {
  Buffer<std::uint64_t> before;
  before.resize(std::size_t{1} << bits);
  std::memset(before.data(), 0, before.size() * sizeof(std::uint64_t));
  before.swap(slots_);
  const std::uint64_t mask_before = std::exchange(mask_, (std::uint64_t{1} << bits) - 1);
  // Whether a slot holds enough of the hash's upper bits to tell its place in the larger table.
  const bool enough = bits + std::exchange(bits_, bits) <= 64;
  for (const std::uint64_t slot : before) {
    if (slot == 0) continue;
    const std::uint64_t number = slot & mask_before;
    const std::uint64_t hash = enough ? slot & ~mask_before : hash_of((*this)[number - 1]);
    std::size_t at = home(hash);
    while (slots_[at] != 0) at = (at + 1) & static_cast<std::size_t>(mask_);
    slots_[at] = number | (hash & ~mask_);
  }
}

}  // namespace batchfeed
