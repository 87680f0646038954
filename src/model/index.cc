// SPDX-License-Identifier: MIT
#include "model/index.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

namespace batchfeed {

namespace {

enum Field : std::uint8_t { kKey, kBegin, kBytes, kSamples, kAux };

std::uint8_t width_for(std::uint64_t most) {
  if (most == 0) return 0;
  if (most <= 0xFF) return 1;
  if (most <= 0xFFFF) return 2;
  return most <= 0xFFFFFFFFu ? 4 : 8;
}

template <class Function>
void with_width(unsigned width, Function&& function) {
  switch (width) {
    case 1: return function(std::uint8_t{});
    case 2: return function(std::uint16_t{});
    case 4: return function(std::uint32_t{});
    case 8: return function(std::uint64_t{});
    default: return;  // there is no column
  }
}

// The least and the most of a field.
struct Range {
  std::uint64_t least = ~0ull, most = 0;

  template <class Field>
  static Range of(std::span<const IndexEntry> entries, const Field& field) {
    Range range;
    for (const IndexEntry& e : entries) {
      range.least = std::min<std::uint64_t>(range.least, field(e));
      range.most = std::max<std::uint64_t>(range.most, field(e));
    }
    return range;
  }
};

// In which bits any entry differs from the expected: keys in a row, begins at the end of the entry before, samples and
// aux as in the first. And the bits that fields have, which tell their width. All without a branch.
struct Bits {
  std::uint64_t keys = 0, begins = 0, samples = 0, aux = 0, all_bytes = 0, all_samples = 0, all_aux = 0;
  std::uint64_t sum = 0;  // of samples
  std::uint64_t end = 0;  // of the last entry

