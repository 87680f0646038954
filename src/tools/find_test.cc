// SPDX-License-Identifier: MIT
#include <batchfeed/find.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/fault_of.h"
#include "tools/testing.h"

namespace batchfeed {
namespace {

using testing::ragged;
using testing::ragged_text;
using testing::ScratchFolder;

std::vector<std::uint64_t> keys_found(const Source& source, const FindOptions& options) {
  std::vector<std::uint64_t> out;
  find(source, options, [&](const Hit& hit) { out.push_back(hit.sequence.key); });
  return out;
}

TEST(Find, ByKeyByValueAndByLength) {
  const ScratchFolder folder;
  const auto source = ragged(folder, "a.ctf", ragged_text(40));
  using Keys = std::vector<std::uint64_t>;
  EXPECT_EQ(keys_found(*source, {.keys = {"1?"}}), (Keys{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(keys_found(*source, {.keys = {"7", "31"}}), (Keys{7, 31}));
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] >= 38")}}), (Keys{38, 39}));
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v = 39")}}), (Keys{39}));
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("t[7]==4")}}), (Keys{3}));
  EXPECT_EQ(keys_found(*source, {.keys = {"?"}, .values = {parse_value_test("length > 2")}}), (Keys{2, 5, 8}));
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] < 3")}, .invert = true}).size(), 37u);
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("t[5] != 0")}}), Keys{}) << "what is not there is 0";
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("t[5] = 0")}}).size(), 40u);
}

TEST(Find, AHitNamesTheLineAndTheValue) {
  const ScratchFolder folder;
  std::vector<Hit> hits;
  find(*ragged(folder, "a.ctf", ragged_text(40)), {.values = {parse_value_test(" v[1] > 1 ")}, .jobs = 3},
       [&](const Hit& hit) { hits.push_back(hit); });
  ASSERT_EQ(hits.size(), 13u);
  EXPECT_EQ(hits[0].line, 6u);
  EXPECT_EQ(hits[0].sample, 2u);
  EXPECT_EQ(hits[0].index, 1u);
  EXPECT_EQ(hits[0].value, 2);
  EXPECT_EQ(hits[0].values, 1u);
  EXPECT_EQ(line_of_sample({.file = "x", .first_line = 7, .last_line = 9}, 2, 0), 0u);
}

TEST(Find, TestsThatMakeNoSenseAreRefused) {
  for (const char* bad : {"", "v", "v[", "> 3", "v > x", "v ! 3", "v[x] > 1", "v = ", "[1] = 2", "v 3] = 1", "v = 1 2",
                          "v = 1e", "v = +"})
    EXPECT_THROW((void)parse_value_test(bad), Error) << bad;  // find.test
  const ValueTest nan = parse_value_test("v[3]!=nan");
  EXPECT_EQ(nan.op, ValueTest::Op::unequal);
  EXPECT_EQ(nan.index, 3u);
  EXPECT_EQ(parse_value_test("a <= -inf").value, -std::numeric_limits<double>::infinity());
  const ScratchFolder folder;
  const auto source = ragged(folder, "a.ctf", ragged_text(3));
  EXPECT_THROW(keys_found(*source, {.values = {parse_value_test("w = 1")}}), Error);
  EXPECT_THROW(keys_found(*source, {.values = {parse_value_test("v[2] = 1")}}), Error);
}

TEST(Find, EveryComparisonInEitherPrecision) {
  const ScratchFolder folder;
  using Keys = std::vector<std::uint64_t>;
  const std::pair<const char*, Keys> cases[] = {
      {"v[0] = 2", {1}},          {"v[0] == +2", {1}},   {"v[0] != 2", {0, 2}}, {"v[0] < 2", {0}},
      {"v[0] <= 2", {0, 1}},      {"v[0] > 2", {2}},     {"v[0] >= 2", {1, 2}}, {"v[1] = 4", {0}},
      {"v[1] != nan", {0, 1, 2}}, {"t >= 1", {0, 1, 2}},
  };
  for (const Element element : {Element::f32, Element::f64}) {
    const auto source = ragged(folder, "a.ctf", "0 |v 1 4 |t 0:1\n1 |v 2 0 |t 0:1\n2 |v 3 0 |t 0:1\n", 64, element);
    for (const auto& [test, keys] : cases)
      EXPECT_EQ(keys_found(*source, {.values = {parse_value_test(test)}}), keys) << test;
  }
}

