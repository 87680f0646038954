// SPDX-License-Identifier: MIT
//
// What an indexing pass finds in a file: where each sequence stands, its key and
// its nominal length; and the cut into chunks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace batchfeed {

struct IndexEntry {
  std::uint64_t key = 0;
  std::uint64_t begin = 0;  // bytes, absolute
  std::uint64_t bytes = 0;
  std::uint32_t samples = 0;  // nominal length
  std::uint32_t aux = 0;      // the format's own (text: rows, or a line number's low bits)

  bool operator==(const IndexEntry&) const = default;
};
static_assert(sizeof(IndexEntry) == 32);

// Entries in file order, compressed to 2 to 8 bytes each in the usual case: sequences one behind the other in the file,
// keys that count up or are near each other. They lie in blocks, each with a column for every field, as wide (0, 1, 2,
// 4 or 8 bytes) as the block needs. Any entry is found at once. Reading is thread-safe.
class IndexEntries {
 public:
  static constexpr std::size_t kBlock = 1024;  // entries of a block; the last of each list may have fewer

  IndexEntries() = default;
  IndexEntries(std::initializer_list<IndexEntry> entries) {
    for (const IndexEntry& e : entries) push_back(e);
  }

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return in_blocks_ + filled_; }
  IndexEntry operator[](std::size_t i) const noexcept;
  IndexEntry back() const noexcept { return (*this)[size() - 1]; }

  void push_back(const IndexEntry& entry) {
    if (filled_ == open_.size()) [[unlikely]]
      open_block();
    open_[filled_++] = entry;
  }
  // At least one place for the next entries; took() says how many were written.
  std::span<IndexEntry> places() {
    if (filled_ == open_.size()) [[unlikely]]
      open_block();
    return std::span(open_).subspan(filled_);
  }
  void took(std::size_t n) noexcept { filled_ += n; }
  // Moves the blocks; `more` is empty then.
  void append(IndexEntries&& more);
  void add_to_keys(std::uint64_t number);
  template <class Function>
  void map_keys(Function function) {
    IndexEntries mapped;
    for (IndexEntry e : *this) {
      e.key = function(e.key);
      mapped.push_back(e);
    }
    mapped.close();
    *this = std::move(mapped);
  }
  // Gives back the memory that only further entries would need: none will come, or not soon.
  void close();

  // From entry i on, up to out.size(); gives how many, which is 0 at the end only.
  std::size_t read(std::size_t i, std::span<IndexEntry> out) const noexcept;

  // Sums up the block that begins with entry i, so that a caller need not look at each entry; empty if none begins
  // there. For entries that follow each other in the file.
  struct Stretch {
    std::size_t entries = 0;
    std::uint64_t end = 0, samples = 0;
    bool keys_rise = false;  // each is above the one before it
    std::uint64_t key = 0, last_key = 0;
  };
  Stretch stretch(std::size_t i) const noexcept;

  // Front to back; decodes some at a time.
  class Iterator {
   public:
    using value_type = IndexEntry;
    using difference_type = std::ptrdiff_t;

    Iterator(const IndexEntries& entries, std::size_t at, std::size_t end)
        : entries_(&entries), from_(at), at_(at), end_(end) {
      fetch();
    }
    const IndexEntry& operator*() const noexcept { return ready_[at_ - from_]; }
    const IndexEntry* operator->() const noexcept { return &**this; }
    Iterator& operator++() noexcept {
      skip(1);
      return *this;
    }
    void operator++(int) noexcept { ++*this; }
    std::size_t number() const noexcept { return at_; }
    // This one and those behind it that are decoded already; skip() goes over at most so many.
    std::span<const IndexEntry> ready() const noexcept { return std::span(ready_).first(there_).subspan(at_ - from_); }
    void skip(std::size_t n) noexcept {
      at_ += n;
      if (at_ == from_ + there_) {
        from_ = at_;
        fetch();
      }
    }
    bool operator==(std::default_sentinel_t /*end*/) const noexcept { return there_ == 0; }

   private:
    void fetch() noexcept {
      const std::size_t n = std::min(ready_.size(), end_ - from_);
      there_ = n == 0 ? 0 : entries_->read(from_, std::span(ready_).first(n));
    }

    const IndexEntries* entries_;
    std::size_t from_, at_, end_, there_ = 0;
    std::array<IndexEntry, 32> ready_;  // NOLINT(cppcoreguidelines-pro-type-member-init): `there_` of them
  };
  Iterator begin() const { return from(0); }
  Iterator from(std::size_t i) const { return {*this, i, size()}; }
  // Ends behind `n` entries, if there are so many, and decodes none beyond.
  Iterator from(std::size_t i, std::size_t n) const {
    return {*this, i, i + std::min(n, size() - std::min(i, size()))};
  }
  static std::default_sentinel_t end() noexcept { return {}; }

 private:
  struct Block {
    std::uint64_t first = 0;  // entry
    std::uint32_t entries = 0;
    // The column of keys holds key - `key`; where keys are `in_a_row` there is none, and entry i has `key` + i. That of
    // begins holds begin - `begin`. Without one of bytes, each entry ends where the next begins, the last at `end`.
    bool in_a_row = false, keys_rise = false;
    std::array<std::uint8_t, 5> width{};  // of key, begin, bytes, samples, aux
    std::uint64_t key = 0, begin = 0, end = 0;
    std::uint64_t key_span = 0;          // from the least to the largest key
    std::uint32_t samples = 0, aux = 0;  // of each, where there is no column
    std::uint64_t sum = 0;               // of samples
    std::shared_ptr<const std::byte[]> columns = {};

    void read(std::size_t i, std::span<IndexEntry> out) const noexcept;
  };

  static Block encode(std::span<const IndexEntry> entries, std::uint64_t first);
  void open_block();
  void close_block();
  const Block& block_of(std::size_t i) const noexcept;

  std::vector<Block> blocks_;
  std::size_t in_blocks_ = 0;     // entries in them
  std::vector<IndexEntry> open_;  // memory of the block that is not encoded yet; grows to kBlock
  std::size_t filled_ = 0;        // how many of its entries there are
};

struct Index {
  IndexEntries entries;                    // in file order
  std::vector<std::uint64_t> chunk_first;  // first entry of each chunk, and entries.size() at the end

  std::uint32_t chunks() const noexcept {
    return chunk_first.empty() ? 0 : static_cast<std::uint32_t>(chunk_first.size() - 1);
  }
};

}  // namespace batchfeed
