// SPDX-License-Identifier: MIT
#include <batchfeed/compare.h>
#include <batchfeed/convert.h>
#include <batchfeed/subset.h>
#include <gtest/gtest.h>

#include <atomic>

#include "join/join.h"
#include "model/shared_source.h"
#include "tools/compare_side.h"
#include "tools/testing.h"

namespace batchfeed {
namespace {

using testing::ragged;
using testing::ragged_text;
using testing::ScratchFolder;

TEST(Compare, ACorpusIsTheSameAsItself) {
  const ScratchFolder folder;
  const Comparison same = compare(ragged(folder, "a", ragged_text(40)), ragged(folder, "b", ragged_text(40), 999));
  EXPECT_TRUE(same.equal());
  EXPECT_TRUE(same.keys);
  EXPECT_EQ(same.same, 40u);
  EXPECT_EQ(same.sequences_b, 40u);
}

TEST(Compare, TheBinaryCopyIsTheSameInEitherPrecision) {
  const ScratchFolder folder;
  const auto a = ragged(folder, "a", ragged_text(40));
  for (const Element element : {Element::f32, Element::f64}) {
    convert(*ragged(folder, "c", ragged_text(40), 64, element), folder / "b.cbf", {.chunk_bytes = 100, .force = true});
    CbfOptions options;
    options.files = {folder / "b.cbf"};
    options.element = element;
    EXPECT_TRUE(compare(a, open_source(options)).equal());
  }
}

// Stream P is double on one side and float on the other, Q the other way round: compared as floats they are the same.
TEST(Compare, EachStreamMayHaveThePrecisionOfTheOther) {
  const ScratchFolder folder;
  const auto half = [&](const std::string& file, const char* alias, const char* name, Element element) {
    CtfOptions options;
    options.files = {folder.write(file, "1 |p 1.5 |q 2.5\n2 |p 3 |q 4\n")};
    options.streams = {{.name = name, .alias = alias, .dim = 1}};
    options.element = element;
    return open_source(options);
  };
  const auto both = [&](const std::string& file, Element first) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(half(file, "p", "P", first));
    sources.push_back(half(file + "2", "q", "Q", first == Element::f64 ? Element::f32 : Element::f64));
    return std::shared_ptr<const Source>(join::join(std::move(sources), {}));
  };
  const Comparison same = compare(both("a", Element::f64), both("b", Element::f32));
  EXPECT_TRUE(same.equal());
  EXPECT_EQ(same.same, 2u);
}

// However the two are cut into chunks, only what comes from the first difference on is held.
TEST(Compare, WhatBothBeginWithIsNotHeld) {
  const ScratchFolder folder;
  const std::string text = ragged_text(400), changed = ragged_text(400, {.changed = 391});
  const auto passed = [&](const std::string& of_a, const std::string& of_b, std::uint64_t chunk_bytes, bool keys) {
    Side a(ragged(folder, "a", of_a)), b(ragged(folder, "b", of_b, chunk_bytes));
    std::uint64_t most = 0;
    CompareOptions options;
    options.jobs = 2;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      most = std::max<std::uint64_t>({most, a.prints.size(), b.prints.size()});
    };
    read_sides(a, b, keys, options);
    EXPECT_EQ(a.passed, b.passed);
    EXPECT_EQ(a.sequences(), 400u);
    EXPECT_EQ(b.sequences(), 400u);
    EXPECT_LE(most, 40u);
    return a.passed;
  };
  for (const std::uint64_t chunk_bytes : {10u, 64u, 500u}) {
    EXPECT_EQ(passed(text, text, chunk_bytes, true), 400u);
    EXPECT_EQ(passed(text, changed, chunk_bytes, true), 391u);
    EXPECT_EQ(passed(text, ragged_text(400, {.offset = 5}), chunk_bytes, false), 400u);
  }
  Side a(ragged(folder, "a", text)), b(ragged(folder, "b", ragged_text(400, {.offset = 5})));
  read_sides(a, b, true, {});
  EXPECT_EQ(a.passed, 0u);
}

