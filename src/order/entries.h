// SPDX-License-Identifier: MIT
//
// Sequences as an order moves them about: which chunk each comes from (by place in
// the order of chunks) and its number in that chunk's table, as one word. A window
// may hold a hundred million of them, so a word is four bytes where the largest
// numbers of the corpus fit into 32 bits together, and eight elsewhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "order/timeline.h"

namespace batchfeed::order {

struct Entry {
  std::uint32_t home = 0;
  std::uint32_t index = 0;
};

// How the entries of a corpus are put into words.
class EntryBits {
 public:
  explicit EntryBits(const Corpus& corpus) {
    std::uint64_t most = 0;
    for (std::uint32_t c = 0; c < corpus.chunks(); ++c) most = std::max(most, corpus.sequences(c));
    index_bits_ = bits_of(most);
    narrow_ = index_bits_ + bits_of(corpus.chunks()) <= 32;
  }
  bool narrow() const noexcept { return narrow_; }
  std::uint64_t word(Entry entry) const noexcept { return std::uint64_t{entry.home} << index_bits_ | entry.index; }
  std::uint32_t home(std::uint64_t word) const noexcept { return static_cast<std::uint32_t>(word >> index_bits_); }
  Entry entry(std::uint64_t word) const noexcept {
    return {home(word), static_cast<std::uint32_t>(word & ((std::uint64_t{1} << index_bits_) - 1))};
  }

 private:
  // Of the numbers 0 .. count-1.
  static unsigned bits_of(std::uint64_t count) noexcept {
    return count == 0 ? 0 : static_cast<unsigned>(std::bit_width(count - 1));
  }

  unsigned index_bits_ = 0;
  bool narrow_ = true;
};

// Entries as words, in one of the two vectors, as `bits` tells.
class Entries {
 public:
  explicit Entries(const EntryBits& bits) : bits_(bits) {}

  const EntryBits& bits() const noexcept { return bits_; }
  Entry operator[](std::size_t i) const noexcept { return bits_.entry(bits_.narrow() ? narrow_[i] : wide_[i]); }
  // f takes a std::vector of words.
  template <class F>
  auto visit(F f) {
    return bits_.narrow() ? f(narrow_) : f(wide_);
  }
  std::size_t size() const noexcept { return bits_.narrow() ? narrow_.size() : wide_.size(); }
  void clear() {
    visit([](auto& words) { words.clear(); });
  }
  void erase_front(std::size_t count) {
    visit([count](auto& words) { words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count)); });
  }
  // Entries [from, to) of `other`, which has the same bits.
  void append(const Entries& other, std::size_t from, std::size_t to) {
    append(narrow_, other.narrow_, from, to);
    append(wide_, other.wide_, from, to);
  }

 private:
  template <class Words>
  static void append(Words& words, const Words& others, std::size_t from, std::size_t to) {
    if (others.empty()) return;
    words.insert(words.end(), others.begin() + static_cast<std::ptrdiff_t>(from),
                 others.begin() + static_cast<std::ptrdiff_t>(to));
  }

  EntryBits bits_;
  std::vector<std::uint32_t> narrow_;
  std::vector<std::uint64_t> wide_;
};

}  // namespace batchfeed::order
