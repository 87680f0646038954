// SPDX-License-Identifier: MIT
//
// Damaged text: what it costs, and what is said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "formats/ctf/opened_testing.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::Call;
using batchfeed::testing::FaultySys;
using batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kBad = "1 |A x\n1 |A 2\n";

TEST(Budget, ToleratesAsManyErrorsAsItSays) {
  for (const std::uint64_t budget : {1u, 2u, 3u}) {
    const Opened opened(kBad, options_for({"A:d1"}, budget));
    const Chunk chunk = opened.read();
    EXPECT_EQ(chunk.columns[0].samples(0), 1u);
    EXPECT_EQ(opened.source->errors(), 1u);
  }
}

TEST(Budget, WithoutOneTheFirstErrorFailsWithItsPlace) {
  const Opened opened(kBad, options_for({"A:d1"}));
  const Fault fault = opened.fault();
  EXPECT_EQ(fault.id, "ctf.bad-number");
  EXPECT_EQ(fault.kind, FaultKind::format);
  EXPECT_EQ(fault.at.line, 1u);
  EXPECT_EQ(fault.at.column, 6u);
  EXPECT_EQ(fault.at.byte, 5u);
  EXPECT_EQ(fault.stream, "A");
  EXPECT_EQ(fault.what, "stream 'A' of sequence 1: expected a number, found 'x'");
  // Reading again fails again.
  EXPECT_EQ(opened.fault().at.column, 6u);
}

TEST(Budget, WhatIsGluedToAnIdMayBeATextId) {
  const Opened ids("1089-134 |A 1\n", options_for({"A:d1"}));
  const Fault fault = ids.fault();
  EXPECT_EQ(fault.id, "ctf.garbage");
  EXPECT_EQ(fault.at.column, 5u);
  EXPECT_THAT(fault.hint, HasSubstr("text ids need"));
  const std::string samples = "samples start with '|' and the name of a stream";
  EXPECT_EQ(Opened("1089 x |A 1\n", options_for({"A:d1"})).fault().hint, samples);
  EXPECT_EQ(Opened("|A 1\n1089-134 |A 1\n", options_for({"A:d1"})).fault().hint, samples) << "there are no ids";
}

TEST(Budget, LinesThatEndWithCarriageReturnsAreToldOf) {
  const Opened opened("1 |A 1\r2 |A 2\r", options_for({"A:d1"}));
  const Fault fault = opened.fault();
  EXPECT_EQ(fault.at.column, 8u);
  EXPECT_THAT(fault.hint, HasSubstr("carriage return"));
}

// In the first line of the data, which may have a margin, byte and column say the same.
TEST(Budget, APlaceOfASequenceBehindBlanks) {
  const Opened opened("\n \t1 |A 1\n 2 |A 1\n", options_for({"A:d1", "B:d1"}, 2));
  opened.read();
  ASSERT_EQ(opened.collector.notices.size(), 2u);
  EXPECT_EQ(opened.collector.notices[0].fault.at.byte, 3u);
  EXPECT_EQ(opened.collector.notices[0].fault.at.line, 2u);
  EXPECT_EQ(opened.collector.notices[0].fault.at.column, 3u);
  EXPECT_EQ(opened.collector.notices[1].fault.at.byte, 10u);
  EXPECT_EQ(opened.collector.notices[1].fault.at.column, 1u);
}

TEST(Budget, RepeatedInputsCostOneErrorASequence) {
  const Opened strict("1 |A 1.0 |B 2.0 |B 3.0\n", options_for({"A:d1", "B:d1"}));
  const Fault fault = strict.fault();
  EXPECT_EQ(fault.id, "ctf.repeated-input");
  EXPECT_EQ(fault.at.line, 1u);
  EXPECT_EQ(fault.at.column, 17u);
  EXPECT_EQ(fault.stream, "B");
  const Opened both("1 |A 1 |A 2 |B 1 |B 2\n", options_for({"A:d1", "B:d1"}, 1));
  const Chunk chunk = both.read();
  EXPECT_EQ(both.source->errors(), 1u);
  EXPECT_EQ(chunk.columns[0].samples(0), 2u);
  EXPECT_EQ(chunk.columns[1].samples(0), 2u);
}