TEST(Compare, AChangedValueIsLocated) {
  const ScratchFolder folder;
  const Comparison found = compare(ragged(folder, "a", ragged_text(40, {.offset = 5})),
                                   ragged(folder, "b", ragged_text(40, {.changed = 17, .offset = 5})));
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.changed, 1u);
  EXPECT_EQ(found.same, 39u);
  ASSERT_EQ(found.differences.size(), 1u);
  const Difference& difference = found.differences[0];
  EXPECT_EQ(difference.what, "stream 'v', sample 0: [0] is 17 and 17.5");
  EXPECT_EQ(difference.a->key, "22");
  EXPECT_EQ(difference.a->number, 17u);
  EXPECT_EQ(difference.a->line, 5u * 6 + 1 + 2 + 1);  // five times six lines, then sequences of one line and of two
  EXPECT_EQ(difference.b->line, difference.a->line);
}

TEST(Compare, WhatOnlyOneHasIsFoundAndDoesNotShiftTheRest) {
  const ScratchFolder folder;
  const auto whole = ragged(folder, "a", ragged_text(40)), part = ragged(folder, "b", ragged_text(40, {.without = 9}));
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
  const auto open = [&](const char* name, const std::string& content) { return ragged(folder, name, content); };
  const Comparison found = compare(open("a", alike), open("b", missing));
  EXPECT_EQ(found.only_a, 1u);
  EXPECT_TRUE(found.same_order);
  EXPECT_EQ(found.differences.at(0).a->number, 29u);
}

TEST(Compare, AnotherOrderIsTold) {
  const ScratchFolder folder;
  const auto a = ragged(folder, "a", ragged_text(40));
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
  const auto a = ragged(folder, "a", "1 |v 1 100 |t 1:1\n"), b = ragged(folder, "b", "1 |v 1 100.5 |t 1:1\n");
  EXPECT_EQ(compare(a, b).changed, 1u);
  EXPECT_TRUE(compare(a, b, {.tolerance = 0.01}).equal());
  EXPECT_FALSE(compare(a, b, {.tolerance = 0.001}).equal());
  EXPECT_TRUE(
      compare(ragged(folder, "c", "1 |v 1 2 |t 1:1 3:2\n"), ragged(folder, "d", "1 |v 1 2 |t 3:2 1:1\n")).equal());
}

// Even if the other corpus has another order and all values differ a little, each chunk is read only a few times.
TEST(Compare, NearValuesInAnotherOrderAreReadChunkByChunk) {
  struct Counting : SharedSource {
    using SharedSource::SharedSource;
    void read(std::uint32_t chunk, Chunk& out) const override {
      ++reads;
      SharedSource::read(chunk, out);
    }
    const RowReader* row_reader(std::uint32_t) const override { return nullptr; }
    mutable std::atomic<int> reads = 0;
  };
  const ScratchFolder folder;
  std::string a, b;
  for (int k = 0; k < 300; ++k) {
    a += std::to_string(k) + " |v 1 " + std::to_string(k) + " |t 1:1\n";
    const int other = k * 7 % 300;  // neighbours are in different chunks
    b += std::to_string(other) + " |v 1 " + std::to_string(other) + (other == 17 ? ".5" : ".0001") + " |t 1:1\n";
  }
  const auto in_order = std::make_shared<Counting>(ragged(folder, "a", a, 500));
  const auto turned = std::make_shared<Counting>(ragged(folder, "b", b, 500));
  const int chunks = static_cast<int>(turned->chunks().size());
  ASSERT_GE(chunks, 10);
  const Comparison found = compare(in_order, turned, {.tolerance = 0.001});
  EXPECT_EQ(found.same, 299u);
  ASSERT_EQ(found.changed, 1u);
  EXPECT_EQ(found.differences.at(0).a->key, "17");
  EXPECT_EQ(found.differences.at(0).b->key, "17");
  EXPECT_LE(in_order->reads, 3 * chunks);
  EXPECT_LE(turned->reads, chunks * chunks + 3 * chunks);
}

