// SPDX-License-Identifier: MIT
//
// Ids that come back behind other sequences: as in the reference each begins a sequence of its own, but is told of
// (ctf.md 7.2).
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/sort_by_key.h"
#include "formats/ctf/index.h"

namespace batchfeed::ctf {
namespace {

struct Keys {
  bool rising = true;  // as in most corpora: none comes back
  std::uint64_t least = ~0ull, most = 0;

  void add(std::uint64_t first, std::uint64_t last) noexcept {
    rising &= least > most || first > most;  // the first has none before it
    least = std::min(least, first);
    most = std::max(most, last);
  }
};

Keys look_at(const IndexEntries& entries) {
  Keys keys;
  for (std::size_t i = 0; i < entries.size();) {
    const IndexEntries::Stretch whole = entries.stretch(i);
    if (whole.keys_rise) {
      keys.add(whole.key, whole.last_key);
      i += whole.entries;
      continue;
    }
    std::array<IndexEntry, 32> some;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (const IndexEntry& e : std::span(some).first(entries.read(i, some))) {
      keys.add(e.key, e.key);
      ++i;
    }
  }
  return keys;
}

struct Repeats {
  std::size_t second = 0;  // the first entry with the key of an earlier one
  std::uint64_t sequences = 0;
};

// A bit for each key there may be.
Repeats find_near(const IndexEntries& entries, const Keys& keys) {
  Repeats found;
  std::vector<bool> seen(static_cast<std::size_t>(keys.most - keys.least) + 1);
  for (auto e = entries.begin(); e != entries.end(); ++e) {
    const auto k = static_cast<std::size_t>(e->key - keys.least);
    if (seen[k] && found.sequences++ == 0) found.second = e.number();
    seen[k] = true;
  }
  return found;
}

Repeats find_far(const IndexEntries& entries) {
  std::vector<std::uint64_t> keys, repeated;
  keys.reserve(entries.size());
  for (const IndexEntry& e : entries) keys.push_back(e.key);
  sort_by_key(keys, [](std::uint64_t key) { return key; });
  Repeats found;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i] != keys[i - 1]) continue;
    ++found.sequences;
    if (repeated.empty() || repeated.back() != keys[i]) repeated.push_back(keys[i]);
  }
  std::vector<bool> seen(repeated.size());
  for (auto e = entries.begin(); found.sequences != 0; ++e) {
    const auto at = std::lower_bound(repeated.begin(), repeated.end(), e->key);
    if (at == repeated.end() || *at != e->key) continue;
    const auto n = static_cast<std::size_t>(at - repeated.begin());
    if (seen[n]) {
      found.second = e.number();
      break;
    }
    seen[n] = true;
  }
  return found;
}

}  // namespace

std::optional<IndexNotes::Repeated> find_repeated(const IndexEntries& entries) {
  const Keys keys = look_at(entries);
  if (keys.rising) return std::nullopt;
  const Repeats found = (keys.most - keys.least) / 64 < entries.size() ? find_near(entries, keys) : find_far(entries);
  if (found.sequences == 0) return std::nullopt;
  const IndexEntry again = entries[found.second];
  auto first = entries.begin();
  while (first->key != again.key) ++first;
  return IndexNotes::Repeated{again.key, first->begin, again.begin, found.sequences};
}

}  // namespace batchfeed::ctf
