// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "formats/ctf/ctf.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::fault_of;
using batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Cache, IsWrittenUsedAndRebuilt) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "1 |A 1 |B 1:1\n1 |A 2\n2 |A 2 |B 2:2\n");
  CtfOptions options = options_for({"A:d1", "B:s10"});
  options.cache_index = true;
  Collector collector;
  const auto open_one = [&](KeyMode keys = KeyMode::numeric) {
    return CtfSource(options, path, collector.context(keys)).cache().used;
  };
  EXPECT_FALSE(open_one());
  EXPECT_THAT(folder.names(), ElementsAre("t.ctf", "t.ctf.bfindex"));
  EXPECT_TRUE(open_one());
  options.chunk_bytes = 5;  // chunks are cut afresh
  EXPECT_TRUE(open_one());
  EXPECT_THAT(collector.notices, IsEmpty());

  options.streams[0].defines_mb_size = true;
  EXPECT_FALSE(open_one());
  ASSERT_THAT(collector.ids(), ElementsAre("ctf.index-rebuilt"));
  EXPECT_TRUE(open_one());
  options.skip_sequence_ids = true;
  EXPECT_FALSE(open_one());
  options.skip_sequence_ids = false;
  EXPECT_FALSE(open_one());

  // Keys that are text lie in the cache, too.
  EXPECT_FALSE(open_one(KeyMode::text));
  const CtfSource source(options, path, collector.context(KeyMode::text));
  EXPECT_TRUE(source.cache().used);
  std::vector<SequenceInfo> table;
  source.sequences(0, table);
  EXPECT_EQ(source.key_text(table[0].key), "1");

  // Other content with the old time, a torn cache.
  EXPECT_TRUE(open_one(KeyMode::text));
  folder.write_unseen("t.ctf", "7 |A 1 |B 1:1\n7 |A 2\n8 |A 2 |B 2:2\n");
  EXPECT_FALSE(open_one());
  std::filesystem::resize_file(path + ".bfindex", std::filesystem::file_size(path + ".bfindex") - 1);
  EXPECT_FALSE(open_one());
  EXPECT_TRUE(open_one());
  std::filesystem::remove(path);
  EXPECT_THROW(open_one(), Error);
}

// A stream may have any mark in its name but blanks and pipes.
TEST(Cache, OfStreamsWhoseNamesRunTogetherIsAnotherOnes) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "1 |A 1 |B 2\n2 |A!B 7\n3 |A 3 |B 4 |A!B 9\n");
  Collector collector;
  CtfOptions one = options_for({"A!B:d1"}), two = options_for({"A:d1", "B:d1"});
  two.streams[1].defines_mb_size = true;
  one.cache_index = two.cache_index = true;
  for (const CtfOptions& options : {one, two, one}) {
    const CtfSource source(options, path, collector.context(KeyMode::numeric));
    EXPECT_FALSE(source.cache().used);
    std::vector<SequenceInfo> table;
    source.sequences(0, table);
    ASSERT_EQ(table.size(), 2u);
    EXPECT_EQ(table[0].key, options.streams.size() == 1 ? 2u : 1u);
  }
}

