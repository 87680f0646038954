// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "order/bucket.h"
#include "order/corpus_testing.h"
#include "order/mix.h"
#include "order/share.h"

namespace batchfeed::order {
namespace {

LengthSource::Lengths random_lengths(std::size_t chunks, std::size_t sequences, std::uint32_t longest,
                                     std::uint64_t seed) {
  CounterRng rng(seed);
  LengthSource::Lengths lengths(chunks);
  for (auto& chunk : lengths) {
    for (std::size_t i = 0; i < sequences; ++i) chunk.push_back(1 + static_cast<std::uint32_t>(rng.below(longest)));
  }
  return lengths;
}

// Runs `timeline` to the end of its epoch; before every batch, takes the position
// up again with a timeline from `make`, and compares.
template <class Make>
std::vector<Item> read_and_check(Timeline& timeline, std::uint64_t begin, std::uint64_t size, std::uint64_t limit,
                                 Make make) {
  timeline.begin_epoch(begin, size);
  std::vector<Item> items;
  Batch batch, other;
  do {
    const auto fresh = make();
    fresh->begin_epoch(begin, size);
    fresh->restore(timeline.position());
    timeline.next(limit, limit, batch);
    fresh->next(limit, limit, other);
    EXPECT_EQ(other.items, batch.items);
    EXPECT_EQ(other.position, batch.position);
    EXPECT_EQ(other.end_of_sweep, batch.end_of_sweep);
    EXPECT_EQ(other.end_of_epoch, batch.end_of_epoch);
    std::uint64_t samples = 0;
    for (const Item& item : batch.items) {
      samples += item.samples;
      EXPECT_NE(std::find(batch.window.begin(), batch.window.end(), item.chunk), batch.window.end());
    }
    EXPECT_TRUE(samples <= limit || batch.items.size() == 1);
    items.insert(items.end(), batch.items.begin(), batch.items.end());
  } while (!batch.end_of_epoch);
  return items;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted_places(const std::vector<Item>& items) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
  for (const Item& item : items) places.emplace_back(item.chunk, item.row);
  std::sort(places.begin(), places.end());
  return places;
}

RC_GTEST_PROP(Bucket, GivesEverySequenceOnceASweepAndIsRestoredAnywhere, ()) {
  const LengthSource source(random_lengths(*rc::gen::inRange<std::size_t>(1, 9), 6, *rc::gen::inRange(1u, 30u),
                                           *rc::gen::arbitrary<std::uint64_t>()));
  const Corpus corpus(source, false);
  const auto pool = *rc::gen::inRange<std::uint64_t>(1, 200);
  const auto limit = *rc::gen::inRange<std::uint64_t>(1, 60);
  const auto hint = *rc::gen::arbitrary<bool>() ? limit : std::uint64_t{20};
  const auto make = [&]() -> std::unique_ptr<Timeline> {
    return std::make_unique<BucketTimeline>(make_timeline(corpus, {.window = 3, .seed = 4}, false, 1, 0),
                                            corpus.total_samples(), pool, BucketTimeline::Size{SizeUnit::samples, hint},
                                            4);
  };
  std::vector<Item> expected;
  for (std::uint32_t c = 0; c < corpus.chunks(); ++c) corpus.table(c, expected);
  const auto timeline = make();
  for (std::uint64_t sweep = 0; sweep < 2; ++sweep) {
    const auto items = read_and_check(*timeline, sweep * corpus.total_samples(), corpus.total_samples(), limit, make);
    RC_ASSERT(sorted_places(items) == sorted_places(expected));
  }
  const auto epoch = *rc::gen::inRange<std::uint64_t>(1, 2 * corpus.total_samples());
  const auto whole = read_and_check(*timeline, 0, 2 * epoch, limit, make);
  auto parts = read_and_check(*timeline, 0, epoch, limit, make);
  const auto second = read_and_check(*timeline, epoch, epoch, limit, make);
  parts.insert(parts.end(), second.begin(), second.end());
  RC_ASSERT(parts == whole);
}

TEST(Bucket, CutsPaddingAndSaysHowMuch) {
  const LengthSource source(random_lengths(64, 100, 50, 1));
  const Corpus corpus(source, false);
  BucketTimeline timeline(make_timeline(corpus, {.window = 16, .seed = 1}, false, 1, 0), corpus.total_samples(),
                          64 * 512, {SizeUnit::samples, 512}, 1);
  timeline.begin_epoch(0, corpus.total_samples());
  Batch batch;
  std::uint64_t cells = 0;
  std::vector<std::uint64_t> longest_of_batches;
  do {
    timeline.next(512, 512, batch);
    std::uint64_t longest = 0;
    for (const Item& item : batch.items) longest = std::max<std::uint64_t>(longest, item.samples);
    longest_of_batches.push_back(longest);
    cells += longest * batch.items.size();
  } while (!batch.end_of_epoch);
  EXPECT_EQ(timeline.padding()->samples, corpus.total_samples());
  EXPECT_EQ(timeline.padding()->cells, cells);
  EXPECT_GT(timeline.padding()->saved(), 0.9);
  // Not from short to long: that would be a curriculum.
  EXPECT_FALSE(std::is_sorted(longest_of_batches.begin(), longest_of_batches.begin() + 20));
}

TEST(Bucket, RefusesWorkersThatShareByChunk) {
  const LengthSource source(parse_lengths("4x3"));
  const Corpus corpus(source, false);
  BucketTimeline timeline(make_timeline(corpus, {}, false, 1, 0), 12, 6, {SizeUnit::samples, 3}, 0);
  EXPECT_NO_THROW(timeline.set_workers(1, 0));
  EXPECT_EQ(id_of([&] { timeline.set_workers(2, 0); }), "order.pool-workers");
}

struct MixOfTwo {
  LengthSource first{random_lengths(5, 7, 9, 1)}, second{random_lengths(3, 11, 4, 2)};
  Corpus first_corpus{first, false}, second_corpus{second, false};

