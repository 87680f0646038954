// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/ctf/ctf.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
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
  EXPECT_EQ(built.path, path + ".bfindex");
  EXPECT_EQ(built.sequences, 2u);
  EXPECT_EQ(built.samples, 3u);
  EXPECT_TRUE(build_index(options, path, quiet_context()).was_valid);
  EXPECT_FALSE(build_index(options, path, quiet_context(), true).was_valid);
}

}  // namespace
}  // namespace batchfeed::ctf
