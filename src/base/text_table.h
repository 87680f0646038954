// SPDX-License-Identifier: MIT
//
// Texts out of files, numbered in order of first appearance: 8 bytes and 9 to 18 of its table beside
// those of a text, so that a list of short names does not take many times its size.
#pragma once

#include <batchfeed/buffer.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/seeded_hash.h"

namespace batchfeed {

class TextTable {
 public:
  // Which texts are one: those of the same bytes, or of the same CNTK hash, of which the first is kept.
  enum class Same : std::uint8_t { bytes, cntk_hash };
  explicit TextTable(Same same = Same::bytes) : same_(same) {}

  // The number of a text. A new one is added, and gets size() as it was before.
  std::uint64_t number(std::string_view text);
  // number() of each text, in their order. Slots and texts are prefetched, as they are scattered in memory.
  void numbers(std::span<const std::string_view> texts, std::span<std::uint64_t> out);
  // Makes room for so many texts in all.
  void reserve(std::uint64_t texts);

  std::optional<std::uint64_t> find(std::string_view text) const;
  std::optional<std::uint64_t> find_cntk_hash(std::uint64_t hash) const;  // Same::cntk_hash

  // Valid as long as the table is.
  std::string_view operator[](std::uint64_t number) const { return text_at(*place(number)); }
  std::uint64_t size() const noexcept { return size_; }

 private:
  static constexpr unsigned kFirstBits = 6;
  static constexpr std::uint64_t kFirst = std::uint64_t{1} << kFirstBits;

  static std::string_view text_at(const char* at) noexcept;
  static unsigned run_of(std::uint64_t number) noexcept {
    return static_cast<unsigned>(std::bit_width(number + kFirst)) - kFirstBits - 1;
  }
  const char* const* place(std::uint64_t number) const noexcept {
    const unsigned run = run_of(number);
    return places_[run].data() + (number + kFirst - (kFirst << run));
  }
  std::uint64_t hash_of(std::string_view text) const noexcept;
  bool same(std::string_view kept, std::string_view text) const noexcept;
  std::size_t home(std::uint64_t hash) const noexcept { return static_cast<std::size_t>(hash >> (64 - bits_)); }
  // From `at` on: the first slot that is free or has the bits of this hash.
  std::size_t candidate(std::size_t at, std::uint64_t hash) const noexcept;
  // From `at` on: where a text's number stands, or would.
  template <class Is>
  std::size_t slot_of(std::size_t at, std::uint64_t hash, const Is& is) const;
  std::uint64_t number(std::string_view text, std::uint64_t hash, std::size_t at);
  void push(std::string_view text);
  void make_room(std::uint64_t texts);
  void grow(unsigned bits);

  Same same_;
  std::vector<Buffer<char>> blocks_;
  char* at_ = nullptr;  // the free bytes of the last block that several texts share
  std::size_t left_ = 0, next_block_ = 4096;
  // Where each text stands: its length (7 bits a byte, the low ones first, bit 7 set where more follow), then its
  // bytes. In runs of 64, 128 and so on.
  std::vector<Buffer<const char*>> places_;
  std::uint64_t size_ = 0;
  // 0: free; else a number + 1 in as many bits as slots need, above it the uppermost bits of the text's hash. So slots
  // are in the order of their hashes but for those that had to move on.
  Buffer<std::uint64_t> slots_;
  unsigned bits_ = 0;  // of a slot's place
  std::uint64_t mask_ = 0;
  SeededHash hash_;
};

}  // namespace batchfeed
