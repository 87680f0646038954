// SPDX-License-Identifier: MIT
#include <batchfeed/source.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "model/fault_sink.h"
#include "model/held_notices.h"
#include "model/key_table.h"
#include "support/fault_of.h"

namespace batchfeed {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Fault damage(std::uint64_t line, const std::string& id = "ctf.number") {
  return {.kind = FaultKind::format, .id = id, .at = {.file = "f", .line = line, .column = line + 1}, .what = "bad"};
}

struct Collected {
  std::vector<Notice> notices;
  Report report() {
    return [this](const Notice& n) { notices.push_back(n); };
  }
};

TEST(FaultSink, WithoutABudgetTheFirstErrorIsFatalAsItIs) {
  Collected all;
  FaultSink sink("f", 0, 1, all.report());
  try {
    sink.error(damage(3));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "f:3:4: bad");
  }
  EXPECT_TRUE(all.notices.empty());
}

TEST(FaultSink, TheErrorBeyondTheBudgetSaysWhereTheFirstWere) {
  Collected all;
  FaultSink sink("f", 5, 1, all.report());
  for (std::uint64_t line = 1; line <= 5; ++line) sink.error(damage(line));
  EXPECT_EQ(all.notices.size(), 5u);
  EXPECT_EQ(sink.errors(), 5u);
  try {
    sink.error(damage(6));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().at.line, 6u);
    EXPECT_THAT(e.fault().what, HasSubstr("more than the 5 that maxErrors tolerates"));
    EXPECT_THAT(e.fault().what, HasSubstr("1:2, 2:3, 3:4"));
  }
}

TEST(FaultSink, PassesOnTenOfAKindAndCountsTheRest) {
  Collected all;
  FaultSink sink("f", 1000, 1, all.report());
  for (std::uint64_t i = 1; i <= 25; ++i) sink.error(damage(i));
  for (int i = 0; i < 3; ++i) sink.warning(damage(9, "ctf.unknown-stream"));
  EXPECT_EQ(all.notices.size(), FaultSink::kPerId + 3);
  const std::vector<Notice> end = sink.finish();
  ASSERT_EQ(end.size(), 2u);
  EXPECT_THAT(end[0].fault.what, HasSubstr("15 further notices of 'ctf.number'"));
  EXPECT_EQ(end[1].fault.id, "errors-skipped");
  EXPECT_THAT(end[1].fault.what, HasSubstr("25 damaged places were skipped (maxErrors = 1000)"));
}

TEST(FaultSink, OneIsOne) {
  FaultSink sink("f", 1000, 1, {}, 1);
  sink.error(damage(1));
  EXPECT_EQ(sink.finish().at(0).fault.what, "1 damaged place was skipped (maxErrors = 1000)");
  sink.error(damage(2));
  EXPECT_EQ(sink.finish().at(0).fault.what, "1 further notice of 'ctf.number' was not shown");
}

TEST(FaultSink, WhereAllIsToldThereAreNoSums) {
  Collected all;
  FaultSink sink("f", ~0ull, 1, all.report(), 0);
  for (std::uint64_t i = 1; i <= 25; ++i) sink.error(damage(i));
  EXPECT_EQ(all.notices.size(), 25u);
  EXPECT_TRUE(sink.finish().empty());
}

TEST(FaultSink, WordsAreMadeOnlyForWhatIsPassedOn) {
  Collected all;
  FaultSink sink("f", 0, 1, all.report());
  std::uint64_t made = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    sink.warning("ctf.number", [&] {
      ++made;
      return damage(i);
    });
  }
  EXPECT_EQ(made, FaultSink::kPerId);
  EXPECT_EQ(all.notices.size(), FaultSink::kPerId);
  ASSERT_EQ(sink.finish().size(), 1u);
  EXPECT_THAT(sink.finish()[0].fault.what, HasSubstr("990 further"));
}

TEST(FaultSink, WordsOfErrorsToo) {
  Collected all;
  FaultSink sink("f", 100, 1, all.report());
  int made = 0;
  const auto make = [&] {
    ++made;
    return damage(7, "ctf.empty-name");
  };
  for (int i = 0; i < 100; ++i) sink.error("ctf.empty-name", make);
  EXPECT_EQ(made, FaultSink::kPerId);
  EXPECT_EQ(all.notices.size(), FaultSink::kPerId);
  EXPECT_EQ(sink.errors(), 100u);
  // The one that exhausts the budget is made, whatever was told before.
  EXPECT_THAT(testing::fault_of([&] { sink.error("ctf.empty-name", make); }).what, HasSubstr("the first were at 7:"));
  EXPECT_EQ(made, FaultSink::kPerId + 1);
}

