// SPDX-License-Identifier: MIT
#include "formats/kaldi/kaldi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "formats/kaldi/kaldi_testing.h"
#include "io/block.h"
#include "support/faulty_sys.h"

namespace batchfeed::kaldi {
namespace {

using ::batchfeed::testing::le16;
using ::batchfeed::testing::le32;

TEST_F(Kaldi, ReadsMatricesOfAllKinds) {
  const Rows rows{{1, 2}, {3, 4}};
  for (const Element element : {Element::f32, Element::f64}) {
    options_.element = element;
    EXPECT_EQ(read("a.ark", "u " + matrix(2, 2, {1, 2, 3, 4}) + "v " + matrix(1, 2, {5, 6})),
              (std::map<std::string, Rows>{{"u", rows}, {"v", {{5, 6}}}}));
    EXPECT_EQ(read("a.ark", "u " + kBinary + "DM " + size(2) + size(2) + f64(1) + f64(2) + f64(3) + f64(4))["u"], rows);
    EXPECT_EQ(read("a.ark", "u " + kBinary + "FV " + size(2) + f32(1) + f32(2))["u"], (Rows{{1, 2}}));
    EXPECT_EQ(read("a.ark", "u  [\n  1 2\n  3 4 ]\nv  [\n  5 6 ]\n"),
              (std::map<std::string, Rows>{{"u", rows}, {"v", {{5, 6}}}}));
    const std::string head = f32(0) + f32(255) + le32(2) + le32(2);
    EXPECT_EQ(read("a.ark", "u " + kBinary + "CM3 " + head + "\1\2\3\4")["u"], rows);
    EXPECT_EQ(read("a.ark", "u " + kBinary + "CM2 " + f32(0) + f32(65535) + le32(2) + le32(2) + le16(1) + le16(2) +
                                le16(3) + le16(4))["u"],
              rows);
    // With the marks 0, 64, 192 and 255 each code is its own value; codes are stored by columns.
    const std::string marks = le16(0) + le16(64) + le16(192) + le16(255);
    const auto cm = read("a.ark", "u " + kBinary + "CM " + f32(0) + f32(65535) + le32(2) + le32(2) + marks + marks +
                                      "\1\xC8\2\x64")["u"];
    ASSERT_EQ(cm.size(), 2u);
    EXPECT_NEAR(cm[0][0], 1, 1e-3);
    EXPECT_NEAR(cm[0][1], 2, 1e-3);
    EXPECT_NEAR(cm[1][0], 200, 1e-3);
    EXPECT_NEAR(cm[1][1], 100, 1e-3);
  }
}

// Values whose last bit depends on which factors are doubles; from Kaldi's formulas, computed with NumPy.
TEST_F(Kaldi, ExpandsToTheLastBit) {
  const std::string range = f32(-13.7F) + f32(41.3F), marks = le16(0) + le16(10'000) + le16(40'000) + le16(65'535);
  EXPECT_EQ(read("a.ark", "u " + kBinary + "CM " + range + le32(3) + le32(1) + marks + "\xCD\xDC\xFA")["u"],
            (Rows{{14.82849407196045}, {18.659944534301758}, {26.322847366333008}}));
  EXPECT_EQ(read("a.ark", "u " + kBinary + "CM3 " + range + le32(3) + le32(1) + "\x8\x9\xC8")["u"],
            (Rows{{-12.404314041137695}, {-12.242352485656738}, {18.692153930664062}}));
}

// An object that is stored by columns is read once for all of its ranges in a chunk.
TEST_F(Kaldi, ReadsManyRangesOfOneCompressedObject) {
  constexpr std::uint32_t kRows = 100'000;
  std::string codes, list;
  for (std::uint32_t i = 0; i < kRows; ++i) codes += static_cast<char>(i % 251);
  const std::string ark = folder_.write("a.ark", "u " + kBinary + "CM " + f32(0) + f32(65'535) + le32(kRows) + le32(1) +
                                                     le16(0) + le16(64) + le16(192) + le16(255) + codes);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    list += "u" + std::to_string(i) + ' ' + ark + ":2[" + std::to_string(i * 100) + ':' + std::to_string(i * 100 + 1) +
            "]\n";
  }
  const auto source = open("a.scp", list);
  const ::batchfeed::testing::FaultySys sys;
  const std::map<std::string, Rows> found = read(*source);
  const std::vector<std::string> names = sys.names();
  EXPECT_LE(std::count(names.begin(), names.end(), "pread"), 10);
  ASSERT_EQ(found.size(), 1000u);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const Rows& rows = found.at("u" + std::to_string(i));
    EXPECT_NEAR(rows.at(0).at(0), i * 100 % 251, 1e-3);
    EXPECT_NEAR(rows.at(1).at(0), (i * 100 + 1) % 251, 1e-3);
  }
}

TEST_F(Kaldi, PassesOverBlankLinesByPieces) {
  const std::string blank(1 << 20, '\n');
  const ::batchfeed::testing::FaultySys sys;
  EXPECT_EQ(read("a.ark", blank + "u [ 1 2 ]\n" + blank + "v [ 3 4 ]\n"),
            (std::map<std::string, Rows>{{"u", {{1, 2}}}, {"v", {{3, 4}}}}));
  const std::vector<std::string> names = sys.names();
  EXPECT_LE(std::count(names.begin(), names.end(), "pread"), 10'000);
}

TEST_F(Kaldi, ReadsListsWithOffsetsAndRanges) {
  const std::string ark = folder_.write("a.ark", "u " + matrix(2, 1, {1, 2}) + "v " + matrix(3, 1, {3, 4, 5}));
  const std::string v = ark + ":" + std::to_string(2 + 15 + 8 + 2);
  EXPECT_EQ(read("x.scp", "v " + v + "\nu " + ark + ":2\r\n\nw " + v + "[1:2]\n"),
            (std::map<std::string, Rows>{{"u", {{1}, {2}}}, {"v", {{3}, {4}, {5}}}, {"w", {{4}, {5}}}}));
  EXPECT_EQ(read("x.scp",
                 "\xEF\xBB\xBF"
                 "u " +
                     ark + ":2\n"),
            (std::map<std::string, Rows>{{"u", {{1}, {2}}}}));
  EXPECT_EQ(fault("x.scp", "u\n"), "kaldi.scp");
  EXPECT_EQ(fault("x.scp", "u " + v + "[2:1]\n"), "kaldi.scp");
  EXPECT_EQ(fault("x.scp", "u " + v + "[0:1,0:1]\n"), "kaldi.scp");
  EXPECT_EQ(fault("x.scp", "u " + v + "[0:3]\n"), "kaldi.range");
  EXPECT_EQ(fault("x.scp", "u copy-feats x |\n"), "io.pipe");
  EXPECT_EQ(fault("x.scp", "u -\n"), "io.stdin");
  EXPECT_EQ(fault("x.scp", "u " + ark + ":9999\n"), "kaldi.short");
  limits_.scp_entries = 1;
  EXPECT_EQ(fault("x.scp", "v " + v + "\nu " + v + "\n"), "limit.scp-entries");
}

// Several lines in a row name ranges of one text.
TEST_F(Kaldi, ReadsManyRangesOfOneText) {
  const std::string a = folder_.write("a.ark", "u [ 1 2\n 3 4\n 5 6 ]\nv [ 7 8\n 9 10 ]\n");
  const std::string list = "a " + a + ":2[1:1]\nb " + a + ":2[0:1]\nc " + a + ":22[1:1]\nd " + a + ":2[2:2]\ne " + a +
                           ":2\nf " + a + ":22[0:0]\n";
  const std::map<std::string, Rows> rows{{"a", {{3, 4}}}, {"b", {{1, 2}, {3, 4}}},         {"c", {{9, 10}}},
                                         {"d", {{5, 6}}}, {"e", {{1, 2}, {3, 4}, {5, 6}}}, {"f", {{7, 8}}}};
  for (const Element element : {Element::f32, Element::f64}) {
    options_.element = element;
    EXPECT_EQ(read("a.scp", list), rows);
  }
  options_.alignment = true;
  options_.dim = 9;
  const std::string b = folder_.write("b.ark", "u 1 2 3\nv 4 5\n");
  EXPECT_EQ(read("b.scp", "a " + b + ":2[1:2]\nb " + b + ":2[0:0]\nc " + b + ":10[1:1]\nd " + b + ":2\n"),
            (std::map<std::string, Rows>{{"a", {{2}, {3}}}, {"b", {{1}}}, {"c", {{5}}}, {"d", {{1}, {2}, {3}}}}));
}

// Lines name ranges of long texts in any order; each text is read for its size only once.
TEST_F(Kaldi, ReadsRangesOfLongTextsInAnyOrder) {
  constexpr int kTexts = 20, kRows = 200;
  std::string ark, list;
  std::vector<std::size_t> offsets;
  for (int t = 0; t < kTexts; ++t) {
    ark += "u" + std::to_string(t);
    offsets.push_back(ark.size());  // in front of the object's two blanks
    ark += "  [\n";
    for (int r = 0; r < kRows; ++r) ark += " " + std::to_string(t) + " " + std::to_string(r) + "\n";
    ark += " ]\n";
  }
  const std::string file = folder_.write("long.ark", ark);
  std::map<std::string, Rows> rows;
  for (int i = 0; i < 400; ++i) {
    const int t = i * 7 % kTexts, r = i * 11 % (kRows - 1);
    const std::string key = "k" + std::to_string(i);
    list += key + " " + file + ":" +
            std::to_string(offsets[static_cast<std::size_t>(t)] + static_cast<std::size_t>(i % 3)) + "[" +
            std::to_string(r) + ":" + std::to_string(r + 1) + "]\n";
    rows[key] = {{static_cast<double>(t), static_cast<double>(r)},
                 {static_cast<double>(t), static_cast<double>(r + 1)}};
  }
  EXPECT_EQ(read("long.scp", list), rows);
  options_.chunk_frames = 7;
  EXPECT_EQ(read("long.scp", list), rows);
}

TEST_F(Kaldi, CutsWindows) {
  options_.context = {{1, 0}};
  EXPECT_EQ(read("a.ark", "u " + matrix(2, 1, {1, 2}))["u"], (Rows{{1, 1}, {1, 2}}));
}

TEST_F(Kaldi, GivesOneRowPerUtteranceWhereAsked) {
  options_.expand_to_utterance = true;
  const auto source = open("a.ark", "u " + matrix(1, 2, {1, 2}) + "v " + matrix(1, 2, {3, 4}));
  EXPECT_TRUE(source->streams()[0].broadcast);
  Chunk chunk;
  source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].step, 0u);
  EXPECT_EQ(fault("a.ark", "u " + matrix(2, 1, {1, 2})), "kaldi.expand");
}

TEST_F(Kaldi, ReadsAlignments) {
  options_.alignment = true;
  options_.dim = 9;
  EXPECT_EQ(read("a.ark", "u " + integers({1, 2, 8}) + "v " + integers({0})),
            (std::map<std::string, Rows>{{"u", {{1}, {2}, {8}}}, {"v", {{0}}}}));
  EXPECT_EQ(read("a.ark", "u 1 2 8 \nv 0\n"), (std::map<std::string, Rows>{{"u", {{1}, {2}, {8}}}, {"v", {{0}}}}));
  EXPECT_EQ(fault("a.ark", "u " + integers({9})), "kaldi.class-range");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + size(1) + "\2" + le32(1)), "kaldi.integer");
  limits_.label_frames = 1;
  EXPECT_EQ(fault("a.ark", "u " + integers({1, 2})), "limit.label-frames");
  options_.dim = 0;
  EXPECT_EQ(fault("a.ark", "u " + integers({1})), "kaldi.dim");
}

