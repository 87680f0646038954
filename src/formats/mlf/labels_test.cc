// SPDX-License-Identifier: MIT
//
// The lines of a text MLF: what valid lines mean, and the faults of invalid ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "formats/mlf/infer.h"
#include "formats/mlf/testing.h"
#include "support/fault_of.h"

namespace batchfeed::mlf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST_F(Mlf, TakesTimesAndFrameNumbers) {
  const std::map<std::string, Classes> cases = {
      {"0 300000 a\n300000 500000 b\n", {0, 0, 0, 1, 1}},
      {"0 3 a\n3 5 b\n", {0, 0, 0, 1, 1}},
      {"0 3 a -1.5 ph -9 word\n3 5 b\n", {0, 0, 0, 1, 1}},
      {"0 250000 a\n250000 400000 b\n", {0, 0, 0, 1}},
      {"0 99999 a\n", {0}},
      {"0 1e5 a\n1e5 3e5 b\n", {0, 1, 1}},
      {"+0 +2 a\n2 4.9 c\n", {0, 0, 2, 2}},
      {"1e-400 1 a\n1 2 b\n", {0, 1}},
      {"0 2 a\n2 2 b\n2 4 c\n", {0, 0, 2, 2}},
      {"0  3 a\n", {0, 0, 0}},
      {"0\t3\ta\n", {0, 0, 0}},
      {"0 2x a\n", {0, 0}},
      {"\n0 2 a\n\n2 3 b\n\n", {0, 0, 1}},
      {"0 100000 a\n100000 150000 b\n", kInvalid},
      {"0 2 a\n3 5 b\n", kInvalid},
      {"0 3 a\n2 5 b\n", kInvalid},
      {"1 3 a\n", kInvalid},
      {"5 3 a\n", kInvalid},
      {"0 5 a\n5 3 b\n3 6 a\n", kInvalid},
  };
  for (const auto& [lines, classes] : cases) {
    SCOPED_TRACE(lines);
    EXPECT_THAT(read(one(lines)), ElementsAre(Pair("u", classes)));
    EXPECT_EQ(reported_.size(), classes == kInvalid ? 1u : 0u);
    reported_.clear();
  }
  limits_.label_frames = 200000;
  EXPECT_EQ(read(one("0 99998 a\n"))["u"].size(), 99998u);
}

TEST_F(Mlf, SaysWhereAnUtteranceIsInvalid) {
  read(one("0 2 a\n3 5 b\n"));
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "mlf.gap");
  EXPECT_EQ(reported_[0].at.line, 4u);
  EXPECT_EQ(reported_[0].at.byte, 8u + 8 + 6);
  EXPECT_THAT(reported_[0].what, HasSubstr("'u'"));
  read(one("1 2 a\n"));
  EXPECT_EQ(reported_[1].id, "mlf.start");
  read(one("5 3 a\n"));
  EXPECT_EQ(reported_[2].id, "mlf.reversed");
  EXPECT_EQ(read(*open({one("1 3 a\n") + "\"v\"\n0 1 b\n.\n"})),
            (std::map<std::string, Classes>{{"u", kInvalid}, {"v", {1}}}));
}

TEST_F(Mlf, LocatesWhatNoUtteranceMayHave) {
  struct Bad {
    std::string lines, id;
    std::uint64_t line, column;
  };
  const std::vector<Bad> cases = {
      {"0 2 a\n2 4 d\n", "mlf.unknown-label", 4, 5},
      {"0 2\n", "mlf.columns", 3, 1},
      {"0\n", "mlf.columns", 3, 1},
      {"0 x a\n", "mlf.time", 3, 3},
      {"0 x a\n0 1 a\n", "mlf.time", 3, 3},
      {"nan 1 a\n", "mlf.time", 3, 1},
      {"0 inf a\n", "mlf.time", 3, 3},
      {"-5 1 a\n", "mlf.time", 3, 1},
      {"0 1e99 a\n", "mlf.time", 3, 3},
      {"0 4e12 a\n", "limit.label-frames", 2, 1},
  };
  for (const Bad& c : cases) {
    SCOPED_TRACE(c.lines);
    const Fault f = fault(one(c.lines));
    EXPECT_EQ(f.id, c.id) << f.text();
    EXPECT_EQ(f.at.line, c.line);
    EXPECT_EQ(f.at.column, c.column);
    EXPECT_TRUE(f.at.has_byte);
  }
  EXPECT_THAT(fault(one("nan 1 a\n")).what, HasSubstr("'nan' is not a time"));
  for (const std::string large : {"inf", "1e400", "-1e400"})
    EXPECT_THAT(fault(one("0 " + large + " a\n")).what, HasSubstr("'" + large + "' is too large for a time"));
  options_.dim = 2;
  EXPECT_EQ(fault(one("0 2 c\n")).id, "mlf.class-range");
  limits_.label_frames = ~0ull;
  limits_.sequence_samples = 10;
  EXPECT_EQ(fault(one("0 11 a\n")).id, "limit.sequence");
  limits_.key_bytes = 2;
  EXPECT_EQ(fault(one("0 1 a\n", "long.lab")).id, "limit.key");
}

