// SPDX-License-Identifier: MIT
#include "model/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace batchfeed {
namespace {

using Plain = std::vector<IndexEntry>;

// That nothing is lost, whatever is asked and how.
void expect_same(const IndexEntries& entries, const Plain& plain) {
  ASSERT_EQ(entries.size(), plain.size());
  std::size_t n = 0;
  for (auto e = entries.begin(); e != entries.end(); ++e, ++n) {
    ASSERT_LT(n, plain.size());
    ASSERT_EQ(*e, plain[n]) << "entry " << n;
    ASSERT_EQ(e.number(), n);
  }
  ASSERT_EQ(n, plain.size());
  Plain some(100);
  for (std::size_t i = 0; i < plain.size(); i += 1 + i % 61) {
    ASSERT_EQ(entries[i], plain[i]) << "entry " << i;
    const std::size_t got = entries.read(i, some);
    ASSERT_GE(got, 1u);
    ASSERT_LE(got, std::min(some.size(), plain.size() - i));
    for (std::size_t k = 0; k < got; ++k) ASSERT_EQ(some[k], plain[i + k]) << "entry " << i + k;
  }
  if (!plain.empty()) {
    ASSERT_EQ(entries.back(), plain.back());
  }
  ASSERT_EQ(entries.read(plain.size(), some), 0u);
  ASSERT_TRUE(entries.from(plain.size()) == entries.end());
  for (std::size_t i = 0; i <= plain.size(); i += 1 + i % 997) {
    for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{32}, std::size_t{33}, ~std::size_t{0}}) {
      std::size_t got = 0;
      for (auto e = entries.from(i, most); e != entries.end() && got < 40; ++e, ++got) ASSERT_EQ(*e, plain[i + got]);
      ASSERT_EQ(got, std::min({most, plain.size() - i, std::size_t{40}}));
    }
  }
}

IndexEntries entries_of(const Plain& plain) {
  IndexEntries out;
  for (const IndexEntry& e : plain) out.push_back(e);
  return out;
}

// Entries of which each field is of its own kind: alike, in a row, narrow, of any size.
Plain draw(std::mt19937_64& random, std::size_t n) {
  const auto kind = [&] { return random() % 6; };
  const auto bits = [&](std::uint64_t k) {
    return k == 5 ? random() : k == 0 ? 7 : random() >> (64 - (8u << (k % 4)));
  };
  const std::uint64_t keys = kind(), begins = kind(), bytes = kind(), samples = kind(), aux = kind();
  Plain out(n);
  std::uint64_t key = random() >> (random() % 64), end = random() >> (random() % 64);
  for (IndexEntry& e : out) {
    e = {.key = keys < 3 ? (key += keys == 2 ? random() % 100 : 1) : bits(keys),
         .begin = begins < 4 ? end : bits(begins),
         .bytes = bits(bytes),
         .samples = static_cast<std::uint32_t>(bits(samples)),
         .aux = static_cast<std::uint32_t>(bits(aux))};
    end = e.begin + e.bytes;
    if (begins == 3 && random() % 100 == 0) ++end;
  }
  return out;
}

TEST(IndexEntries, HoldWhatWasPutIn) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = round < 30 ? static_cast<std::size_t>(round) : random() % (3 * IndexEntries::kBlock);
    const Plain plain = draw(random, n);
    IndexEntries entries = entries_of(plain);
    expect_same(entries, plain);
    entries.close();
    expect_same(entries, plain);
  }
}

TEST(IndexEntries, OfBytesThatReachToNothingBehindThem) {
  for (const Plain& plain : {Plain{{.begin = 5}, {.begin = 5}}, Plain{{.begin = 5}, {.begin = 9}},
                             Plain{{.begin = ~0ull, .bytes = 6}, {.begin = 5, .bytes = ~0ull}},
                             Plain{{.bytes = 1ull << 63}, {.begin = 1ull << 63, .bytes = 1ull << 63}, {}}, Plain{{}}}) {
    IndexEntries entries = entries_of(plain);
    entries.close();
    expect_same(entries, plain);
  }
}

// As who enters many at once does, in turns with others.
TEST(IndexEntries, AreWrittenToTheirPlaces) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    const Plain plain = draw(random, random() % (4 * IndexEntries::kBlock));
    IndexEntries entries;
    for (std::size_t i = 0; i < plain.size();) {
      if (random() % 4 == 0) {
        entries.push_back(plain[i++]);
        continue;
      }
      const std::span<IndexEntry> places = entries.places();
      ASSERT_GE(places.size(), 1u);
      const std::size_t n = std::min({places.size(), plain.size() - i, static_cast<std::size_t>(random() % 500)});
      std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(i), n, places.begin());
      entries.took(n);
      i += n;
    }
    expect_same(entries, plain);
  }
}

TEST(IndexEntries, WholeBlocksSayWhatTheyHold) {
  std::mt19937_64 random(4);
  std::size_t rows = 0;
  for (int round = 0; round < 100; ++round) {
    const Plain plain = draw(random, 3 * IndexEntries::kBlock);
    IndexEntries entries = entries_of(plain);
    entries.close();
    for (std::size_t i = 0; i < plain.size();) {
      const IndexEntries::Stretch stretch = entries.stretch(i);
      ASSERT_EQ(stretch.entries, IndexEntries::kBlock);
      std::uint64_t samples = 0;
      bool rise = true;
      for (std::size_t k = 0; k < stretch.entries; ++k) {
        samples += plain[i + k].samples;
        rise &= k == 0 || plain[i + k].key > plain[i + k - 1].key;
      }
      EXPECT_EQ(stretch.samples, samples);
      EXPECT_EQ(stretch.keys_rise, rise);
      if (rise) {
        EXPECT_EQ(stretch.key, plain[i].key);
        EXPECT_EQ(stretch.last_key, plain[i + stretch.entries - 1].key);
      }
      rows += rise ? 1 : 0;
      EXPECT_EQ(entries.stretch(i + 1).entries, 0u);
      i += stretch.entries;
    }
  }
  EXPECT_GT(rows, 50u);
}

TEST(IndexEntries, OfSeveralRangesFollowEachOther) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 50; ++round) {
    IndexEntries all;
    Plain plain;
    for (std::uint64_t part = random() % 9; part > 0; --part) {
      Plain more = draw(random, random() % (2 * IndexEntries::kBlock));
      IndexEntries entries = entries_of(more);
      const std::uint64_t add = random();
      if (random() % 2 == 0) {
        entries.add_to_keys(add);
        for (IndexEntry& e : more) e.key += add;
      }
      if (random() % 2 == 0)
        entries.map_keys([&](std::uint64_t key) { return key / 3 + add; }),
            std::ranges::for_each(more, [&](IndexEntry& e) { e.key = e.key / 3 + add; });
      all.append(std::move(entries));
      plain.insert(plain.end(), more.begin(), more.end());
      all.push_back({.key = add});
      plain.push_back({.key = add});
    }
    expect_same(all, plain);
    const IndexEntries copy = all;
    all.close();
    expect_same(all, plain);
    expect_same(copy, plain);
  }
}

}  // namespace
}  // namespace batchfeed
