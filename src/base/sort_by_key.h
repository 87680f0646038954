// SPDX-License-Identifier: MIT
//
// Radix sort by keys of 64 bits, for millions of sequences in any order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace batchfeed {

// Sorts by rising key_of(record), stably. Needs memory for a second copy of the records. Digits in which no two keys
// differ are skipped, so that keys that lie near each other take fewer passes.
template <class Record, class KeyOf>
void sort_by_key(std::vector<Record>& records, const KeyOf& key_of) {
  constexpr unsigned kBits = 11;  // of a digit
  constexpr std::size_t kFew = 2048;
  if (records.size() < kFew) {
    std::stable_sort(records.begin(), records.end(),
                     [&](const Record& a, const Record& b) { return key_of(a) < key_of(b); });
    return;
  }
  std::uint64_t differ = 0;
  for (const Record& r : records) differ |= key_of(r) ^ key_of(records.front());
  std::vector<Record> sorted(records.size());
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    const auto digit = [&](std::uint64_t key) { return static_cast<std::size_t>(key >> shift & ((1u << kBits) - 1)); };
    if (digit(differ) == 0) continue;
    std::array<std::size_t, std::size_t{1} << kBits> place{};
    for (const Record& r : records) ++place[digit(key_of(r))];
    std::size_t before = 0;
    for (std::size_t& p : place) before += std::exchange(p, before);
    for (const Record& r : records) sorted[place[digit(key_of(r))]++] = r;
    records.swap(sorted);
  }
}

}  // namespace batchfeed