// Text corpora cannot hold a NaN, but a source of the caller's may.
TEST(Find, NaNIsFoundByNameAlone) {
  class Odd : public Source {
   public:
    Odd() : streams_{{.name = "v", .dim = 1}}, chunks_{{.sequences = 2, .samples = 2}} {}
    const std::vector<StreamInfo>& streams() const override { return streams_; }
    const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
    void sequences(std::uint32_t, std::vector<SequenceInfo>& out) const override {
      out = {{.key = 0, .row = 0, .samples = 1}, {.key = 1, .row = 1, .samples = 1}};
    }
    void read(std::uint32_t, Chunk& out) const override {
      out.reset(streams_);
      const float values[] = {std::nanf(""), 1};
      out.columns[0].values.append(reinterpret_cast<const std::byte*>(values), sizeof values);
      for (const std::uint32_t n : {1u, 2u}) out.columns[0].first_sample.push_back(n);
      for (const std::uint64_t at : {0u, 1u}) out.columns[0].begin.push_back(at);
    }

   private:
    std::vector<StreamInfo> streams_;
    std::vector<ChunkInfo> chunks_;
  };
  const Odd source;
  using Keys = std::vector<std::uint64_t>;
  EXPECT_EQ(keys_found(source, {.values = {parse_value_test("v = nan")}}), (Keys{0}));
  EXPECT_EQ(keys_found(source, {.values = {parse_value_test("v != nan")}}), (Keys{1}));
  EXPECT_EQ(keys_found(source, {.values = {parse_value_test("v = 1")}}), (Keys{1}));
  EXPECT_EQ(keys_found(source, {.values = {parse_value_test("v < 5")}}), (Keys{1})) << "NaN is below nothing";
}

TEST(Find, DamagedSequencesArePassedOver) {
  const ScratchFolder folder;
  const auto source =
      ragged(folder, "a.ctf", "0 |v 1 1 |t 0:1\n1 |v 1 x |t 0:1\n2 |v 1 1 |t 0:1\n", 64, Element::f32, 1);
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] = 1")}}), (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] = 1")}, .invert = true}),
            std::vector<std::uint64_t>{});
}

TEST(Find, LengthIsAStreamWhereOneHasThatName) {
  const ScratchFolder folder;
  CtfOptions options;
  options.files = {folder.write("l.ctf", "0 |length 5\n1 |length 1\n1 |length 1\n")};
  options.streams = {{.name = "length", .dim = 1}};
  const auto source = open_source(options);
  EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("length = 5")}}), (std::vector<std::uint64_t>{0}));
  // Where no stream has the name `length`, the test is of a sequence's length, which has no index.
  const Fault fault = testing::fault_of(
      [&] { keys_found(*ragged(folder, "a.ctf", ragged_text(2)), {.values = {parse_value_test("length[0] = 1")}}); });
  EXPECT_EQ(fault.id, "find.test");
  EXPECT_THAT(fault.what, ::testing::HasSubstr("'v', 't'"));
}

TEST(Find, ProgressCountsTheBytesAndMayGiveUp) {
  const ScratchFolder folder;
  const std::string content = ragged_text(40);
  const auto source = ragged(folder, "a.ctf", content);
  std::uint64_t last = 0;
  keys_found(*source, {.values = {parse_value_test("v = 1")}, .progress = [&](std::uint64_t done, std::uint64_t all) {
                         EXPECT_GT(done, last);
                         EXPECT_EQ(all, content.size());
                         last = done;
                       }});
  EXPECT_EQ(last, content.size());
  EXPECT_THROW(keys_found(*source, {.keys = {"*"}, .progress = [](std::uint64_t, std::uint64_t) { throw 7; }}), int);
}

TEST(Find, KeysArePatternsOfTheShell) {
  const ScratchFolder folder;
  const auto source = ragged(folder, "a.ctf", ragged_text(40));
  using Keys = std::vector<std::uint64_t>;
  const std::pair<std::vector<std::string>, Keys> cases[] = {{{"[12]"}, {1, 2}},
                                                             {{"[!1-9]"}, {0}},
                                                             {{"3[0-2]"}, {30, 31, 32}},
                                                             {{"\\7"}, {7}},
                                                             {{"7", "*8", "7"}, {7, 8, 18, 28, 38}},
                                                             {{"07"}, {}},
                                                             {{"3*5"}, {35}},
                                                             {{""}, {}}};
  for (const auto& [patterns, keys] : cases) EXPECT_EQ(keys_found(*source, {.keys = patterns}), keys) << patterns[0];
}

// The number of a test is rounded to the stream's precision.
TEST(Find, ANumberOfATestIsReadAsTheStreamsAre) {
  const ScratchFolder folder;
  for (const Element element : {Element::f32, Element::f64}) {
    const auto source = ragged(folder, "a.ctf", "0 |v 0.1 4 |t 0:1\n1 |v 0.10000001 0 |t 0:1\n", 64, element);
    using Keys = std::vector<std::uint64_t>;
    EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] = 0.1")}}), (Keys{0}));
    EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] > 0.1")}}), (Keys{1}));
    EXPECT_EQ(keys_found(*source, {.values = {parse_value_test("v[0] < 1"), parse_value_test("v[1] = 0")}}), (Keys{1}))
        << "each must fit";
  }
}

TEST(Find, WithoutAPlaceThereIsNoLine) {
  EXPECT_EQ(line_of_sample({}, 1, 0), 0u);
  EXPECT_EQ(line_of_sample({.file = "x", .first_line = 7, .last_line = 8}, 2, 1), 8u);
}

}  // namespace
}  // namespace batchfeed
