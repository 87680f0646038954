// SPDX-License-Identifier: MIT
//
// Which sequences of an index have a key that one before them has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/sort_by_key.h"

namespace batchfeed {

// Their numbers in `entries`, rising; key_of(entry) is the key. Takes no memory where keys only rise.
template <class Entries, class KeyOf>
std::vector<std::size_t> repeats(const Entries& entries, const KeyOf& key_of) {
  std::vector<std::size_t> out;
  std::uint64_t least = ~0ull, most = 0, before = 0;
  bool rising = true;
  for (auto e = entries.begin(); e != entries.end(); ++e) {
    const std::uint64_t key = key_of(*e);
    rising &= least > most || key > before;
    least = std::min(least, key);
    most = std::max(most, key);
    before = key;
  }
  if (rising) return out;
  if ((most - least) / 64 < entries.size()) {  // dense, as numbers of texts are: a bit for each possible key
    std::vector<bool> seen(static_cast<std::size_t>(most - least) + 1);
    std::size_t n = 0;
    for (auto e = entries.begin(); e != entries.end(); ++e, ++n) {
      const auto k = static_cast<std::size_t>(key_of(*e) - least);
      if (seen[k]) out.push_back(n);
      seen[k] = true;
    }
    return out;
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  order.reserve(entries.size());
  for (auto e = entries.begin(); e != entries.end(); ++e) order.emplace_back(key_of(*e), order.size());
  sort_by_key(order, [](const auto& o) { return o.first; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i].first == order[i - 1].first) out.push_back(order[i].second);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace batchfeed
