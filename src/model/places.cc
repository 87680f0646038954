// SPDX-License-Identifier: MIT
#include "model/places.h"

#include <cstddef>
#include <vector>

namespace batchfeed {

bool are_places(const IndexEntries& entries, const TextList& texts) {
  if (entries.size() != texts.size()) return false;
  std::uint64_t place = 0;
  for (const IndexEntry& e : entries) {
    if (e.key != place++) return false;
  }
  return true;
}

void number_places(IndexEntries& entries, const TextList& texts, KeyTable& keys) {
  const std::vector<std::uint64_t> ids = keys.ids(texts);
  if (ids.empty()) return;
  bool in_a_row = true;  // as where all are new
  for (std::size_t i = 0; i < ids.size(); ++i) in_a_row &= ids[i] == ids[0] + i;
  if (in_a_row) {
    entries.add_to_keys(ids[0]);
  } else {
    entries.map_keys([&](std::uint64_t place) { return ids[static_cast<std::size_t>(place)]; });
  }
}

void put_places(IndexEntries& entries, TextList& texts, const KeyTable& keys) {
  std::uint64_t place = 0;
  entries.map_keys([&](std::uint64_t key) {
    keys.append(key, texts);
    return place++;
  });
}

}  // namespace batchfeed
