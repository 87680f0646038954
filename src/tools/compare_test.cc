// SPDX-License-Identifier: MIT
#include <batchfeed/compare.h>
#include <batchfeed/convert.h>
#include <batchfeed/find.h>
#include <batchfeed/subset.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using testing::ScratchFolder;

std::shared_ptr<const Source> text(const ScratchFolder& folder, const std::string& name, const std::string& content,
                                   std::uint64_t chunk_bytes = 64, Element element = Element::f32) {
  CtfOptions options;
  options.files = {folder.write(name, content)};
  options.streams = {{.name = "v", .dim = 2}, {.name = "t", .storage = Storage::sparse, .dim = 10}};
  options.chunk_bytes = chunk_bytes;
  options.element = element;
  return open_source(options);
}

// Sequence k: k % 3 + 1 samples; some differ in one value, some are left out.
std::string corpus(int n, int changed = -1, int without = -1, int offset = 5) {
  std::string out;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i <= k % 3 && k != without; ++i) {
      out += std::to_string(k + offset) + " |v " + std::to_string(k) + (k == changed ? ".5 " : " ") +
             std::to_string(i) + " |t 3:1 7:" + std::to_string(k + 1) + "\n";
    }
  }
  return out;
}

TEST(Compare, ACorpusIsTheSameAsItself) {
  const ScratchFolder folder;
  const Comparison same = compare(text(folder, "a", corpus(40)), text(folder, "b", corpus(40), 999));
  EXPECT_TRUE(same.equal());
  EXPECT_TRUE(same.keys);
  EXPECT_EQ(same.same, 40u);
  EXPECT_EQ(same.sequences_b, 40u);
}

TEST(Compare, TheBinaryCopyIsTheSameInEitherPrecision) {
  const ScratchFolder folder;
  const auto a = text(folder, "a", corpus(40));
  for (const Element element : {Element::f32, Element::f64}) {
    convert(*text(folder, "c", corpus(40), 64, element), folder / "b.cbf", {.chunk_bytes = 100, .force = true});
    CbfOptions options;
    options.files = {folder / "b.cbf"};
    options.element = element;
    EXPECT_TRUE(compare(a, open_source(options)).equal());
  }
}

TEST(Compare, AChangedValueIsLocated) {
  const ScratchFolder folder;
  const Comparison found = compare(text(folder, "a", corpus(40)), text(folder, "b", corpus(40, 17)));
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.changed, 1u);
  EXPECT_EQ(found.same, 39u);
  ASSERT_EQ(found.differences.size(), 1u);
  const Difference& difference = found.differences[0];
  EXPECT_EQ(difference.what, "stream 'v', sample 0: [0] is 17 and 17.5");
  EXPECT_EQ(difference.a->key, "22");
  EXPECT_EQ(difference.a->number, 17u);
  EXPECT_EQ(difference.a->line, 5u * 6 + 1 + 2 + 1);  // five rounds of six lines, then one and two
  EXPECT_EQ(difference.b->line, difference.a->line);
}

TEST(Compare, WhatOnlyOneHasIsFoundAndDoesNotShiftTheRest) {
  const ScratchFolder folder;
  const auto whole = text(folder, "a", corpus(40)), part = text(folder, "b", corpus(40, -1, 9));
  for (const bool ignore_keys : {false, true}) {
    const Comparison found = compare(whole, part, {.ignore_keys = ignore_keys});
    EXPECT_EQ(found.only_a, 1u);
    EXPECT_EQ(found.same, 39u);
    EXPECT_TRUE(found.same_order);
    EXPECT_EQ(found.differences.at(0).a->number, 9u);
    const Comparison back = compare(part, whole, {.ignore_keys = ignore_keys});
    EXPECT_EQ(back.only_b, 1u);
    EXPECT_EQ(back.differences.at(0).b->number, 9u);
  }
}

TEST(Compare, OfManyAlikeTheMissingOneIsFoundWhereItIs) {
  const ScratchFolder folder;
  std::string alike;
  for (int i = 0; i < 30; ++i) alike += "|v 1 " + std::to_string(i % 2) + " |t 1:1\n";
  const std::string missing = alike.substr(0, alike.size() - std::string("|v 1 1 |t 1:1\n").size());
  const auto open = [&](const char* name, const std::string& content) { return text(folder, name, content); };
  const Comparison found = compare(open("a", alike), open("b", missing));
  EXPECT_EQ(found.only_a, 1u);
  EXPECT_TRUE(found.same_order);
  EXPECT_EQ(found.differences.at(0).a->number, 29u);
}