  static Bits of(std::span<const IndexEntry> entries) {
    const IndexEntry& front = entries.front();
    Bits bits{.end = front.begin};
    std::uint64_t key = front.key;
    for (const IndexEntry& e : entries) {
      bits.keys |= e.key ^ key++;
      bits.begins |= e.begin ^ bits.end;
      bits.samples |= e.samples ^ front.samples;
      bits.aux |= e.aux ^ front.aux;
      bits.all_bytes |= e.bytes;
      bits.all_samples |= e.samples;
      bits.all_aux |= e.aux;
      bits.sum += e.samples;
      bits.end = e.begin + e.bytes;
    }
    return bits;
  }
};

}  // namespace

IndexEntries::Block IndexEntries::encode(std::span<const IndexEntry> entries, std::uint64_t first) {
  const IndexEntry& front = entries.front();
  const Bits bits = Bits::of(entries);
  const bool in_a_row = bits.keys == 0, touching = bits.begins == 0;
  const bool keys_rise =
      in_a_row ? entries.back().key >= front.key
               : std::ranges::adjacent_find(entries, std::greater_equal(), &IndexEntry::key) == entries.end();
  // Whether begins only rise: with so few and short entries they cannot wrap around 64 bits.
  static_assert(kBlock <= 1024);
  const bool rising = touching && bits.all_bytes < 1ull << 52 && front.begin < 1ull << 62;
  Range key_range{.least = front.key, .most = entries.back().key};
  Range begin_range{.least = front.begin, .most = entries.back().begin};
  if (!keys_rise && !in_a_row) key_range = Range::of(entries, [](const IndexEntry& e) { return e.key; });
  if (!rising) begin_range = Range::of(entries, [](const IndexEntry& e) { return e.begin; });
  Block block{
      .first = first,
      .entries = static_cast<std::uint32_t>(entries.size()),
      .in_a_row = in_a_row,
      .keys_rise = keys_rise,
      .width = {in_a_row ? std::uint8_t{0} : width_for(key_range.most - key_range.least),
                width_for(begin_range.most - begin_range.least), touching ? std::uint8_t{0} : width_for(bits.all_bytes),
                bits.samples == 0 ? std::uint8_t{0} : width_for(bits.all_samples),
                bits.aux == 0 ? std::uint8_t{0} : width_for(bits.all_aux)},
      .key = key_range.least,
      .begin = begin_range.least,
      .end = bits.end,
      .key_span = key_range.most - key_range.least,
      .samples = front.samples,
      .aux = front.aux,
      .sum = bits.sum};
  // Width 0 means bytes that reach to the next entry. Where entries do not, bytes that are all 0 need a column, too.
  if (!touching && block.width[kBytes] == 0) block.width[kBytes] = 1;
  std::size_t each = 0;
  for (const std::uint8_t width : block.width) each += width;
  const auto columns = std::make_shared_for_overwrite<std::byte[]>(each * entries.size());
  std::byte* to = columns.get();
  const auto put = [&](Field field, const auto& value) {
    with_width(block.width[field], [&](auto word) {
      for (const IndexEntry& e : entries) {
        word = static_cast<decltype(word)>(value(e));
        std::memcpy(to, &word, sizeof word);
        to += sizeof word;
      }
    });
  };
  put(kKey, [&](const IndexEntry& e) { return e.key - block.key; });
  put(kBegin, [&](const IndexEntry& e) { return e.begin - block.begin; });
  put(kBytes, [](const IndexEntry& e) { return e.bytes; });
  put(kSamples, [](const IndexEntry& e) { return e.samples; });
  put(kAux, [](const IndexEntry& e) { return e.aux; });
  block.columns = columns;
  return block;
}

void IndexEntries::Block::read(std::size_t i, std::span<IndexEntry> out) const noexcept {
  const std::byte* column = columns.get();
  const auto get = [&](Field field, const auto& take) {
    with_width(width[field], [&](auto word) {
      const std::byte* from = column + i * sizeof word;
      for (IndexEntry& e : out) {
        std::memcpy(&word, from, sizeof word);
        take(e, word);
        from += sizeof word;
      }
    });
    column += std::size_t{width[field]} * entries;
  };
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = {.key = in_a_row ? key + i + k : key, .begin = begin, .bytes = 0, .samples = samples, .aux = aux};
  get(kKey, [](IndexEntry& e, std::uint64_t word) { e.key += word; });
  const std::byte* const begins = column;
  get(kBegin, [](IndexEntry& e, std::uint64_t word) { e.begin += word; });
  if (width[kBytes] == 0) {
    for (std::size_t k = 0; k + 1 < out.size(); ++k) out[k].bytes = out[k + 1].begin - out[k].begin;
    std::uint64_t next = end;
    if (const std::size_t behind = i + out.size(); behind != entries) {
      with_width(width[kBegin], [&](auto word) {
        std::memcpy(&word, begins + behind * sizeof word, sizeof word);
        next = begin + word;
      });
      if (width[kBegin] == 0) next = begin;
    }
    out.back().bytes = next - out.back().begin;
  }
  get(kBytes, [](IndexEntry& e, std::uint64_t word) { e.bytes = word; });
  get(kSamples, [](IndexEntry& e, std::uint64_t word) { e.samples = static_cast<std::uint32_t>(word); });
  get(kAux, [](IndexEntry& e, std::uint64_t word) { e.aux = static_cast<std::uint32_t>(word); });
}

void IndexEntries::open_block() {
  constexpr std::size_t kFirst = 16;  // where there are thousands of files, most are small
  if (open_.size() == kBlock) return close_block();
  open_.resize(std::clamp(4 * open_.size(), kFirst, kBlock));
}

void IndexEntries::close_block() {
  if (filled_ == 0) return;
  blocks_.push_back(encode(std::span(open_).first(filled_), in_blocks_));
  in_blocks_ += filled_;
  filled_ = 0;
}

void IndexEntries::close() {
  close_block();
  std::vector<IndexEntry>().swap(open_);  // `= {}` would keep its memory, of each of thousands of files
  blocks_.shrink_to_fit();
}

void IndexEntries::append(IndexEntries&& more) {
  close_block();
  more.close_block();
  for (Block& block : more.blocks_) {
    block.first += in_blocks_;
    blocks_.push_back(std::move(block));
  }
  in_blocks_ += more.in_blocks_;
  more = {};
}

void IndexEntries::add_to_keys(std::uint64_t number) {
  for (Block& block : blocks_) block.key += number;
  for (IndexEntry& e : std::span(open_).first(filled_)) e.key += number;
}

// Blocks that are not full are few: the one meant is at its place if all before it are full, or a little further.
const IndexEntries::Block& IndexEntries::block_of(std::size_t i) const noexcept {
  const Block* block = blocks_.data() + i / kBlock;
  while (i - block->first >= block->entries) ++block;
  return *block;
}

std::size_t IndexEntries::read(std::size_t i, std::span<IndexEntry> out) const noexcept {
  if (i >= in_blocks_) {
    const std::size_t n = std::min(out.size(), size() - i);
    std::copy_n(open_.begin() + static_cast<std::ptrdiff_t>(i - in_blocks_), n, out.begin());
    return n;
  }
  const Block& block = block_of(i);
  const std::size_t at = i - static_cast<std::size_t>(block.first);
  const std::size_t n = std::min<std::size_t>(out.size(), block.entries - at);
  block.read(at, out.first(n));
  return n;
}

IndexEntries::Stretch IndexEntries::stretch(std::size_t i) const noexcept {
  if (i >= in_blocks_) return {};
  const Block& block = block_of(i);
  if (block.first != i) return {};
  return {.entries = block.entries,
          .end = block.end,
          .samples = block.sum,
          .keys_rise = block.keys_rise,
          .key = block.key,
          .last_key = block.key + block.key_span};
}

IndexEntry IndexEntries::operator[](std::size_t i) const noexcept {
  IndexEntry entry;
  read(i, {&entry, 1});
  return entry;
}

}  // namespace batchfeed