TEST(Budget, ASequenceThatLacksAnInputIsDroppedForOneError) {
  const std::string text = "1 |A 1\n2 |A 2 |B 1:1\n";
  const Opened opened(text, options_for({"A:d1", "B:s10"}, 99999));
  const Chunk chunk = opened.read();
  EXPECT_TRUE(chunk.is_invalid(0));
  EXPECT_EQ(chunk.invalid[0], Chunk::kPaid);
  EXPECT_FALSE(chunk.is_invalid(1));
  EXPECT_EQ(chunk.columns[0].samples(0), 0u);
  EXPECT_EQ(chunk.columns[0].samples(1), 1u);
  EXPECT_EQ(opened.source->errors(), 1u);

  const Opened strict(text, options_for({"A:d1", "B:s10"}));
  const Fault fault = strict.fault();
  EXPECT_EQ(fault.id, "ctf.missing-input");
  EXPECT_EQ(fault.at.line, 1u);
  EXPECT_THAT(fault.what, HasSubstr("stream 'B' of sequence 1"));
}

TEST(Budget, AChunkIsCountedOnce) {
  const Opened opened(kBad, options_for({"A:d1"}, 5));
  for (int i = 0; i < 3; ++i) opened.read();
  EXPECT_EQ(opened.source->errors(), 1u);
  EXPECT_THAT(opened.collector.ids(), ElementsAre("ctf.bad-number"));
}

// What was counted before a read failed is not counted again by the next one.
TEST(Budget, AChunkThatCouldNotBeReadToItsEndIsCountedOnce) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + (i % 10 == 0 ? " |A x\n" : " |A 1\n");
  const ScratchFolder folder;
  Collector collector;
  const CtfSource source(options_for({"A:d1"}, 50), folder.write("t.ctf", text), collector.context(KeyMode::numeric),
                         {.block = 64});
  Chunk chunk;
  for (const std::uint64_t reads : {3u, 7u, 12u}) {
    std::uint64_t preads = 0;
    const FaultySys faulty([&](const Call& call) { return call.name == "pread" && ++preads > reads ? EIO : 0; });
    EXPECT_THROW(source.read(0, chunk), Error);
  }
  EXPECT_GT(source.errors(), 1u);
  source.read(0, chunk);
  EXPECT_EQ(source.errors(), 10u);
  source.read(0, chunk);
  EXPECT_EQ(source.errors(), 10u);
}

TEST(Budget, DamageInAChunkNobodyReadsIsNoMatter) {
  CtfOptions options = options_for({"A:d1"});
  options.chunk_bytes = 7;
  const Opened opened("1 |A 1\n2 |A 2\n3 |A x\n", options);
  opened.read(0);
  opened.read(1);
  EXPECT_EQ(opened.fault(2).at.line, 3u);
}

TEST(Budget, GarbageInPlaceOfASample) {
  const std::string text = "1 |A 1\n2 A 2\n3 |A 3\n";
  const Opened strict(text, options_for({"A:d1"}));
  const Fault fault = strict.fault();
  EXPECT_EQ(fault.id, "ctf.garbage");
  EXPECT_EQ(fault.at.line, 2u);
  EXPECT_EQ(fault.at.column, 3u);
  const Opened one(text, options_for({"A:d1"}, 1));
  const Chunk chunk = one.read();
  EXPECT_FALSE(chunk.is_invalid(0));
  EXPECT_TRUE(chunk.is_invalid(1));
  EXPECT_FALSE(chunk.is_invalid(2));
  EXPECT_EQ(one.source->errors(), 1u);
}

