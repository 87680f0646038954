// SPDX-License-Identifier: MIT
//
// The statistics of order = uniform, with seeds that never change: a bound below
// fails for one honest generator in ten thousand or fewer, and for ours never.
// Also the first numbers of every order, written down so that they stay.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "order/cntk_order.h"
#include "order/corpus_testing.h"
#include "order/uniform_order.h"

namespace batchfeed::order {
namespace {

LengthSource::Lengths equal_chunks(std::size_t chunks, std::size_t sequences) {
  return LengthSource::Lengths(chunks, std::vector<std::uint32_t>(sequences, 1));
}

std::vector<std::uint64_t> order_of(const LengthSource& source, const Corpus& corpus, OrderOptions options,
                                    std::uint64_t sweep) {
  options.kind = OrderKind::uniform;
  const auto timeline = make_timeline(corpus, options, false, 1, 0);
  timeline->begin_epoch(sweep * corpus.total_samples(), corpus.total_samples());
  Batch batch;
  timeline->next(Timeline::kUnlimited, Timeline::kUnlimited, batch);
  std::vector<std::uint64_t> keys;
  for (const Item& item : batch.items) keys.push_back(source.key(item));
  return keys;
}

// Chi-square of equal expectations, as standard deviations from its mean.
double excess(const std::vector<double>& counts, double freedom) {
  double sum = 0;
  for (const double count : counts) sum += count;
  const double expected = sum / static_cast<double>(counts.size());
  double chi = 0;
  for (const double count : counts) chi += (count - expected) * (count - expected) / expected;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

TEST(UniformStatistics, EverySequenceIsEverywhereEquallyOftenInAWholeWindow) {
  const LengthSource source(equal_chunks(8, 4));
  const Corpus corpus(source, false);
  for (const bool by_sweep : {false, true}) {
    std::vector<double> counts(32 * 32, 0.0);
    for (std::uint64_t i = 0; i < 1500; ++i) {
      const auto keys = order_of(source, corpus, {.window = 8, .seed = by_sweep ? 11 : i}, by_sweep ? i : 0);
      for (std::size_t t = 0; t < 32; ++t) counts[keys[t] * 32 + t] += 1;
    }
    EXPECT_LT(std::abs(excess(counts, 31.0 * 31.0)), 4) << (by_sweep ? "sweeps" : "seeds");
  }
}

TEST(UniformStatistics, EveryOrderOfAFewIsEquallyLikely) {
  const LengthSource source(equal_chunks(2, 2));
  const Corpus corpus(source, false);
  std::map<std::vector<std::uint64_t>, double> seen;
  for (std::uint64_t seed = 0; seed < 9600; ++seed) seen[order_of(source, corpus, {.window = 2, .seed = seed}, 0)] += 1;
  ASSERT_EQ(seen.size(), 24u);
  std::vector<double> counts;
  for (const auto& [order, count] : seen) counts.push_back(count);
  EXPECT_LT(excess(counts, 23), 4);
}

TEST(UniformStatistics, AWindowIsFilledFromAllItsChunksAlike) {
  const LengthSource source(equal_chunks(64, 20));
  const Corpus corpus(source, false);
  std::vector<double> counts(8, 0.0);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    UniformSweep sweep(corpus, {.window = 8, .seed = seed});
    sweep.begin(0);
    for (; sweep.settle(); sweep.advance()) {
      const auto [lo, hi] = sweep.interval();
      if (lo >= 16 && hi <= 48) counts[sweep.home() - lo] += 1;
    }
  }
  EXPECT_LT(excess(counts, 7), 4);
}

TEST(UniformStatistics, SweepsAndSeedsHaveNothingInCommon) {
  const LengthSource source(equal_chunks(40, 25));
  const Corpus corpus(source, false);
  const auto place_of = [&](std::uint64_t seed, std::uint64_t sweep) {
    const auto keys = order_of(source, corpus, {.window = 40, .seed = seed}, sweep);
    std::vector<double> place(keys.size());
    for (std::size_t t = 0; t < keys.size(); ++t) place[keys[t]] = static_cast<double>(t);
    return place;
  };
  const auto correlation = [](const std::vector<double>& a, const std::vector<double>& b) {
    const auto n = static_cast<double>(a.size());
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - (n - 1) / 2) * (b[i] - (n - 1) / 2);
    return sum / (n * (n * n - 1) / 12);
  };
  const double bound = 4 / std::sqrt(1000.0);
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_LT(std::abs(correlation(place_of(i, 0), place_of(i, 1))), bound);
    EXPECT_LT(std::abs(correlation(place_of(i, 1), place_of(i + 1, 0))), bound);
    EXPECT_LT(std::abs(correlation(place_of(i, 0), place_of(i + 1, 0))), bound);
  }
}

// A corpus sorted by label: how far the labels of a minibatch are from those of
// the corpus, as chi-square over its expectation; 1 = as in a full shuffle.
double label_excess(std::uint64_t window) {
  constexpr std::uint64_t kLabels = 8, kBatch = 160;
  const LengthSource source(equal_chunks(128, 40));
  const Corpus corpus(source, false);
  double sum = 0;
  double batches = 0;
  for (std::uint64_t sweep = 0; sweep < 8; ++sweep) {
    const auto keys = order_of(source, corpus, {.window = window, .seed = 5}, sweep);
    for (std::size_t t = 0; t < keys.size(); t += kBatch) {
      std::vector<double> counts(kLabels, 0.0);
      for (std::size_t i = t; i < t + kBatch; ++i) counts[keys[i] / (keys.size() / kLabels)] += 1;
      const double expected = static_cast<double>(kBatch) / kLabels;
      for (const double count : counts) sum += (count - expected) * (count - expected) / expected;
      batches += 1;
    }
  }
  return sum / batches / (kLabels - 1);
}

TEST(UniformStatistics, LabelsMixBetterInAWiderWindowAndFullyInAWholeOne) {
  const double whole = label_excess(128), wide = label_excess(64), middle = label_excess(16), narrow = label_excess(1);
  EXPECT_NEAR(whole, 1, 0.1);
  EXPECT_LT(wide, 2.5);
  EXPECT_LT(wide, middle);
  EXPECT_LT(middle, narrow / 3);
}

TEST(UniformOrder, StaysAsItIs) {
  const LengthSource source(equal_chunks(4, 3));
  const Corpus corpus(source, false);
  using Keys = std::vector<std::uint64_t>;
  EXPECT_EQ(order_of(source, corpus, {.window = 2, .seed = 0}, 0), (Keys{1, 8, 7, 6, 2, 10, 0, 3, 11, 5, 4, 9}));
  EXPECT_EQ(order_of(source, corpus, {.window = 2, .seed = 0}, 1), (Keys{8, 10, 9, 11, 4, 3, 6, 7, 1, 5, 0, 2}));
  EXPECT_EQ(order_of(source, corpus, {.window = 2, .seed = 1}, 0), (Keys{10, 9, 11, 0, 3, 2, 5, 4, 7, 6, 8, 1}));
  EXPECT_EQ(order_of(source, corpus, {.window = 128, .seed = 0}, 0), (Keys{10, 5, 8, 3, 4, 1, 2, 0, 7, 11, 9, 6}));
  EXPECT_EQ(order_of(source, corpus, {.window = 6, .window_in_samples = true, .seed = 0}, 0),
            (Keys{6, 1, 8, 7, 0, 2, 10, 3, 11, 5, 4, 9}));
}

}  // namespace
}  // namespace batchfeed::order