TEST(FaultSink, AFirstErrorWithoutABudgetIsMade) {
  FaultSink sink("f", 0, 0, nullptr);
  EXPECT_EQ(testing::fault_of([&] { sink.error("ctf.empty-name", [] { return damage(7, "ctf.empty-name"); }); }).id,
            "ctf.empty-name");
}

TEST(FaultSink, WhatIsCountedElsewhereIsNeitherMadeNorTold) {
  Collected all;
  std::map<std::string, int, std::less<>> counted;
  FaultSink sink("f", ~0ull, 1, all.report(), 0, [&](Severity, std::string_view id) {
    ++counted[std::string(id)];
    return counted[std::string(id)] > 2;
  });
  int made = 0;
  const auto make = [&] {
    ++made;
    return damage(1, "a");
  };
  for (int i = 0; i < 5; ++i) sink.error("a", make);
  for (int i = 0; i < 5; ++i) sink.warning("b", make);
  EXPECT_EQ(made, 5);  // two of each, and the third error, whose place might be asked for
  EXPECT_EQ(all.notices.size(), 4u);
  EXPECT_EQ(counted["a"], 5);
  EXPECT_EQ(counted["b"], 5);
  EXPECT_EQ(sink.errors(), 5u);
}

TEST(HeldNotices, AreTheFirstOnesAndTheNumberOfTheRest) {
  HeldNotices held;
  for (const char* id : {"a", "b", "a", "a"}) held.add({Severity::error, damage(1, id)}, 2);
  held.add({Severity::warning, damage(1, "c")}, 2);
  held.add({Severity::info, damage(1, "d")}, 2);
  EXPECT_TRUE(held.count_only(Severity::error, "a", 2));
  std::vector<std::string> told;
  std::map<std::string, std::uint64_t> more;
  const auto release = [&] {
    held.release([&](const Notice& n) { told.push_back(n.fault.id); },
                 [&](const std::string& id, Severity, std::uint64_t n) { more[id] += n; });
  };
  release();
  EXPECT_THAT(told, ElementsAre("a", "b"));
  EXPECT_THAT(more, ElementsAre(Pair("a", 3u), Pair("c", 1u)));
  release();
  EXPECT_EQ(told.size(), 2u);
  EXPECT_FALSE(held.count_only(Severity::error, "a", 2));
}

TEST(FaultSink, ForCheckThereIsNoEndOfNotices) {
  Collected all;
  FaultSink sink("f", 1000, 1, all.report(), 0);
  for (std::uint64_t i = 1; i <= 25; ++i) sink.error(damage(i));
  EXPECT_EQ(all.notices.size(), 25u);
}

TEST(FaultSink, TraceLevelsDecideWhatIsTold) {
  for (const int level : {0, 1, 2}) {
    Collected all;
    FaultSink sink("f", 9, level, all.report());
    sink.error(damage(1));
    sink.warning(damage(2, "ctf.w"));
    sink.info(damage(3, "ctf.i"));
    EXPECT_EQ(all.notices.size(), level == 0 ? 0u : level == 1 ? 2u : 3u) << level;
    EXPECT_EQ(sink.errors(), 1u);
  }
}

TEST(FaultSink, WarningsCostNothing) {
  FaultSink sink("f", 0, 1, nullptr);
  for (int i = 0; i < 100; ++i) sink.warning(damage(1));
  EXPECT_EQ(sink.errors(), 0u);
  const std::vector<Notice> end = sink.finish();
  ASSERT_EQ(end.size(), 1u);  // the notices cut short; no errors skipped
  EXPECT_EQ(end[0].fault.id, "ctf.number");
}

TEST(FaultSink, ThreadsShareOneBudget) {
  FaultSink sink("f", 400, 1, nullptr);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 100; ++i) sink.error(damage(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sink.errors(), 400u);
  EXPECT_THROW(sink.error(damage(1)), Error);
}

TEST(KeyTable, TextKeysAreNumberedInOrderOfAppearance) {
  KeyTable keys(KeyMode::text);
  EXPECT_EQ(keys.id("b"), 0u);
  EXPECT_EQ(keys.id("a"), 1u);
  EXPECT_EQ(keys.id("b"), 0u);
  EXPECT_EQ(keys.id(""), 2u);
  EXPECT_EQ(keys.id(std::string("a\0b", 3)), 3u);
  EXPECT_EQ(keys.text(1), "a");
  EXPECT_EQ(keys.text(3), std::string("a\0b", 3));
  EXPECT_EQ(keys.text(99), "99");
}