TEST(Messages, TraceLevelsDecideWhatIsTold) {
  const auto ids = [](const std::string& text, const std::vector<std::string>& streams, int level) {
    CtfOptions options = options_for(streams, 100);
    options.trace_level = level;
    const Opened opened(text, options);
    opened.read();
    return opened.collector.ids();
  };
  EXPECT_THAT(ids("1 |A 1 2\n", {"A:d3"}, 0), IsEmpty());
  EXPECT_THAT(ids("1 |A 1 2\n1 |A 3\n", {"A:d3"}, 1), ElementsAre("ctf.too-few-values"));
  EXPECT_THAT(ids("1 |A 1 |C 3\n", {"A:d1"}, 1), IsEmpty());
  EXPECT_THAT(ids("1 |A 1 |C 3\n", {"A:d1"}, 2), ElementsAre("ctf.unknown-input", "ctf.loaded"));
  EXPECT_THAT(ids("1 |A 1e999\n", {"A:d1"}, 1), ElementsAre("ctf.overflow"));
  EXPECT_THAT(ids("1 |A 1 |A 2\n1 |B 1\n", {"A:d1", "B:d1"}, 1), IsEmpty());
  EXPECT_THAT(ids("1 |A 1 |A 2 |B 1\n1 |B 1\n", {"A:d1", "B:d1"}, 1), ElementsAre("ctf.crowded-row"));
}

// As a page that was never written leaves them. They count as blanks, so lines would be missing without a word.
TEST(Messages, NulBytesAreTold) {
  const auto told = [](const std::string& text) {
    const Opened opened(text, options_for({"A:d2", "B:s9"}, 100));
    opened.read();
    std::string out;
    for (const Notice& n : opened.collector.notices)
      out += n.fault.id + ' ' + std::to_string(n.fault.at.line) + ':' + std::to_string(n.fault.at.column) + ' ';
    return out;
  };
  const std::string hole(70, '\0');
  const std::string nul(1, '\0');
  EXPECT_EQ(told("1 |A 1 2 |B 1:1\n" + hole + "7 |A 1 2 |B 1:1\n"), "ctf.hole 2:1 ");
  EXPECT_EQ(told("1 |A 1 2 |B 1:1\n" + nul + "7 |A 1 2 |B 1:1\n8 |A 1 2 |B 1:1\n"), "ctf.hole 2:1 ");
  std::string alike;
  for (int i = 0; i < 6; ++i) alike += nul + "7 |A 1 2 |B 1:1\n";
  EXPECT_EQ(told("1 |A 1 2 |B 1:1\n" + alike),
            "ctf.hole 2:1 ctf.hole 3:1 ctf.hole 4:1 ctf.hole 5:1 ctf.hole 6:1 ctf.hole 7:1 ");
  EXPECT_EQ(told("1 |A 1 2" + hole + "|B 1:1\n"), "ctf.hole 1:9 ");
  EXPECT_EQ(told("1 |A 1 2 |B 1:1" + nul + "\n2 |A 1 2 |B 1:1\r\n"), "ctf.hole 1:16 ");
  EXPECT_EQ(told("1 |A 1 2 |B 1:1\n" + hole), "ctf.torn-end 2:0 ");
  EXPECT_EQ(told("1 |A 1 2 |B 1:1" + hole), "ctf.torn-end 1:0 ");
  EXPECT_EQ(told("1 |A 1 2 |B 1:1\n" + hole + "\n" + hole), "ctf.torn-end 3:0 ctf.hole 2:1 ");
  EXPECT_EQ(told("1 |A 1 " + hole + "5 |B 1:1\n"), "ctf.too-few-values 1:4 ctf.hole 1:8 ctf.garbage 1:78 ");
}

TEST(Messages, UnknownNamesSayWhatMayBeMeant) {
  CtfOptions options = options_for({"features:d1"});
  options.trace_level = 2;
  const Opened opened("|features 1 |feature 2\n", options);
  opened.read();
  ASSERT_FALSE(opened.collector.notices.empty());
  EXPECT_EQ(opened.collector.notices[0].fault.hint, "did you mean 'features'?");
}