// Minibatches are made by lengths: a cache that is whole and says others would make them of another size without a
// word.
TEST(Cache, IsHeldToTheLengthsOfTheText) {
  const ScratchFolder folder;
  const auto lie = [&](const std::string& path, std::uint32_t samples) {
    std::ifstream in(path + ".bfindex", std::ios::binary);
    std::string cache(std::istreambuf_iterator<char>(in), {});
    in.close();
    constexpr std::size_t kEntriesAt = 56, kChecksumAt = 80, kHeader = 88;
    if (samples == 0) {  // no sequence at all
      std::uint64_t entries = 0;
      std::memcpy(&entries, cache.data() + kEntriesAt, sizeof entries);
      cache.resize(cache.size() - static_cast<std::size_t>(entries) * 32);
      std::memset(cache.data() + kEntriesAt, 0, sizeof entries);
    } else {
      std::memcpy(cache.data() + cache.size() - 8, &samples, sizeof samples);  // of the last sequence
    }
    RunningHash hash;
    hash.add(cache.data(), kChecksumAt);
    hash.add(cache.data() + kHeader, cache.size() - kHeader);
    const std::uint64_t sum = hash.value();
    std::memcpy(cache.data() + kChecksumAt, &sum, sizeof sum);
    std::ofstream(path + ".bfindex", std::ios::binary) << cache;
  };
  CtfOptions options = options_for({"A:d1", "B:d1"});
  options.cache_index = true;
  const auto read = [&](const std::string& path) {
    const CtfSource source(options, path, quiet_context());
    Chunk chunk;
    source.read(0, chunk);
    return source.cache().used;
  };
  std::string lines;  // that are known after the first
  for (int i = 0; i < 100; ++i) lines += std::to_string(i) + " |A 1 |B 2\n";
  for (const std::string& text : {std::string("1 |A 1 |B 2\n1 |A 2\n2 |A 1 |B 1\n2 |B 1\n"), lines}) {
    const std::string path = folder.write("t.ctf", text);
    EXPECT_FALSE(read(path));
    EXPECT_TRUE(read(path));
    for (const std::uint32_t samples : {3u, 0x7FFFFFFFu}) {
      lie(path, samples);
      const Fault f = fault_of([&] { read(path); });
      EXPECT_EQ(f.id, "ctf.other-length");
      EXPECT_EQ(f.kind, FaultKind::stale);
      EXPECT_EQ(f.at.line, text == lines ? 100u : 3u);
      EXPECT_THAT(f.hint, HasSubstr(path + ".bfindex"));
    }
    lie(path, 0);
    EXPECT_FALSE(read(path)) << "an index of nothing";
    lie(path, 0xFFFFFFFF);
    EXPECT_FALSE(read(path)) << "more samples than limits.sequence_samples";
    OpenContext check = quiet_context();
    check.check = true;
    EXPECT_FALSE(CtfSource(options, path, check).cache().used) << "a check looks at the text";
    std::filesystem::remove(path + ".bfindex");
  }
  // Of damaged sequences nobody knows how long they were.
  options.max_errors = 10;
  const std::string path = folder.write("t.ctf", "1 |A 1 |B 2\n1 |A x |B 3\n2 |A 1 |B x\n");
  EXPECT_FALSE(read(path));
  EXPECT_TRUE(read(path));
}

// What is too much for the limits at hand is a fault, whether the index lies in a cache or not.
TEST(Cache, OfOtherLimitsIsNotUsed) {
  const ScratchFolder folder;
  CtfOptions options = options_for({"A:d1"});
  options.cache_index = true;
  const auto used = [&](const std::string& path, KeyMode keys, const Limits& limits = {}) {
    OpenContext context = quiet_context(keys);
    context.limits = limits;
    return CtfSource(options, path, context).cache().used;
  };
  std::string text;
  for (int i = 0; i < 3000; ++i) text += (i == 2500 ? "7 |A 1\n" : "") + std::to_string(i / 2) + " |A 1\n";
  const std::string numbers = folder.write("n.ctf", text);
  EXPECT_FALSE(used(numbers, KeyMode::numeric));
  EXPECT_TRUE(used(numbers, KeyMode::numeric, {.sequence_samples = 2}));
  const Fault longer = fault_of([&] { used(numbers, KeyMode::numeric, {.sequence_samples = 1}); });
  EXPECT_EQ(longer.id, "limit.sequence");
  EXPECT_EQ(longer.at.byte, 0u);
  EXPECT_TRUE(used(numbers, KeyMode::numeric));
  const std::string words = folder.write("w.ctf", "a |A 1\nabc |A 1\n");
  EXPECT_FALSE(used(words, KeyMode::text));
  EXPECT_TRUE(used(words, KeyMode::text, {.key_bytes = 3}));
  EXPECT_EQ(fault_of([&] { used(words, KeyMode::text, {.key_bytes = 2}); }).id, "limit.key");
  EXPECT_TRUE(used(words, KeyMode::text));
}

