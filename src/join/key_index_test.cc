// SPDX-License-Identifier: MIT
#include "join/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace batchfeed::join {
namespace {

// The keys of a corpus, in chunks of a hundred; sequence i has i + 1 samples.
class Keys final : public Source {
 public:
  explicit Keys(std::vector<std::uint64_t> keys) : keys_(std::move(keys)) {
    for (std::size_t i = 0; i < keys_.size(); i += kChunk)
      chunks_.push_back({.sequences = std::min(kChunk, keys_.size() - i)});
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    out.clear();
    for (std::size_t i = chunk * kChunk; i < std::min(keys_.size(), (chunk + 1) * kChunk); ++i)
      out.push_back({keys_[i], static_cast<std::uint32_t>(i % kChunk), static_cast<std::uint32_t>(i + 1)});
  }
  void read(std::uint32_t /*chunk*/, Chunk& /*out*/) const override {}

 private:
  static constexpr std::size_t kChunk = 100;
  std::vector<std::uint64_t> keys_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
};

// Keys of every kind: dense, spread over all 64 bits, in clusters, at both ends, a few often.
std::vector<std::uint64_t> draw(std::mt19937_64& random, int kind) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  std::vector<std::uint64_t> keys(random() % 3000);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    switch (kind) {
      case 0: keys[i] = 1000 + i; break;
      case 1: keys[i] = random(); break;
      case 2: keys[i] = (random() % 3 << 62) + random() % 100'000; break;
      case 3: keys[i] = random() % 2 == 0 ? random() % 5000 : kMost - random() % 5000; break;
      case 4: keys[i] = random() % 50; break;
      default: keys[i] = kMost; break;
    }
  }
  if (kind % 2 == 0 || random() % 2 == 0) std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

// find() against a map from each key to the samples of its sequences; keys that are there, that lie beside them, and
// any.
void expect_found(const std::vector<std::uint64_t>& keys, std::mt19937_64& random, bool in_turn) {
  KeyIndex index(Keys(keys), in_turn);
  std::map<std::uint64_t, std::vector<std::uint32_t>> all;
  std::map<std::uint64_t, std::size_t> turns;
  for (std::size_t i = 0; i < keys.size(); ++i) all[keys[i]].push_back(static_cast<std::uint32_t>(i + 1));
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t near = keys.empty() ? 0 : keys[random() % keys.size()];
    const std::uint64_t key = i % 4 == 0 ? random() : i % 4 == 1 ? near + 1 - random() % 3 : near;
    index.ask_ahead(key + 1, random());
    const Location* const at = index.find(key);
    const auto known = all.find(key);
    ASSERT_EQ(at != nullptr, known != all.end()) << key;
    if (at == nullptr) continue;
    const std::vector<std::uint32_t>& samples = known->second;
    std::size_t& turn = turns[key];
    EXPECT_EQ(at->samples, samples[in_turn && turn < samples.size() ? turn : 0]) << key;
    EXPECT_EQ(at->chunk, (at->samples - 1) / 100);
    EXPECT_EQ(at->row, (at->samples - 1) % 100);
    ++turn;
  }
  std::uint64_t left = 0;
  for (const auto& [key, samples] : all) {
    const std::size_t could = in_turn ? samples.size() : 1;
    left += could - std::min(could, turns[key]);
  }
  std::vector<KeyIndex::Unused> unused;
  EXPECT_EQ(index.unused(3, unused), left);
  EXPECT_EQ(unused.size(), std::min<std::uint64_t>(3, left));
}

TEST(KeyIndex, FindsKeysOfEveryKind) {
  std::mt19937_64 random(1);
  for (int turn = 0; turn < 60; ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    expect_found(draw(random, turn % 6), random, turn % 5 == 0);
  }
}

TEST(KeyIndex, HasFewKeysOrNone) {
  std::mt19937_64 random(2);
  for (const std::vector<std::uint64_t>& keys :
       {std::vector<std::uint64_t>{}, {0}, {~std::uint64_t{0}}, {7, 7}, {0, ~std::uint64_t{0}}})
    expect_found(keys, random, false);
}

}  // namespace
}  // namespace batchfeed::join