TEST(Compare, LengthsAndEntriesAreTold) {
  const ScratchFolder folder;
  const auto what = [&](const std::string& a, const std::string& b) {
    return compare(ragged(folder, "a", a), ragged(folder, "b", b)).differences.at(0).what;
  };
  EXPECT_EQ(what("1 |v 1 2 |t 1:1\n1 |v 1 2\n", "1 |v 1 2 |t 1:1\n"), "stream 'v': 2 samples and 1");
  EXPECT_EQ(what("1 |v 1 2 |t 1:1 5:2\n", "1 |v 1 2 |t 1:1\n"), "stream 't', sample 0: [5] is 2 and not there");
  EXPECT_EQ(what("1 |v 1 2 |t 1:1\n", "1 |v 1 2 |t 0:4 1:1\n"), "stream 't', sample 0: [0] is not there and 4");
}

TEST(Compare, StreamsThatDifferAreNamedAndTheOthersCompared) {
  const ScratchFolder folder;
  const auto a = ragged(folder, "a", ragged_text(6)), b = ragged(folder, "b", ragged_text(6));
  const std::shared_ptr<const Source> renamed = select_streams(b, {"t", "v"}, {{"v", "w"}});
  const Comparison found = compare(a, renamed);
  EXPECT_EQ(found.streams.size(), 2u);
  EXPECT_FALSE(found.equal());
  EXPECT_EQ(found.same, 6u);
  const Comparison none = compare(std::shared_ptr<const Source>(select_streams(a, {"v"})), renamed);
  EXPECT_EQ(none.streams.size(), 3u);
  EXPECT_FALSE(none.equal());
}

TEST(Compare, AStreamOfAnotherKindOrSizeIsNamedWithBoth) {
  const ScratchFolder folder;
  const auto of = [&](const std::string& name, const std::string& content, std::vector<StreamSpec> streams) {
    CtfOptions options;
    options.files = {folder.write(name, content)};
    options.streams = std::move(streams);
    return std::shared_ptr<const Source>(open_source(options));
  };
  const auto a =
      of("a", "0 |x 1 |d 1 2 |s 0:1\n",
         {{.name = "x", .dim = 1}, {.name = "d", .dim = 2}, {.name = "s", .storage = Storage::sparse, .dim = 3}});
  const auto b = of("b", "0 |x 0:1 |d 1 2 3 |s 0:1\n",
                    {{.name = "x", .storage = Storage::sparse, .dim = 1},
                     {.name = "d", .dim = 3},
                     {.name = "s", .storage = Storage::sparse, .dim = 4}});
  const Comparison found = compare(a, b);
  EXPECT_EQ(found.streams, (std::vector<std::string>{"stream 'x' is dense and sparse", "stream 'd' has dim 2 and 3",
                                                     "stream 's' has dim 3 and 4"}));
  EXPECT_EQ(found.same, 1u) << "sparse entries can be compared all the same";
  EXPECT_EQ(compare(b, a).streams[0], "stream 'x' is sparse and dense");
  // With inferred dims, a difference of sparse dims is none.
  EXPECT_EQ(compare(a, b, {.sparse_dims = false}).streams.size(), 2u);
}