  std::unique_ptr<Timeline> make(double a, double b, std::uint64_t round) const {
    std::vector<MixPart> parts;
    parts.push_back({make_timeline(first_corpus, {.window = 3, .seed = 1}, true, 1, 0), a, 0});
    parts.push_back({make_timeline(second_corpus, {.window = 2, .seed = 1}, true, 1, 0), b, 5});
    return std::make_unique<MixTimeline>(std::move(parts), 7, round);
  }
};

TEST(Mix, GivesEveryCorpusItsShareInItsOwnOrderAndIsRestoredAnywhere) {
  const MixOfTwo two;
  for (const std::uint64_t round : {8u, 100u, 1000u}) {
    const auto make = [&] { return two.make(3, 1, round); };
    const auto items = read_and_check(*make(), 0, 1200, 10, make);
    std::vector<Item> of_first, of_second;
    std::uint64_t samples = 0;
    for (Item item : items) {
      if (item.chunk < 5) {
        of_first.push_back(item);
        samples += item.samples;
      } else {
        item.chunk -= 5;
        of_second.push_back(item);
      }
    }
    EXPECT_NEAR(static_cast<double>(samples), 900, 10 + static_cast<double>(round) / 4);
    Batch alone;
    make_timeline(two.first_corpus, {.window = 3, .seed = 1}, true, 1, 0)->next(10000, 10000, alone);
    alone.items.resize(of_first.size());
    EXPECT_EQ(of_first, alone.items);
    make_timeline(two.second_corpus, {.window = 2, .seed = 1}, true, 1, 0)->next(10000, 10000, alone);
    alone.items.resize(of_second.size());
    EXPECT_EQ(of_second, alone.items);
  }
}

// Of what is left each item is as likely to be next: drawn here by counting along the parts.
TEST(Mix, OfManyPartsTakesThemAsIfTheyWereCountedOneByOne) {
  constexpr std::size_t kParts = 300;
  constexpr std::uint64_t kRound = 1000, kSeed = 7;
  const LengthSource one({{1}, {1}, {1}});
  const Corpus corpus(one, false);
  std::vector<MixPart> parts;
  std::vector<std::uint64_t> left(kParts);
  for (std::size_t i = 0; i < kParts; ++i) {
    const double weight = static_cast<double>(1 + i % 3);
    parts.push_back({make_timeline(corpus, {.window = 3}, true, 1, 0), weight, static_cast<std::uint32_t>(3 * i)});
    left[i] = static_cast<std::uint64_t>(std::llround(weight / (2 * kParts) * kRound));
  }
  MixTimeline timeline(std::move(parts), kSeed, kRound);
  std::uint64_t all = std::accumulate(left.begin(), left.end(), std::uint64_t{0});
  timeline.begin_epoch(0, all);
  Batch batch;
  timeline.next(all, all, batch);
  ASSERT_EQ(batch.items.size(), all);
  CounterRng rng(mix64(kSeed + 0x6D6978ull));
  for (const Item& item : batch.items) {
    std::uint64_t drawn = rng.below(all--);
    std::size_t i = 0;
    for (; drawn >= left[i]; ++i) drawn -= left[i];
    --left[i];
    ASSERT_EQ(item.chunk / 3, i);
  }
}

TEST(Mix, RefusesWeightsThatAreNone) {
  const MixOfTwo two;
  EXPECT_EQ(id_of([&] { two.make(1, 0, 100); }), "order.mix-weight");
  EXPECT_EQ(id_of([&] { two.make(-1, 1, 100); }), "order.mix-weight");
  EXPECT_EQ(id_of([&] { MixTimeline({}, 0); }), "order.mix-parts");
}

RC_GTEST_PROP(EvenShare, CutsABatchInOrderWithNobodyLeftOut, ()) {
  const auto lengths =
      *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange(1u, *rc::gen::element(2u, 9u, 1000u)));
  const auto workers = *rc::gen::inRange<std::uint64_t>(1, 12);
  const std::uint64_t total = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
  const std::uint64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  std::size_t end = 0;
  for (std::uint64_t rank = 0; rank < workers; ++rank) {
    const auto [from, to] = even_share(lengths, workers, rank);
    RC_ASSERT(from == end);
    RC_ASSERT(lengths.size() < workers || to > from);
    RC_ASSERT(to - from <= 1 || lengths.size() > workers);
    if (longest == 1 && lengths.size() >= workers) {
      RC_ASSERT(to - from == total / workers || to - from == total / workers + 1);
    }
    end = to;
  }
  RC_ASSERT(end == lengths.size());
}

}  // namespace
}  // namespace batchfeed::order
