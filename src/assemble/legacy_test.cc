// SPDX-License-Identifier: MIT
//
// HTKMLFReader: lists, labels, and how utterances are matched with their labels.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "assemble/open.h"
#include "assemble/testing.h"
#include "support/fault_of.h"
#include "support/speech.h"

namespace batchfeed::assemble {
namespace {

// A chunk is closed when it has more than 3 frames, of utterances with labels only (htk.md 5, 11.2).
TEST_F(Opening, TheLegacyReaderCutsChunksOfUtterancesThatAreLabelled) {
  std::string list, labels = "#!MLF!#\n";
  for (int i = 1; i <= 9; ++i) {
    const std::string key = "u" + std::to_string(i);
    list += key + '=' + write(key, testing::htk_file(testing::ramp(2))) + "[0,1]\n";
    if (i != 2 && i != 4 && i != 5) labels += "\"" + key + "\"\n0 2 a 1\n.\n";
  }
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.reader.legacy_speech = true;
  HtkOptions features{.name = "f", .scp_files = {write("list", list)}, .dim = 1, .chunk_frames = 3, .legacy = true};
  MlfOptions states{.name = "l", .files = {write("labels", labels)}, .dim = 2, .legacy = true};
  setup.sources = {features, states};
  std::vector<std::string> told;
  setup.report = [&](const Notice& notice) { told.push_back(notice.fault.what); };
  const auto keys = [&] {
    const auto source = open_sources(setup);
    std::string out;
    std::vector<SequenceInfo> table;
    Chunk chunk;
    for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
      source->sequences(c, table);
      source->read(c, chunk);
      EXPECT_EQ(source->chunks()[c].samples, 2 * table.size());
      out += '[';
      for (const SequenceInfo& s : table) {
        EXPECT_EQ(chunk.columns[0].samples(s.row), 2u);
        EXPECT_EQ(chunk.columns[1].samples(s.row), 2u);
        out += source->key_text(s.key);
      }
      out += ']';
    }
    return out;
  };
  EXPECT_EQ(keys(), "[u1u3][u6u7][u8u9]");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].substr(0, 6), "3 of 9") << told[0];
  setup.reader.legacy_speech = false;
  EXPECT_EQ(keys(), "[u1][u3][u6][u7u8][u9]");
}

// Two lists are matched line by line, even where an entry has no labels and chunks are therefore cut again.
TEST_F(Opening, UtterancesThatTheLegacyReaderListsTwiceKeepTheirPartners) {
  const std::string data = write("data", testing::htk_file(testing::ramp(20)));
  const auto list = [&](const std::string& name, std::vector<int> firsts) {
    std::string lines;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      const std::string range = '[' + std::to_string(firsts[i]) + ',' + std::to_string(firsts[i] + 2 - (i == 0)) + ']';
      lines += (i == 2 ? "v=" : "u=") + data + range + '\n';
    }
    return HtkOptions{.name = name, .scp_files = {write(name, lines)}, .dim = 1, .chunk_frames = 1, .legacy = true};
  };
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.reader.legacy_speech = true;
  // u's labels have more frames than its first entry.
  MlfOptions states{.name = "l",
                    .files = {write("labels", "#!MLF!#\n\"u\"\n0 3 a 1\n.\n\"v\"\n0 3 a 0\n.\n")},
                    .dim = 2,
                    .legacy = true};
  setup.sources = {list("a", {0, 1, 2, 3}), list("b", {10, 11, 12, 13}), states};
  const auto source = open_sources(setup);
  ASSERT_EQ(source->chunks().size(), 3u);
  Chunk chunk;
  for (std::uint32_t c = 0; c < 3; ++c) {
    source->read(c, chunk);
    EXPECT_EQ(chunk.columns[0].as<float>()[0], float(c + 2));
    EXPECT_EQ(chunk.columns[1].as<float>()[0], float(c + 12));
  }
}

// htk.md 7.6, 11.2: labels of utterances that no list names may be damaged.
TEST_F(Opening, LabelsThatTheLegacyReaderDoesNotWantMayBeDamaged) {
  const std::string data = write("data", testing::htk_file(testing::ramp(9)));
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.reader.legacy_speech = true;
  HtkOptions features{.name = "f",
                      .scp_files = {write("list", "u=" + data + "[0,0]\nv=" + data + "[0,2]\n")},
                      .dim = 1,
                      .legacy = true};
  const std::string other = "\"w\"\n0 2 a 7\n.\n";
  MlfOptions states{.name = "l",
                    .files = {write("labels", "#!MLF!#\n" + other + "\"u\"\n0 1 a 1\n.\n\"v\"\n0 3 a 0\n.\n")},
                    .dim = 2,
                    .legacy = true};
  setup.sources = {features, states};
  std::vector<std::string> told;
  setup.report = [&](const Notice& notice) { told.push_back(notice.fault.text()); };
  const auto rows = [&] {
    const auto source = open_sources(setup);
    Chunk chunk;
    source->read(0, chunk);
    std::string out;
    for (std::uint32_t r = 0; r < source->chunks()[0].sequences; ++r)
      out += std::to_string(chunk.columns[1].samples(r)) + (chunk.is_invalid(r) ? "!" : "") + ' ';
    return out;
  };
  EXPECT_EQ(rows(), "1 3 ");  // an utterance may have a single frame
  write("list", "w=" + data + "[0,1]\nv=" + data + "[0,2]\n");
  EXPECT_EQ(rows(), "0! 3 ");
  setup.reader.legacy_speech = false;
  std::get<MlfOptions>(setup.sources[1]).legacy = false;
  EXPECT_EQ(testing::fault_of(rows).id, "mlf.class-range");
}

}  // namespace
}  // namespace batchfeed::assemble