TEST_F(Mlf, WithoutAStateListTheFourthColumnIsTheClass) {
  options_.mapping_file.clear();
  options_.dim = 10;
  EXPECT_EQ(read(one("0 550 dr1 0\n"))["u"], Classes(550, 0));
  EXPECT_EQ(read(one("0 2 x 7z\n"))["u"], (Classes{7, 7}));
  EXPECT_EQ(fault(one("0 550 dr1 0 more\n")).id, "mlf.columns");
  EXPECT_EQ(fault(one("0 550 dr1\n")).id, "mlf.columns");
  EXPECT_EQ(fault(one("0 2 x -5\n")).id, "mlf.class");
  EXPECT_EQ(fault(one("0 2 x 70000\n")).id, "mlf.class");
  EXPECT_EQ(fault(one("0 2 x y\n")).id, "mlf.class");
  EXPECT_EQ(fault(one("0 2 x 10\n")).id, "mlf.class-range");
}

TEST_F(Mlf, NamesUtterances) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"*/u.lab", "u"},   {"*/d/u.rec", "d/u"}, {"u", "u"},      {"x.y/u", "x.y/u"},
      {"a.b.lab", "a.b"}, {"*/", "*/"},         {"/u.lab", "/u"}};
  for (const auto& [spelled, key] : cases)
    EXPECT_THAT(read(one("0 1 a\n", spelled)), ElementsAre(Pair(key, Classes{0}))) << spelled;
  EXPECT_THAT(read("#!MLF!#\n\"u.lab\" \n0 1 a\n. \n\"v\"\n0 1 b\n.\n"),
              UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{1})));
}

TEST_F(Mlf, AKeyWithoutQuotesIsToldByItsBeginning) {
  check_ = true;
  open({"#!MLF!#\n" + std::string(80, 'k') + "rest\n0 1 a\n.\n\"u\"\n0 1 a\n.\n"});
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].what, "'" + std::string(80, 'k') + "' is no key in quotes; the entry is left out");
}

TEST_F(Mlf, LeavesOutWhatHasNoLabelsAndCounts) {
  const auto source =
      open({"#!MLF!#\nunquoted\n0 1 a\n.\n\"e\"\n.\n\"z\"\n0 0 a\n.\n\"u\"\n0 1 a\n.\n\"u\"\n0 1 "
            "b\n.\n#!MLF!#\n\"v\"\n0 1 c\n.\n\"cut\"\n0 1 a"});
  EXPECT_THAT(read(*source), UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{2})));
  EXPECT_THAT(told(*source), UnorderedElementsAre(Pair("mlf.unquoted-key", HasSubstr("1 entry")),
                                                  Pair("mlf.no-labels", HasSubstr("1 utterance")),
                                                  Pair("mlf.no-frames", HasSubstr("1 utterance")),
                                                  Pair("mlf.duplicate-key", HasSubstr("1 repeated")),
                                                  Pair("mlf.cut-short", HasSubstr("1 utterance"))));
}

TEST_F(Mlf, KeepsACompleteLastUtterance) {
  EXPECT_EQ(read("#!MLF!#\n\"u\"\n0 1 a\n."), (std::map<std::string, Classes>{{"u", {0}}}));
  EXPECT_THAT(reported_, IsEmpty());
  EXPECT_EQ(read("#!MLF!#\n\"u\"\n0 1 a\n"), (std::map<std::string, Classes>{{"u", {0}}}));
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "mlf.no-end-line");
}

TEST_F(Mlf, WantsItsHeader) {
  for (const std::string content : {"", "\"u\"\n0 1 a\n.\n", "#!MLF!# \n\"u\"\n0 1 a\n.\n", "#!mlf!#\n", "\n"}) {
    const Fault f = fault(content);
    EXPECT_EQ(f.id, "mlf.header") << content;
    EXPECT_EQ(f.at.line, 1u);
  }
  EXPECT_THAT(read("#!MLF!#\n"), IsEmpty());
  EXPECT_EQ(read("\r\n\n" + one("0 1 a\n")).size(), 1u);
  EXPECT_EQ(fault("\n\n#!mlf!#\n").at.line, 3u);
  EXPECT_EQ(told(*open({"#!MLF!#\n"})).count("mlf.no-utterances"), 1u);
}

TEST_F(Mlf, SaysThatLinesEndInCrAlone) {
  std::string text = one("0 3 a\n3 5 b\n");
  std::replace(text.begin(), text.end(), '\n', '\r');
  for (const bool longer_than_a_line : {false, true}) {
    if (longer_than_a_line) limits_.list_line_bytes = 20;
    const Fault f = fault(text);
    EXPECT_EQ(f.id, "mlf.header");
    EXPECT_EQ(f.at.column, 8u);
    EXPECT_EQ(f.what, "the line ends in CR alone, expected LF or CR LF");
    EXPECT_EQ(f.hint, "convert it, for example with mac2unix");
    options_.legacy = true;
  }
  OpenContext context;
  context.limits = limits_;
  EXPECT_EQ(testing::fault_of([&] { infer(options_, context); }).id, "mlf.header");
  limits_ = {};
  EXPECT_EQ(fault("#!MLF!#\r\r\n\"u\"\n0 1 a\n.\n").hint, "is this a text MLF?");
}

TEST_F(Mlf, ReadsCrLf) {
  std::string text = one("0 3 a\n3 5 b\n") + "\"v\"\n0 1 c\n.\n";
  std::string dos;
  for (const char c : text) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read(dos), read(text));
  EXPECT_EQ(read(dos).size(), 2u);
}

}  // namespace
}  // namespace batchfeed::mlf
