// SPDX-License-Identifier: MIT
#include "formats/kaldi/kaldi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/kaldi/index.h"
#include "formats/kaldi/infer.h"
#include "io/block.h"
#include "support/each_sequence.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::kaldi {
namespace {

using ::batchfeed::testing::le16;
using ::batchfeed::testing::le32;
using ::batchfeed::testing::ScratchFolder;
using Rows = std::vector<std::vector<double>>;

const std::string kBinary("\0B", 2);
std::string f32(float v) { return le32(std::bit_cast<std::uint32_t>(v)); }
std::string f64(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  return le32(static_cast<std::uint32_t>(bits)) + le32(static_cast<std::uint32_t>(bits >> 32));
}
std::string size(std::uint32_t n) { return "\4" + le32(n); }
std::string matrix(std::uint32_t rows, std::uint32_t cols, const std::vector<float>& values) {
  std::string out = kBinary + "FM " + size(rows) + size(cols);
  for (const float v : values) out += f32(v);
  return out;
}
std::string integers(const std::vector<std::uint32_t>& values) {
  std::string out = kBinary + size(static_cast<std::uint32_t>(values.size()));
  for (const std::uint32_t v : values) out += size(v);
  return out;
}

class Kaldi : public ::testing::Test {
 protected:
  std::unique_ptr<Source> open(const std::string& name, const std::string& content) {
    options_.name = "x";
    options_.files = {folder_.write(name, content)};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(mode_);
    context.limits = limits_;
    context.check = check_;
    context.report = [this](const Notice& n) { reported_.push_back(n.fault.id); };
    return kaldi::open(options_, context);
  }
  std::map<std::string, Rows> read(const std::string& name, const std::string& content) {
    return read(*open(name, content));
  }
  std::map<std::string, Rows> read(const Source& source) {
    std::map<std::string, Rows> out;
    ::batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
      if (chunk.is_invalid(s.row)) return;
      const Column& column = chunk.columns[0];
      Rows& rows = out[source.key_text(s.key)];
      for (std::uint32_t i = 0; i < s.samples; ++i) {
        std::vector<double>& row = rows.emplace_back();
        if (column.storage == Storage::sparse) {
          row.push_back(column.indices[column.first_value[column.first_sample[s.row] + i]]);
          continue;
        }
        const std::size_t at = static_cast<std::size_t>(column.begin[s.row] + i * column.step);
        for (std::size_t k = 0; k < column.dim; ++k)
          row.push_back(column.element == Element::f32 ? double{column.as<float>()[at + k]}
                                                       : column.as<double>()[at + k]);
      }
    });
    return out;
  }
  std::string fault(const std::string& name, const std::string& content) {
    try {
      read(name, content);
    } catch (const Error& e) {
      return e.fault().id;
    }
    return "accepted";
  }

  ScratchFolder folder_;
  KaldiOptions options_;
  Limits limits_;
  KeyMode mode_ = KeyMode::text;
  bool check_ = false;
  std::vector<std::string> reported_;
};

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

// Which line of a list a fault of an archive comes from is said, and check finds all.
TEST_F(Kaldi, FindsAllThatAListNamesInVain) {
  const std::string list = "u nosuch.ark:2\nw nosuch2.ark:5\n";
  try {
    open("l.scp", list);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "io.open");
    EXPECT_THAT(e.fault().what, ::testing::EndsWith("(listed at " + (folder_ / "l.scp") + ":1, key 'u')"));
  }
  check_ = true;
  EXPECT_THROW(open("l.scp", list), Error);  // kaldi.no-utterances
  EXPECT_EQ(reported_, (std::vector<std::string>{"io.open", "io.open"}));
  const std::string labels = folder_.write("b.ark", "v 1 2 3\n");
  EXPECT_TRUE(holds_alignments(folder_.write("m.scp", list + "v " + labels + ":2\n"), {}));
  EXPECT_FALSE(holds_alignments(folder_.write("m.scp", list), {}));
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