TEST(KeyTable, KeepsItsTextsWhenItGrows) {
  KeyTable keys(KeyMode::text);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(keys.id("utterance-" + std::to_string(i)), static_cast<std::uint64_t>(i));
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(keys.id("utterance-" + std::to_string(i)), static_cast<std::uint64_t>(i));
  EXPECT_EQ(keys.text(4321), "utterance-4321");
}

TEST(KeyTable, HashedKeysAreTheReferencesHashes) {
  KeyTable keys(KeyMode::hashed);
  EXPECT_EQ(keys.id("100"), 193358996u);
  EXPECT_EQ(keys.text(193358996), "100");
  EXPECT_EQ(keys.text(5), "5");
  EXPECT_EQ(keys.id("100"), 193358996u);
  EXPECT_FALSE(keys.collision());
}

TEST(KeyTable, TwoTextsWithOneHashAreFound) {
  KeyTable keys(KeyMode::hashed);
  EXPECT_EQ(keys.id("!B"), 5858886u);
  EXPECT_FALSE(keys.collision());
  EXPECT_EQ(keys.id("\"!"), 5858886u);
  EXPECT_EQ(keys.collision(), std::pair(std::string("!B"), std::string("\"!")));
}

TEST(KeyTable, NumericKeysPrintInDecimal) {
  const KeyTable keys(KeyMode::numeric);
  EXPECT_EQ(keys.text(0), "0");
  EXPECT_EQ(keys.text(~0ull), "18446744073709551615");
}

TEST(KeyTable, NumericKeysAreDecimalPrefixesAndAMinusSignWraps) {
  KeyTable keys(KeyMode::numeric);
  EXPECT_EQ(keys.key(" +12abc"), 12u);
  EXPECT_EQ(keys.key("-1"), ~0ull);
  EXPECT_EQ(keys.key("-0"), 0u);
  for (const char* name : {"", "x1", "-", "- 1", "+-1", "18446744073709551616"}) EXPECT_FALSE(keys.key(name)) << name;
}

TEST(Column, ResetGivesNoSequencesAndKeepsTheMemory) {
  const std::vector<StreamInfo> streams = {{.name = "a", .dim = 9, .storage = Storage::sparse},
                                           {.name = "b", .dim = 2}};
  Chunk chunk;
  chunk.reset(streams);
  ASSERT_EQ(chunk.columns.size(), 2u);
  EXPECT_EQ(chunk.columns[0].first_sample.size(), 1u);
  EXPECT_EQ(chunk.columns[0].first_value.size(), 1u);
  EXPECT_EQ(chunk.columns[1].dim, 2u);
  chunk.columns[1].values.resize(1 << 16);
  chunk.invalid = {1};
  EXPECT_TRUE(chunk.is_invalid(0));
  const std::uint64_t held = chunk.memory();
  EXPECT_GE(held, 1u << 16);
  chunk.reset(streams);
  EXPECT_FALSE(chunk.is_invalid(0));
  EXPECT_EQ(chunk.memory(), held);
  EXPECT_TRUE(chunk.columns[1].values.empty());
}

class Fixed : public Source {
 public:
  explicit Fixed(std::vector<SequenceInfo> table) : table_(std::move(table)), chunks_{{.sequences = table_.size()}} {}
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t, std::vector<SequenceInfo>& out) const override { out = table_; }
  void read(std::uint32_t, Chunk& out) const override { out.reset(streams_); }
  std::vector<StreamInfo> streams_ = {{.name = "x", .dim = 3}};

 private:
  std::vector<SequenceInfo> table_;
  std::vector<ChunkInfo> chunks_;
};

TEST(Source, TheFingerprintChangesWithTheData) {
  const Fixed one({{.key = 1, .row = 0, .samples = 2}});
  EXPECT_EQ(one.fingerprint(), Fixed({{.key = 1, .row = 0, .samples = 2}}).fingerprint());
  EXPECT_NE(one.fingerprint(), Fixed({{.key = 2, .row = 0, .samples = 2}}).fingerprint());
  EXPECT_NE(one.fingerprint(), Fixed({{.key = 1, .row = 0, .samples = 3}}).fingerprint());
  EXPECT_NE(one.fingerprint(), Fixed({}).fingerprint());
  Fixed wider({{.key = 1, .row = 0, .samples = 2}});
  wider.streams_[0].dim = 4;
  EXPECT_NE(one.fingerprint(), wider.fingerprint());
  EXPECT_EQ(one.key_text(7), "7");
  EXPECT_EQ(one.place(0, 0).file, "");
}

}  // namespace
}  // namespace batchfeed