TEST_F(Kaldi, ReadsTextAsOtherEditorsLeaveIt) {
  const std::map<std::string, Rows> two = {{"u", {{1, 2}, {3, 4}}}, {"v", {{5, 6}}}};
  EXPECT_EQ(read("a.ark", "u  [\n  1 2\n  3 4 ]\nv [ 5 6 ]\n"), two);
  EXPECT_EQ(read("a.ark", "u  [\r\n\t1\t2\r\n  3 4 ]\r\nv [ 5 6 ]\r\n"), two);
  EXPECT_EQ(read("a.ark", "u  [\n  1 2\n  3 4 ]\n\nv [ 5 6 ]"), two);
  EXPECT_EQ(fault("a.ark", "u [ " + std::string(65, '1') + " ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", "u [ 1 2x ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", "u [ 1 2\n 3 4 5 ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", std::string("u \0x", 4)), "kaldi.object");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + "\5" + le32(1) + size(1)), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(1) + size(0xFFFFFFFF)), "kaldi.size");
  options_.alignment = true;
  options_.dim = 9;
  EXPECT_EQ(read("a.ark", "u 1\t2 8\r\nv 0"), (std::map<std::string, Rows>{{"u", {{1}, {2}, {8}}}, {"v", {{0}}}}));
  EXPECT_EQ(fault("a.ark", "u 1 2x\n"), "kaldi.text");
}