// Keys that are just the sequences' numbers are compared only if the other corpus has the same keys.
TEST(Compare, KeysThatNobodyChoseCountIfTheyAreTheSameOnes) {
  const ScratchFolder folder;
  const auto a = ragged(folder, "a", ragged_text(12)), chosen = ragged(folder, "c", ragged_text(12, {.offset = 7}));
  convert(*a, folder / "b.cbf", {.keys = ConvertOptions::Keys::none});
  CbfOptions options;
  options.files = {folder / "b.cbf"};
  const std::shared_ptr<const Source> numbered = open_source(options);
  EXPECT_TRUE(compare(a, numbered).keys);
  EXPECT_FALSE(compare(chosen, numbered).keys);
  EXPECT_EQ(compare(chosen, numbered).same, 12u);
  EXPECT_FALSE(compare(ragged(folder, "d", ragged_text(5, {.offset = 5})), numbered).keys) << "not as many";
  EXPECT_EQ(compare(ragged(folder, "d", ragged_text(5, {.offset = 5})), numbered).only_b, 7u);
}

TEST(Compare, DamagedSequencesCountAsMissing) {
  const ScratchFolder folder;
  const Comparison found = compare(ragged(folder, "a", "0 |v 1 2 |t 1:1\n1 |v 3 4 |t 1:1\n"),
                                   ragged(folder, "b", "0 |v 1 2 |t 1:1\n1 |v 3 x |t 1:1\n", 64, Element::f32, 1));
  EXPECT_EQ(found.same, 1u);
  EXPECT_EQ(found.only_a, 1u);
  EXPECT_EQ(found.sequences_b, 1u);
}

TEST(Compare, ManyDifferencesAreOnlyCounted) {
  const ScratchFolder folder;
  std::string a, b;
  for (int k = 0; k < 30; ++k) {
    a += std::to_string(k) + " |v 1 1 |t 1:1\n";
    b += std::to_string(k) + " |v 1 " + (k % 2 == 0 ? "2" : "1.001") + " |t 1:1\n";
  }
  std::uint64_t told = 0, of = 0;
  const auto progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, told);
    told = done;
    of = all;
  };
  const Comparison exact =
      compare(ragged(folder, "a", a), ragged(folder, "b", b), {.most = 2, .jobs = 2, .progress = progress});
  EXPECT_EQ(exact.changed, 30u);
  EXPECT_EQ(exact.differences.size(), 2u);
  EXPECT_EQ(told, of);
  EXPECT_EQ(of, a.size() + b.size());
  // With a tolerance all pairs are compared, also those that are not listed.
  const Comparison near = compare(ragged(folder, "a", a), ragged(folder, "b", b), {.tolerance = 0.01, .most = 2});
  EXPECT_EQ(near.changed, 15u);
  EXPECT_EQ(near.same, 15u);
  EXPECT_EQ(near.differences.size(), 2u);
}

TEST(Compare, WhatIsMissingAndWhatIsMovedAreToldApart) {
  const ScratchFolder folder;
  const auto a = ragged(folder, "a", "1 |v 1 1 |t 1:1\n2 |v 2 1 |t 1:1\n3 |v 3 1 |t 1:1\n4 |v 4 1 |t 1:1\n");
  const auto b = ragged(folder, "b", "4 |v 4 1 |t 1:1\n3 |v 3 1 |t 1:1\n1 |v 1 1 |t 1:1\n");
  const Comparison found = compare(a, b);
  EXPECT_EQ(found.only_a, 1u);
  EXPECT_EQ(found.differences.at(0).a->key, "2");
  EXPECT_FALSE(found.same_order);
  EXPECT_EQ(found.order->a->key, "1");
  EXPECT_EQ(found.order->b->key, "4");
}

TEST(Compare, DifferencesAreCountedBeyondThoseThatAreListed) {
  const ScratchFolder folder;
  const Comparison found = compare(ragged(folder, "a", ragged_text(30, {.offset = 5})),
                                   ragged(folder, "b", ragged_text(30, {.offset = 100})), {.most = 3});
  EXPECT_EQ(found.only_a, 30u);
  EXPECT_EQ(found.only_b, 30u);
  EXPECT_EQ(found.differences.size(), 3u);
}

}  // namespace
}  // namespace batchfeed