TEST(Compare, AnotherOrderIsTold) {
  const ScratchFolder folder;
  const auto a = text(folder, "a", corpus(40));
  convert(*a, folder / "s.ctf", {.to = Format::ctf, .shuffle = 1});
  CtfOptions options;
  options.files = {folder / "s.ctf"};
  options.streams = {{.name = "v", .dim = 2}, {.name = "t", .storage = Storage::sparse, .dim = 10}};
  const Comparison found = compare(a, open_source(options));
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.same, 40u);
  EXPECT_FALSE(found.same_order);
  ASSERT_TRUE(found.order.has_value());
  EXPECT_EQ(found.order->a->number, found.order->b->number);
}

TEST(Compare, NearValuesAreTheSameIfAskedFor) {
  const ScratchFolder folder;
  const auto a = text(folder, "a", "1 |v 1 100 |t 1:1\n"), b = text(folder, "b", "1 |v 1 100.5 |t 1:1\n");
  EXPECT_EQ(compare(a, b).changed, 1u);
  EXPECT_TRUE(compare(a, b, {.tolerance = 0.01}).equal());
  EXPECT_FALSE(compare(a, b, {.tolerance = 0.001}).equal());
  EXPECT_TRUE(compare(text(folder, "c", "1 |v 1 2 |t 1:1 3:2\n"), text(folder, "d", "1 |v 1 2 |t 3:2 1:1\n")).equal());
}

TEST(Compare, LengthsAndEntriesAreTold) {
  const ScratchFolder folder;
  const auto what = [&](const std::string& a, const std::string& b) {
    return compare(text(folder, "a", a), text(folder, "b", b)).differences.at(0).what;
  };
  EXPECT_EQ(what("1 |v 1 2 |t 1:1\n1 |v 1 2\n", "1 |v 1 2 |t 1:1\n"), "stream 'v': 2 and 1 samples");
  EXPECT_EQ(what("1 |v 1 2 |t 1:1 5:2\n", "1 |v 1 2 |t 1:1\n"), "stream 't', sample 0: [5] is 2 and not there");
  EXPECT_EQ(what("1 |v 1 2 |t 1:1\n", "1 |v 1 2 |t 0:4 1:1\n"), "stream 't', sample 0: [0] is not there and 4");
}

TEST(Compare, StreamsThatDifferAreNamedAndTheOthersCompared) {
  const ScratchFolder folder;
  const auto a = text(folder, "a", corpus(6)), b = text(folder, "b", corpus(6));
  const std::shared_ptr<const Source> renamed = select_streams(b, {"t", "v"}, {{"v", "w"}});
  const Comparison found = compare(a, renamed);
  EXPECT_EQ(found.streams.size(), 2u);
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.same, 6u);
  const Comparison none = compare(std::shared_ptr<const Source>(select_streams(a, {"v"})), renamed);
  EXPECT_EQ(none.streams.size(), 3u);
  EXPECT_FALSE(none.equal());
}

TEST(Compare, DifferencesAreCountedBeyondThoseThatAreListed) {
  const ScratchFolder folder;
  const Comparison found =
      compare(text(folder, "a", corpus(30)), text(folder, "b", corpus(30, -1, -1, 100)), {.most = 3});
  EXPECT_EQ(found.only_a, 30u);
  EXPECT_EQ(found.only_b, 30u);
  EXPECT_EQ(found.differences.size(), 3u);
}

std::vector<std::uint64_t> keys_found(const Source& source, const FindOptions& options) {
  std::vector<std::uint64_t> out;
  find(source, options, [&](const Hit& hit) { out.push_back(hit.sequence.key); });
  return out;
}

TEST(Find, ByKeyByValueAndByLength) {
  const ScratchFolder folder;
  const auto source = text(folder, "a", corpus(40, -1, -1, 0));
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
  find(*text(folder, "a", corpus(40)), {.values = {parse_value_test(" v[1] > 1 ")}, .jobs = 3},
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
  for (const char* bad : {"", "v", "v[", "> 3", "v > x", "v ! 3", "v[x] > 1", "v = ", "[1] = 2"})
    EXPECT_THROW((void)parse_value_test(bad), Error) << bad;  // find.test
  const ValueTest nan = parse_value_test("v[3]!=nan");
  EXPECT_EQ(nan.op, ValueTest::Op::unequal);
  EXPECT_EQ(nan.index, 3u);
  EXPECT_EQ(parse_value_test("a <= -inf").value, -std::numeric_limits<double>::infinity());
  const ScratchFolder folder;
  const auto source = text(folder, "a", corpus(3));
  EXPECT_THROW(keys_found(*source, {.values = {parse_value_test("w = 1")}}), Error);
  EXPECT_THROW(keys_found(*source, {.values = {parse_value_test("v[2] = 1")}}), Error);
}

}  // namespace
}  // namespace batchfeed
