// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>
#include <batchfeed/tools.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;
using ::testing::HasSubstr;

batchfeed::Setup text_setup(std::vector<std::string> files) {
  CtfOptions options;
  options.files = std::move(files);
  options.streams = {{.name = "v", .dim = 1}};
  batchfeed::Setup setup;
  setup.sources.emplace_back(options);
  return setup;
}

MlfOptions labels_of(std::vector<std::string> files) {
  return {.name = "l", .files = std::move(files), .dim = 3, .cache_index = true};
}

std::string labels(const std::string& key, int frames) {
  return "#!MLF!#\n\"*/" + key + ".lab\"\n0 " + std::to_string(frames * 100'000) + " x 2\n.\n";
}

TEST(Indexes, AreKeptAndFoundAgain) {
  const ScratchFolder folder;
  const std::string file = folder.write("a.ctf", "0 |v 1\n1 |v 2\n1 |v 3\n");
  const batchfeed::Setup setup = text_setup({file});
  const std::vector<IndexBuild> none = find_indexes(setup);
  ASSERT_EQ(none.size(), 1u);
  EXPECT_FALSE(none[0].was_valid);
  EXPECT_EQ(none[0].why, "") << "there is none, so nothing is wrong with it";

  const std::vector<IndexBuild> first = build_indexes(setup);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_FALSE(first[0].was_valid);
  EXPECT_TRUE(std::filesystem::exists(first[0].cache));
  EXPECT_EQ(first[0].sequences, 2u);
  EXPECT_EQ(first[0].samples, 3u);
  EXPECT_TRUE(build_indexes(setup)[0].was_valid);
  EXPECT_FALSE(build_indexes(setup, true)[0].was_valid);

  const IndexBuild found = find_indexes(setup).at(0);
  EXPECT_TRUE(found.was_valid);
  EXPECT_EQ(found.file, file);
  EXPECT_EQ(found.cache, first[0].cache);
  EXPECT_EQ(found.sequences, 2u);
}

TEST(Indexes, OfDataThatChangedIsToldWithTheReason) {
  const ScratchFolder folder;
  const std::string file = folder.write("a.ctf", "0 |v 1\n1 |v 2\n");
  const batchfeed::Setup setup = text_setup({file});
  build_indexes(setup);
  std::ofstream(file, std::ios::app) << "2 |v 3\n";
  const IndexBuild stale = find_indexes(setup).at(0);
  EXPECT_FALSE(stale.was_valid);
  EXPECT_NE(stale.why, "");
  EXPECT_EQ(stale.sequences, 0u) << "of an index that does not fit nothing is believed";
  const IndexBuild again = build_indexes(setup).at(0);
  EXPECT_FALSE(again.was_valid);
  EXPECT_EQ(again.why, stale.why);
  EXPECT_EQ(again.sequences, 3u);
}

TEST(Indexes, OfLabelFilesAreKeptEachForItself) {
  const ScratchFolder folder;
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.sources = {labels_of({folder.write("a.mlf", labels("u", 2)), folder.write("b.mlf", labels("v", 3))})};
  for (const IndexBuild& one : find_indexes(setup)) EXPECT_FALSE(one.was_valid);

  const std::vector<IndexBuild> first = build_indexes(setup);
  ASSERT_EQ(first.size(), 2u);
  for (const IndexBuild& one : first) {
    EXPECT_FALSE(one.was_valid);
    EXPECT_TRUE(std::filesystem::exists(one.cache)) << one.file;
    EXPECT_EQ(one.sequences, 1u);
    EXPECT_EQ(one.bytes, std::filesystem::file_size(one.file));
  }
  EXPECT_NE(first[0].cache, first[1].cache);
  EXPECT_EQ(first[0].samples, 2u);
  EXPECT_EQ(first[1].samples, 3u);
  EXPECT_EQ(first[1].chunks, 1u);
  for (const IndexBuild& one : build_indexes(setup)) EXPECT_TRUE(one.was_valid);
  for (const IndexBuild& one : find_indexes(setup)) EXPECT_TRUE(one.was_valid);

  // If one file changes, the other's index stays valid.
  folder.write("b.mlf", labels("w", 4));
  const std::vector<IndexBuild> found = find_indexes(setup);
  EXPECT_TRUE(found[0].was_valid);
  EXPECT_FALSE(found[1].was_valid);
  EXPECT_NE(found[1].why, "");
}

TEST(Indexes, OfLabelsThatEndOpenAreNotKept) {
  const ScratchFolder folder;
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  const std::string whole = labels("u", 2);
  setup.sources = {
      labels_of({folder.write("a.mlf", whole.substr(0, whole.size() - 2)), folder.write("b.mlf", "#!MLF!#\n")})};
  const std::vector<IndexBuild> built = build_indexes(setup);
  ASSERT_EQ(built.size(), 2u);
  for (const IndexBuild& one : built) {
    EXPECT_EQ(one.cache, "");
    EXPECT_TRUE(one.nothing_to_keep) << one.file;
  }
  EXPECT_EQ(built[0].samples, 2u);
  EXPECT_EQ(built[1].sequences, 0u);
}

TEST(Indexes, OfLabelsAreBuiltAnewWhenAsked) {
  const ScratchFolder folder;
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  MlfOptions options = labels_of({folder.write("a.mlf", labels("u", 2))});
  options.cache_index = false;  // build_indexes() keeps an index nevertheless
  setup.sources = {options};
  const IndexBuild first = build_indexes(setup).at(0);
  EXPECT_EQ(first.samples, 2u);
  EXPECT_EQ(first.chunks, 1u);
  // `rebuild` writes a valid cache again, with the same bytes.
  const std::string good = content_of(first.cache);
  std::filesystem::last_write_time(first.cache, std::filesystem::file_time_type::min() + std::chrono::hours(24));
  const auto before = std::filesystem::last_write_time(first.cache);
  const IndexBuild again = build_indexes(setup, true).at(0);
  EXPECT_FALSE(again.was_valid);
  EXPECT_EQ(again.sequences, 1u);
  EXPECT_EQ(content_of(again.cache), good);
  EXPECT_NE(std::filesystem::last_write_time(again.cache), before);
}

TEST(Indexes, OtherFormatsAndMixturesAreCounted) {
  const ScratchFolder folder;
  const std::string text = folder.write("a.ctf", "0 |v 1\n1 |v 2\n1 |v 3\n");
  convert(*open_sources(text_setup({text})), folder / "a.cbf", {});
  CbfOptions binary;
  binary.files = {folder / "a.cbf"};
  batchfeed::Setup setup;
  setup.mix = {{binary}, {text_setup({text}).sources[0]}};
  const std::vector<IndexBuild> built = build_indexes(setup);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_EQ(built[0].cache, "");
  EXPECT_EQ(built[0].sequences, 2u);
  EXPECT_EQ(built[0].samples, 3u);
  EXPECT_GT(built[0].bytes, 0u);
  EXPECT_TRUE(std::filesystem::exists(built[1].cache));
  // find_indexes() leaves out sources whose format keeps no index.
  const std::vector<IndexBuild> found = find_indexes(setup);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].file, text);
}

}  // namespace
}  // namespace batchfeed
