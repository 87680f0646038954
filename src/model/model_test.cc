// SPDX-License-Identifier: MIT
#include <batchfeed/source.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "model/fault_sink.h"
#include "model/held_notices.h"
#include "model/key_table.h"
#include "model/places.h"
#include "model/repeats.h"
#include "model/waiting_names.h"
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

TEST(KeyTable, ManyAtOnceAreAsOneByOne) {
  TextList texts;
  for (int i = 0; i < 3000; ++i) texts.add("utterance-" + std::to_string(i % 7 == 6 ? i / 3 : i));
  for (const KeyMode mode : {KeyMode::text, KeyMode::hashed}) {
    KeyTable one(mode), many(mode);
    one.id("utterance-5");
    many.id("utterance-5");
    many.expect(10);
    std::vector<std::uint64_t> ids;
    for (const std::string_view text : texts) ids.push_back(one.id(text));
    EXPECT_EQ(many.ids(texts), ids);
    EXPECT_EQ(many.ids(texts), ids);
    TextList back;
    for (const std::uint64_t id : ids) many.append(id, back);
    EXPECT_TRUE(back == texts);
    EXPECT_FALSE(many.collision());
    EXPECT_TRUE(many.ids({}).empty());
  }
  KeyTable keys(KeyMode::hashed);
  EXPECT_EQ(keys.ids({"x", "\"!", "!B"}), (std::vector<std::uint64_t>{177'629, 5'858'886, 5'858'886}));
  EXPECT_EQ(keys.collision(), std::pair(std::string("\"!"), std::string("!B")));
}

// What comes before and behind the thousandth, with and without records.
TEST(KeyTable, NumbersNamesThatWait) {
  struct Record {
    std::uint64_t key;
    std::string name;
  };
  for (const KeyMode mode : {KeyMode::text, KeyMode::hashed, KeyMode::numeric}) {
    KeyTable keys(mode), one(mode);
    WaitingNames names(keys);
    std::vector<Record> records;
    std::vector<std::uint64_t> expected;
    for (int i = 0; i < 5000; ++i) {
      const std::string name = std::to_string(i % 11 == 10 ? i - 7 : i);
      if (names.many()) names.number_new(records);
      const std::uint64_t key = names.add(name).value();
      const std::uint64_t alone = one.key(name).value();
      if (i % 5 == 4) continue;  // is left out, but has a number
      records.push_back({key, name});
      expected.push_back(alone);
    }
    names.number_new(records);
    names.number_new(records);
    for (std::size_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(records[i].key, expected[i]);
      ASSERT_EQ(keys.text(records[i].key), records[i].name);
    }
  }
  KeyTable numeric(KeyMode::numeric);
  EXPECT_EQ(WaitingNames(numeric).add("x"), std::nullopt);
}

TEST(Places, AreNumberedAndPutBack) {
  KeyTable keys(KeyMode::text);
  IndexEntries entries;
  TextList texts{"b", "a", "b", "c"};
  for (std::uint64_t i = 0; i < 4; ++i) entries.push_back({.key = i, .begin = i, .bytes = 1, .samples = 1});
  const auto keys_of = [&] {
    std::vector<std::uint64_t> out;
    for (const IndexEntry& e : entries) out.push_back(e.key);
    return out;
  };
  EXPECT_TRUE(are_places(entries, texts));
  number_places(entries, texts, keys);
  EXPECT_THAT(keys_of(), ElementsAre(0, 1, 0, 2));
  EXPECT_FALSE(are_places(entries, texts));
  TextList back;
  put_places(entries, back, keys);
  EXPECT_TRUE(back == texts);
  EXPECT_TRUE(are_places(entries, texts));
  number_places(entries, {"d", "e", "f", "g"}, keys);
  EXPECT_THAT(keys_of(), ElementsAre(3, 4, 5, 6));
  EXPECT_FALSE(are_places(entries, TextList{"d", "e"}));
}

// Where keys lie near each other and far apart, against a set.
TEST(Repeats, AreThoseWithAKeyThatOneBeforeThemHas) {
  struct Record {
    std::uint64_t key;
  };
  std::uint64_t state = 1;
  const auto draw = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
  for (int round = 0; round < 300; ++round) {
    std::vector<Record> records(draw() % 200);
    const std::uint64_t below = 1 + draw() % 400, apart = round % 2 == 0 ? 1 : 1'000'003;
    const std::uint64_t first = round % 3 == 0 ? ~0ull - 1000 : 0;
    std::set<std::uint64_t> seen;
    std::vector<std::size_t> expected;
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].key = first + (round % 5 == 0 ? i : draw() % below) * apart;
      if (!seen.insert(records[i].key).second) expected.push_back(i);
    }
    ASSERT_EQ(repeats(records, [](const Record& r) { return r.key; }), expected);
  }
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
  explicit Fixed(std::vector<SequenceInfo> table, std::size_t chunks = 1)
      : table_(std::move(table)), chunks_(chunks, {.sequences = table_.size()}) {}
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    EXPECT_LT(chunk, chunks_.size());
    out = table_;
  }
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
  EXPECT_TRUE(one.files().empty());
}

TEST(Source, TheFilesAreThoseOfEachRowOfEachChunk) {
  struct Joined final : Fixed {
    Joined() : Fixed({{.row = 0, .samples = 1}, {.row = 1, .samples = 1}}, 3) {}
    std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
      return {{.file = std::to_string(chunk)}, {.file = row == 0 ? "" : "b" + std::to_string(row)}};
    }
  };
  EXPECT_THAT(Joined().files(), ElementsAre("0", "1", "2", "b1"));
}

}  // namespace
}  // namespace batchfeed
