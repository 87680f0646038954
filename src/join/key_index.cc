// SPDX-License-Identifier: MIT
#include "join/key_index.h"

#include <algorithm>
#include <bit>

#include "base/sort_by_key.h"
#include "model/total.h"

namespace batchfeed::join {
namespace {

constexpr std::size_t kEntriesOfBucket = 8;  // at most, if keys are spread evenly

}  // namespace

KeyIndex::KeyIndex(const Source& source, bool in_turn) : in_turn_(in_turn) {
  std::vector<SequenceInfo> table;
  entries_.reserve(total(source.chunks()).sequences);
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    for (const SequenceInfo& s : table) entries_.push_back({s.key, {c, s.row, s.samples}});
  }
  if (!std::ranges::is_sorted(entries_, {}, &Entry::key)) sort_by_key(entries_, [](const Entry& e) { return e.key; });
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    if (entries_[i].key != entries_[i - 1].key) continue;
    if (repeated_++ == 0) first_repeated_ = entries_[i].key;
  }
  used_.resize(entries_.size());
}

// The first entry with the key of `first` that was not given yet, or `first`: those that were given stand in front.
std::size_t KeyIndex::next_turn(std::size_t first) const {
  if (repeated_ == 0 || !used_[first]) return first;
  std::size_t from = first, to = entries_.size();
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (entries_[middle].key == entries_[first].key && used_[middle]) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from < entries_.size() && entries_[from].key == entries_[first].key ? from : first;
}

void KeyIndex::set_up_buckets() {
  const std::uint64_t range = entries_.back().key - entries_.front().key;
  const auto bits = static_cast<unsigned>(std::bit_width(range));
  const auto of_number = static_cast<unsigned>(std::bit_width(entries_.size() / kEntriesOfBucket)) + 1;
  bucket_bits_ = bits - std::min(bits, of_number);
  buckets_.resize((range >> bucket_bits_) + 2);
  std::size_t bucket = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    while (bucket <= bucket_of(entries_[i].key)) buckets_[bucket++] = i;
  }
  buckets_[bucket] = entries_.size();
}

// The first entry with this key, or null.
const KeyIndex::Entry* KeyIndex::search(std::uint64_t key) {
  if (entries_.empty() || key < entries_.front().key || key > entries_.back().key) return nullptr;
  if (buckets_.empty()) set_up_buckets();
  const std::size_t bucket = bucket_of(key);
  const Entry *const begin = entries_.data() + buckets_[bucket], *const end = entries_.data() + buckets_[bucket + 1];
  const Entry* const found =
      std::lower_bound(begin, end, key, [](const Entry& e, std::uint64_t k) { return e.key < k; });
  return found != end && found->key == key ? found : nullptr;
}

void KeyIndex::ask_ahead(std::uint64_t soon, std::uint64_t later) const noexcept {
  if (buckets_.empty()) return;
  if (const std::size_t bucket = bucket_of(later); bucket < buckets_.size()) __builtin_prefetch(&buckets_[bucket]);
  if (const std::size_t bucket = bucket_of(soon); bucket < buckets_.size())
    __builtin_prefetch(entries_.data() + buckets_[bucket]);
}

const Location* KeyIndex::find(std::uint64_t key) {
  if (next_ >= entries_.size() || entries_[next_].key != key || (next_ > 0 && entries_[next_ - 1].key == key)) {
    const Entry* const found = search(key);
    if (found == nullptr) return nullptr;
    next_ = static_cast<std::size_t>(found - entries_.data());
  }
  if (in_turn_) next_ = next_turn(next_);
  used_[next_] = true;
  return &entries_[next_++].at;
}

std::uint64_t KeyIndex::unused(std::size_t most, std::vector<Unused>& out) const {
  std::uint64_t count = 0;
  std::vector<const Entry*> found;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (used_[i] || (!in_turn_ && i > 0 && entries_[i].key == entries_[i - 1].key)) continue;
    ++count;
    found.push_back(&entries_[i]);
  }
  const std::size_t n = std::min(most, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n), found.end(),
                    [](const Entry* a, const Entry* b) {
                      return a->at.chunk != b->at.chunk ? a->at.chunk < b->at.chunk : a->at.row < b->at.row;
                    });
  for (std::size_t i = 0; i < n; ++i) out.push_back(*found[i]);
  return count;
}

}  // namespace batchfeed::join
