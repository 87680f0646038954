// SPDX-License-Identifier: MIT
//
// Finds the sequences of a source by their keys.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace batchfeed::join {

struct Location {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::uint32_t chunk = kNone;
  std::uint32_t row = 0;
  std::uint32_t samples = 0;
};

// Built once from all tables of a source. Of sequences with one key find() gives the first; with `in_turn` each call
// gives the next one, and the first again where there are no more.
class KeyIndex {
 public:
  explicit KeyIndex(const Source& source, bool in_turn = false);

  // Looks for `key`, first right behind the last hit: corpora are mostly written
  // in the same order, and then no search happens.
  const Location* find(std::uint64_t key);
  // Asks for memory that find() will need for the keys that come kAhead and twice kAhead calls later, if it searches.
  static constexpr std::size_t kAhead = 8;
  void ask_ahead(std::uint64_t soon, std::uint64_t later) const noexcept;

  std::uint64_t sequences() const noexcept { return entries_.size(); }
  // Sequences behind the first of their key, which find() never gives; 0 with `in_turn`.
  std::uint64_t repeated() const noexcept { return in_turn_ ? 0 : repeated_; }
  std::uint64_t first_repeated() const noexcept { return first_repeated_; }
  struct Entry {
    std::uint64_t key;
    Location at;
  };
  using Unused = Entry;
  // How many sequences find() could have given and did not; appends up to `most` of them, in source order.
  std::uint64_t unused(std::size_t most, std::vector<Unused>& out) const;

 private:
  std::size_t next_turn(std::size_t first) const;
  void set_up_buckets();
  std::size_t bucket_of(std::uint64_t key) const noexcept {
    return static_cast<std::size_t>((key - entries_.front().key) >> bucket_bits_);
  }
  const Entry* search(std::uint64_t key);

  std::vector<Entry> entries_;  // ascending keys, of equal ones the first in the source first
  // Where the entries of each bucket begin, and their end: a bucket has the keys that agree in all but the last
  // bucket_bits_ bits of their distance from the least. Empty before the first search.
  std::vector<std::size_t> buckets_;
  unsigned bucket_bits_ = 0;
  std::vector<bool> used_;
  std::uint64_t repeated_ = 0, first_repeated_ = 0;
  std::size_t next_ = 0;
  bool in_turn_ = false;
};

}  // namespace batchfeed::join