TEST_F(Kaldi, RefusesTextsThatOverlap) {
  std::string ark = "u", list;
  for (int i = 0; i < 2000; ++i) ark += " 1";
  const std::string file = folder_.write("one.ark", ark + "\n");
  for (int i = 0; i < 100; ++i)
    list += "k" + std::to_string(i) + " " + file + ":" + std::to_string(2 + 2 * i) + "[0:0]\n";
  options_.alignment = true;
  options_.dim = 2;
  EXPECT_EQ(fault("o.scp", list), "kaldi.overlap");
  check_ = true;  // reported for each line, whether the texts are sound or, below, damaged
  (void)open("o.scp", list);
  EXPECT_GT(std::count(reported_.begin(), reported_.end(), "kaldi.overlap"), 90);
  reported_.clear();
  folder_.write("one.ark", ark + " x\n");
  EXPECT_THROW((void)open("o.scp", list), Error);  // no entry is left
  EXPECT_GT(std::count(reported_.begin(), reported_.end(), "kaldi.overlap"), 90);
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

TEST_F(Kaldi, PassesOnWhatIsNotFiniteAndSaysSo) {
  check_ = true;
  EXPECT_EQ(read("a.ark", "u " + matrix(2, 1, {1, HUGE_VALF})).size(), 1u);
  EXPECT_EQ(reported_, std::vector<std::string>{"kaldi.not-finite"});
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

TEST_F(Kaldi, LocatesDamage) {
  EXPECT_EQ(fault("a.ark", "u " + matrix(2, 2, {1, 2, 3})), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(2)), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(0x7FFFFFFF) + size(0x7FFFFFFF)), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "DM " + size(0x60000000) + size(0x55555556)),
            "kaldi.short");  // the number of bytes does not fit in 64 bits
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(0xFFFFFFFF) + size(1)), "kaldi.size");
  EXPECT_EQ(fault("a.ark", "u " + matrix(2, 0, {})), "kaldi.size");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "XX " + size(1)), "kaldi.object");
  EXPECT_EQ(fault("a.ark", "u 1 2 3\n"), "kaldi.object");
  EXPECT_EQ(fault("a.ark", "u  [\n 1 2\n 3 ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", "u  [\n 1 x ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", "u  [\n 1 2\n"), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u"), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "\nu\n"), "kaldi.key");
  EXPECT_EQ(fault("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 2, {1, 2})), "kaldi.mixed");
  EXPECT_EQ(fault("a.ark", ""), "kaldi.no-utterances");
  mode_ = KeyMode::numeric;
  EXPECT_EQ(fault("a.ark", "u " + matrix(1, 1, {1})), "kaldi.numeric-key");
  mode_ = KeyMode::text;
  EXPECT_THROW(kaldi::open({}, {}), Error);                    // kaldi.no-file
  EXPECT_THROW(kaldi::open({.files = {"a.ark"}}, {}), Error);  // kaldi.no-name
}

TEST_F(Kaldi, BoundsWhatAFileMaySay) {
  limits_.key_bytes = 4;
  EXPECT_EQ(fault("a.ark", "abcde " + matrix(1, 1, {1})), "limit.key");
  const std::string one = folder_.write("b.ark", "u " + matrix(1, 1, {1})), ark = folder_ / "a.ark";
  EXPECT_EQ(fault("b.scp", "abcde " + one + ":2\n"), "limit.key");
  EXPECT_EQ(read("b.scp", "abcd " + one + ":2\n").size(), 1u);
  limits_.sequence_samples = 3;
  EXPECT_EQ(fault("a.ark", "u " + matrix(4, 1, {1, 2, 3, 4})), "limit.sequence");
  EXPECT_EQ(read("a.ark", "u " + matrix(3, 1, {1, 2, 3})).at("u").size(), 3u);
  EXPECT_EQ(fault("c.scp", "u " + ark + ":2[0:3]\n"), "limit.sequence");
  EXPECT_EQ(read("c.scp", "u " + ark + ":2[0:2]\n").at("u").size(), 3u);
  limits_.dim = 2;
  EXPECT_EQ(fault("a.ark", "u " + matrix(1, 3, {1, 2, 3})), "limit.dim");
  limits_.chunk_values = 4;
  const std::string two = "u " + matrix(1, 2, {1, 2}) + "v " + matrix(1, 2, {1, 2});
  EXPECT_EQ(read("a.ark", two).size(), 2u);
  EXPECT_EQ(fault("a.ark", two + "w " + matrix(1, 2, {1, 2})), "limit.chunk-values");
  options_.chunk_frames = 1;
  EXPECT_EQ(read("a.ark", two + "w " + matrix(1, 2, {1, 2})).size(), 3u);
}

TEST_F(Kaldi, RefusesListsThatSaySomethingElse) {
  const std::string ark = folder_.write("a.ark", "u " + matrix(2, 1, {1, 2}));
  for (const char* line :
       {"u", "u a.ark:2[0:]", "u a.ark:2[1:0]", "u a.ark:2[x:1]", "u a.ark:2[0]", "u a.ark:2]", "u a.ark:2[:1]"})
    EXPECT_EQ(fault("l.scp", std::string(line) + "\n"), "kaldi.scp") << line;
  EXPECT_EQ(fault("l.scp", "u " + ark + ":2[0:2]\n"), "kaldi.range");
  EXPECT_EQ(fault("l.scp", "u a.ark:x\n"), "io.open") << "then it is part of the name";
  EXPECT_EQ(read("l.scp", " u\t" + ark + ":2 \r\n").size(), 1u);
  EXPECT_TRUE(is_list("a.scp"));
  EXPECT_TRUE(is_list("a.scp.gz"));
  EXPECT_TRUE(is_list("a.scp.zst"));
  EXPECT_FALSE(is_list("scp.ark"));
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

TEST_F(Kaldi, NoticesFilesWithAnotherContentOfTheSameShape) {
  const auto source = open("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 1, {2}));
  EXPECT_EQ(read(*source).size(), 2u);
  const std::string path = folder_.write("a.ark", "u " + matrix(1, 1, {3}) + "v " + matrix(1, 1, {2}));
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_THROW(read(*source), Error);  // changed while it was open
  const auto again = open("a.ark", "u " + matrix(1, 1, {1}));
  folder_.write("new", "u " + matrix(1, 1, {3}));
  std::filesystem::rename(folder_ / "new", folder_ / "a.ark");
  EXPECT_THROW(read(*again), Error);  // replaced by another file
  const auto cached = open("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 1, {2}));
  folder_.write_unseen("a.ark", "u " + matrix(1, 2, {1}) + "v " + matrix(1, 1, {2}));
  try {
    read(*cached);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "kaldi.changed");
    EXPECT_EQ(e.fault().what, "utterance 'u' is not what was indexed");
  }
}

TEST_F(Kaldi, CountsWhatIsLeftOut) {
  const auto source = open("a.ark", "u " + matrix(1, 1, {1}) + "u " + matrix(1, 1, {2}) + "v " + matrix(0, 0, {}));
  EXPECT_EQ(read(*source), (std::map<std::string, Rows>{{"u", {{1}}}}));
  ASSERT_EQ(source->notices().size(), 2u);
  EXPECT_EQ(source->notices()[0].fault.id, "kaldi.duplicate-key");
  EXPECT_EQ(source->notices()[1].fault.id, "kaldi.no-rows");
  folder_.write("a.ark", "u " + matrix(1, 2, {1, 2}));
  EXPECT_THROW(read(*source), Error);  // io.changed
  check_ = true;
  EXPECT_EQ(read("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 2, {1, 2}) + "w " + matrix(2, 1, {3})).size(),
            1u);
  EXPECT_EQ(reported_, (std::vector<std::string>{"kaldi.mixed", "kaldi.short"}));
  reported_.clear();  // check reports each repeated key
  EXPECT_EQ(read("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 1, {2}) + "u " + matrix(1, 1, {3}) + "u " +
                              matrix(1, 1, {4})),
            (std::map<std::string, Rows>{{"u", {{1}}}, {"v", {{2}}}}));
  EXPECT_EQ(reported_, (std::vector<std::string>{"kaldi.duplicate-key", "kaldi.duplicate-key"}));
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

TEST_F(Kaldi, NamesTheObjectAtWhichAnArchiveEnds) {
  std::string content;
  for (int i = 0; i < 100; ++i) content += "u" + std::to_string(i + 100) + ' ' + matrix(2, 2, {1, 2, 3, 4});
  const std::size_t each = content.size() / 100;
  const auto source = open("a.ark", content);
  const auto fault = [&](std::uint32_t from, std::uint32_t to) {
    Chunk chunk;
    return ::batchfeed::testing::fault_of([&] { source->row_reader(0)->read(0, {from, to}, chunk); });
  };
  Chunk chunk;
  source->row_reader(0)->read(0, {0, 1}, chunk);  // so that the file is open
  std::filesystem::resize_file(folder_ / "a.ark", 50 * each - 5);
  const Fault alone = fault(49, 50), together = fault(0, 100);
  EXPECT_EQ(alone.id, "io.ends-early");
  EXPECT_EQ(alone.what, "file ends 6 bytes before it should") << "of the 32 that are looked at first";
  EXPECT_EQ(together.id, alone.id);
  EXPECT_EQ(together.what, alone.what);
  EXPECT_EQ(together.at, alone.at);
}

TEST_F(Kaldi, SaysWhatIsWrongInsideABlock) {
  std::string content;
  std::vector<std::size_t> at;
  for (std::uint32_t i = 0; i < 20; ++i) {
    content += "u" + std::to_string(i) + ' ';
    at.push_back(content.size());
    content += integers({1, 2, 3});
  }
  options_.alignment = true;
  options_.dim = 9;
  const auto source = open("a.ark", content);
  Chunk chunk;
  content[at[12] + 7 + 5] = 2;  // the width of the second integer
  content[at[15] + 2] = 3;
  folder_.write_unseen("a.ark", content);
  const Fault fault = ::batchfeed::testing::fault_of([&] { source->read(0, chunk); });
  EXPECT_EQ(fault.id, "kaldi.integer");
  EXPECT_EQ(fault.at.byte, at[12] + 7 + 5);
}

}  // namespace
}  // namespace batchfeed::kaldi