TEST(Cache, GivesTheSameSourceAsTheFile) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "|# head\n\n 5 |A 1 |X\n5 |A 2\n6 |C 1\n7 |A 2\n5 |A 9");
  CtfOptions options = options_for({"A:d1"});
  const CtfSource plain(options, path, quiet_context());
  options.cache_index = true;
  const CtfSource written(options, path, quiet_context());
  const CtfSource loaded(options, path, quiet_context());
  EXPECT_TRUE(loaded.cache().used);
  EXPECT_EQ(plain.fingerprint(), loaded.fingerprint());
  EXPECT_EQ(plain.notices().size(), 2u);
  EXPECT_EQ(loaded.notices().size(), 2u);
  Chunk a, b;
  plain.read(0, a);
  loaded.read(0, b);
  EXPECT_EQ(a.columns[0].values.size(), b.columns[0].values.size());
}

// Each sequence has a text of its own there, in their order, though two of them have the same id.
TEST(Cache, HoldsTextsInTheOrderOfTheirSequences) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "u |A 1\nv |A 2\nu |A 3\n");
  CtfOptions options = options_for({"A:d1"});
  options.cache_index = true;
  const auto keys = [&](bool used) {
    const CtfSource source(options, path, quiet_context(KeyMode::text));
    EXPECT_EQ(source.cache().used, used);
    std::string out;
    for (const IndexEntry& e : source.index().entries) out += source.key_text(e.key) + std::to_string(e.key) + ' ';
    return out;
  };
  EXPECT_EQ(keys(false), "u0 v1 u0 ");
  EXPECT_EQ(keys(true), "u0 v1 u0 ");
  // The key of the last entry, which stands before three lengths and three letters.
  std::ifstream in(path + ".bfindex", std::ios::binary);
  std::string cache(std::istreambuf_iterator<char>(in), {});
  in.close();
  constexpr std::size_t kChecksumAt = 80, kHeader = 88;
  cache[cache.size() - 3 - 3 * 4 - sizeof(IndexEntry)] = 0;
  RunningHash hash;
  hash.add(cache.data(), kChecksumAt);
  hash.add(cache.data() + kHeader, cache.size() - kHeader);
  const std::uint64_t sum = hash.value();
  std::memcpy(cache.data() + kChecksumAt, &sum, sizeof sum);
  std::ofstream(path + ".bfindex", std::ios::binary) << cache;
  EXPECT_EQ(keys(false), "u0 v1 u0 ");
}

TEST(Cache, LineModeSurvivesTheCache) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "\n|A 1\n5 |A 2\n");
  CtfOptions options = options_for({"A:d1"});
  options.cache_index = true;
  { const CtfSource written(options, path, quiet_context()); }
  const CtfSource loaded(options, path, quiet_context());
  ASSERT_TRUE(loaded.cache().used);
  std::vector<SequenceInfo> table;
  loaded.sequences(0, table);
  EXPECT_EQ(table[0].key, 1u);
  EXPECT_EQ(table[1].key, 2u);
  Chunk chunk;
  loaded.read(0, chunk);
  EXPECT_EQ(chunk.columns[0].as<double>()[1], 2);
}

TEST(Cache, BuildIndexReportsWhatItDid) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "1 |A 1\n1 |A 2\n2 |A 2\n");
  const CtfOptions options = options_for({"A:d1"});
  const IndexBuild built = build_index(options, path, quiet_context());
  EXPECT_FALSE(built.was_valid);
  EXPECT_EQ(built.cache, path + ".bfindex");
  EXPECT_EQ(built.sequences, 2u);
  EXPECT_EQ(built.samples, 3u);
  EXPECT_TRUE(build_index(options, path, quiet_context()).was_valid);
  EXPECT_FALSE(build_index(options, path, quiet_context(), true).was_valid);
}

}  // namespace
}  // namespace batchfeed::ctf