TEST(Messages, OneLetterMoreLessOrAnotherAndASwapAreStillMeant) {
  const auto hint = [](const std::string& declared, const std::string& written) {
    CtfOptions options = options_for({declared + ":d1"});
    options.trace_level = 2;
    const Opened opened("|" + declared + " 1 |" + written + " 2\n", options);
    opened.read();
    return opened.collector.notices.empty() ? std::string() : opened.collector.notices[0].fault.hint;
  };
  for (const char* written : {"labell", "llabel", "lbel", "labe", "abel", "lxbel", "lable", "LABEL"})
    EXPECT_EQ(hint("label", written), "did you mean 'label'?") << written;
  for (const char* written : {"features", "la", "x"}) EXPECT_EQ(hint("label", written), "") << written;
}

TEST(Messages, AnInputThatIsNotThereMayStandUnderNearlyItsName) {
  const auto hint = [](const std::string& text) {
    const Opened opened(text, options_for({"words:d1", "labels:d1"}));
    return opened.fault().hint.substr(0, 47);
  };
  const std::string meant = "did you mean 'label', which its first line has?";
  EXPECT_EQ(hint("1 |words 1 |label 2\n"), meant);
  EXPECT_EQ(hint("|words 1 |# |lebals |label 2"), meant);
  EXPECT_EQ(hint("1 |words 1 |labels 2\n2 |label 1 |words 2\n2 |word 3\n"), meant);
  const std::string none = "every sequence needs a sample of each declared ";
  EXPECT_EQ(hint("1 |words 1 |features 2\n"), none);
  EXPECT_EQ(hint("1 |words 1\n2 |words 1 |label 2\n"), none);
  EXPECT_EQ(hint("1 |words 1 |# " + std::string(20'000, 'x') + " |label 2\n"), none);  // too far away
}

TEST(Messages, EveryDamageHasItsPlaceAndCause) {
  struct Expect {
    const char* text;
    const char* id;
    std::uint64_t line, column;
    const char* says;
  };
  const Expect cases[] = {
      {"1 |D 1 2 3 |S 1:1\n", "ctf.too-many-values", 1, 10, "3 values, expected dim 2"},
      {"1 |D 1-2e-1+3 |S 1:1\n", "ctf.too-many-values", 1, 12, "3 values, expected dim 2"},
      {"1 |D 1 2 |S 10:1\n", "ctf.index-range", 1, 13, "index 10 is not below dim 10"},
      {"1 |D 1 2 |S -1:1\n", "ctf.bad-index", 1, 13, "found '-1:1'"},
      {"1 |D 1 2 |S 3\n", "ctf.no-colon", 1, 13, "found '3'"},
      {"1 |D 1 2 |S 3:x\n", "ctf.bad-number", 1, 15, "found 'x'"},
      {"1 |D 1,5 2 |S 1:1\n", "ctf.bad-number", 1, 6, "found '1,5'"},
      {"1 |D 1 2 |S 1:1\n\n-6 |D 1 2 |S 1:1\n", "ctf.bad-id", 3, 1, "found '-6'"},
      {"1 |D 1 2 |S 1:1 | x\n", "ctf.empty-name", 1, 17, "found a blank"},
      {"1 |D 1 2\n2 |D 1 2 |S 1:1\n", "ctf.missing-input", 1, 1, "no sample"},
      {"\n1 |D 1 2 |S 99999999999999999999:1\n", "ctf.index-range", 2, 13, "'99999999999999999999'"},
  };
  for (const Expect& c : cases) {
    const Opened opened(c.text, options_for({"D:d2", "S:s10"}));
    const Fault fault = opened.fault();
    EXPECT_EQ(fault.id, c.id) << c.text;
    EXPECT_EQ(fault.at.line, c.line) << c.text;
    EXPECT_EQ(fault.at.column, c.column) << c.text;
    EXPECT_THAT(fault.what, HasSubstr(c.says)) << c.text;
  }
}

TEST(Check, ReportsEveryFault) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + " |A x\n|A 1\n";
  const ScratchFolder folder;
  Collector collector;
  OpenContext context = collector.context();
  context.check = true;
  const CtfSource source(options_for({"A:d1"}), folder.write("t.ctf", text), context);
  Chunk chunk;
  source.read(0, chunk);
  EXPECT_EQ(collector.notices.size(), 100u);
  EXPECT_EQ(collector.notices[99].fault.at.line, 199u);
}

}  // namespace
}  // namespace batchfeed::ctf
