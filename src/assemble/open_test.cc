// SPDX-License-Identifier: MIT
#include "assemble/open.h"

#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace batchfeed::assemble {
namespace {

class Opening : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("batchfeed_open_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static CtfOptions corpus(std::vector<std::string> files, const std::string& stream = "A") {
    CtfOptions o;
    o.files = std::move(files);
    o.streams = {{.name = stream, .dim = 1}};
    return o;
  }
  static std::string refusal(const batchfeed::Setup& setup) {
    try {
      static_cast<void>(open_sources(setup));
    } catch (const Error& error) {
      return error.fault().id;
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(Opening, NeedsASourceAFileAndFeaturesFirst) {
  batchfeed::Setup setup;
  EXPECT_EQ(refusal(setup), "open.no-source");
  setup.sources = {corpus({})};
  EXPECT_EQ(refusal(setup), "open.no-file");
  setup.sources = {MlfOptions{}, HtkOptions{}};
  EXPECT_EQ(refusal(setup), "open.labels-first");
}

TEST_F(Opening, CorporaOfAMixtureAreOpenedEachWithItsJoins) {
  batchfeed::Setup setup;
  setup.mix = {{corpus({write("a.ctf", "1 |A 1\n2 |A 2\n")}), corpus({write("l.ctf", "1 |L 5\n")}, "L")},
               {corpus({write("b.ctf", "7 |A 3\n")}), corpus({write("m.ctf", "7 |L 6\n8 |L 9\n")}, "L")}};
  EXPECT_EQ(open_sources(setup)->chunks().size(), 2u);
  setup.reader.mix_weights = {1, 1};
  setup.reader.driver = ReaderOptions::Driver::timeline;
  setup.reader.epoch_samples = 100'000;
  setup.reader.minibatch_size = {100'000};
  Reader reader(setup);
  EXPECT_EQ(reader.num_sequences(), 2u);
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  const auto ones = std::count(batch->keys.begin(), batch->keys.end(), 1u);
  EXPECT_EQ(ones + std::count(batch->keys.begin(), batch->keys.end(), 7u), 100'000) << "as the joins left them";
  EXPECT_NEAR(static_cast<double>(ones), 50'000, 2'000);
  setup.sources = setup.mix[0];
  EXPECT_EQ(refusal(setup), "open.sources-and-mix");
}

TEST_F(Opening, ShardsByPatternAreOneCorpusInOrderOfTheirNames) {
  write("b.ctf", "|A 3\n|A 4\n");
  write("a.ctf", "|A 1\n|A 2\n");
  batchfeed::Setup setup;
  setup.sources = {corpus({(folder_ / "?.ctf").string()})};
  setup.reader.order.kind = OrderKind::file;
  setup.reader.minibatch_size = {8};
  Reader reader(setup);
  EXPECT_EQ(reader.num_sequences(), 4u);
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  const float* values = (*batch)["A"].as<float>();
  EXPECT_EQ(std::vector<float>(values, values + 4), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Opening, AJoinSaysByKeyWhatItLeavesOut) {
  batchfeed::Setup setup;
  setup.sources = {corpus({write("features.ctf", "1 |A 1\n2 |A 2\n17 |A 3\n")}, "A"),
                   corpus({write("labels.ctf", "2 |B 20\n1 |B 10\n5 |B 50\n")}, "B")};
  std::string told;
  setup.report = [&](const Notice& notice) { told += notice.fault.what + '\n'; };
  const auto source = open_sources(setup);
  EXPECT_NE(told.find("1 of 3 sequences of 'A' have no partner in 'B' and were left out, first: 17"), std::string::npos)
      << told;
  EXPECT_NE(told.find("1 of 3 sequences of 'B' have no partner in 'A', first: 5"), std::string::npos) << told;
  Chunk chunk;
  source->read(0, chunk);
  const Column& b = chunk.columns[1];
  EXPECT_EQ(b.as<float>()[b.begin[0]], 10.0f);
  EXPECT_EQ(b.as<float>()[b.begin[1]], 20.0f);
}

}  // namespace
}  // namespace batchfeed::assemble