// Short objects are read in blocks, so with far fewer reads than objects.
TEST_F(Kaldi, ReadsShortObjectsInBlocks) {
  std::string content, text, labels;
  std::map<std::string, Rows> expected, classes;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const std::string key = "u" + std::to_string(i);
    const float v = static_cast<float>(i);
    content += key + ' ' +
               (i % 3 == 2   ? kBinary + "DM " + size(1) + size(2) + f64(v) + f64(v + 1)
                : i % 7 == 6 ? "[ " + std::to_string(i) + ' ' + std::to_string(i + 1) + " ]\n"
                             : matrix(1, 2, {v, v + 1}));
    expected[key] = {{v, v + 1}};
    labels += key + ' ' + integers({i, i + 1});
    classes[key] = {{v}, {v + 1}};
  }
  for (const Element element : {Element::f32, Element::f64}) {
    options_.element = element;
    EXPECT_EQ(read("a.ark", content), expected);
  }
  options_ = {.alignment = true, .dim = 30'000};
  const auto source = open("b.ark", labels);
  const ::batchfeed::testing::FaultySys sys;
  EXPECT_EQ(read(*source), classes);
  const std::vector<std::string> names = sys.names();
  if (io::Block::kShort > 1024) {  // else pieces are set so small that an object may be too long for a block
    EXPECT_LE(std::count(names.begin(), names.end(), "pread"),
              static_cast<std::ptrdiff_t>(2 * (labels.size() / io::Block::kBytes + 2)));
  }
}

}  // namespace
}  // namespace batchfeed::kaldi
