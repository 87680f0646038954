// SPDX-License-Identifier: MIT
//
// Checks survey.h's figures of one stream on columns that a text cannot give: doubles, NaN, steps.
#include "tools/stream_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace batchfeed {
namespace {

using Samples = std::vector<std::vector<double>>;                           // dense
using Entries = std::vector<std::vector<std::pair<std::int32_t, double>>>;  // sparse
using Labels = std::vector<std::uint32_t>;
using ::testing::DoubleEq, ::testing::DoubleNear, ::testing::ElementsAre, ::testing::IsNan;
constexpr std::uint32_t kNone = Survey::kNoLabel;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

template <class T>
void append(Column& column, double value) {
  const T stored = static_cast<T>(value);
  column.values.append(reinterpret_cast<const std::byte*>(&stored), sizeof stored);
}

void append(Column& column, double value) {
  column.element == Element::f64 ? append<double>(column, value) : append<float>(column, value);
}

StreamInfo stream_of(Storage storage, std::uint64_t dim, Element element = Element::f64) {
  return {.name = "s", .dim = dim, .storage = storage, .element = element};
}

// Each sample is a sequence of its own.
Column column_of(const StreamInfo& stream, const Samples& samples) {
  Column out;
  out.reset(stream);
  out.step = stream.dim;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    out.begin.push_back(i * stream.dim);
    out.first_sample.push_back(static_cast<std::uint32_t>(i + 1));
    for (const double value : samples[i]) append(out, value);
  }
  return out;
}

Column column_of(const StreamInfo& stream, const Entries& samples) {
  Column out;
  out.reset(stream);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const auto& [index, value] : samples[i]) {
      append(out, value);
      out.indices.push_back(index);
    }
    out.first_value.push_back(static_cast<std::uint32_t>(out.indices.size()));
    out.first_sample.push_back(static_cast<std::uint32_t>(i + 1));
  }
  return out;
}

Labels add_all(StreamTally& tally, const Column& column) {
  Labels labels;
  for (std::uint32_t row = 0; row + 1 < column.first_sample.size(); ++row) labels.push_back(tally.add(column, row));
  return labels;
}

template <class Data>
StreamSurvey tallied(const StreamInfo& stream, const Data& data, Labels* labels = nullptr) {
  StreamTally::Left left{.indices = 1000, .columns = 1000};
  StreamTally tally(stream, left);
  const Labels seen = add_all(tally, column_of(stream, data));
  if (labels != nullptr) *labels = seen;
  return tally.finish();
}

TEST(StreamTally, ALabelIsASingleOneAmongZeros) {
  const struct {
    const char* name;
    Entries samples;
    Labels labels;
    bool one_hot;
    std::uint64_t dim = 4;
  } sparse[] = {{"ones", {{{1, 1}}, {{3, 1}}}, {1, 3}, true},
                {"zeros beside the one", {{{0, 0}, {2, 1}, {3, 0}}, {{1, 1}}}, {2, 1}, true},
                {"another value", {{{1, 2}}, {{3, 1}}}, {kNone, 3}, false},
                {"less than one", {{{1, -1}}, {{3, 1}}}, {kNone, 3}, false},
                {"two ones", {{{1, 1}, {2, 1}}, {{3, 1}}}, {kNone, 3}, false},
                {"nothing", {{}, {{3, 1}}}, {kNone, 3}, false},
                {"zeros alone", {{{1, 0}}, {{3, 1}}}, {kNone, 3}, false},
                {"no number", {{{1, kNan}}, {{3, 1}}}, {kNone, 3}, false},
                {"one class there can be", {{{0, 1}}, {{0, 1}}}, {0, 0}, false, 1},
                {"no sample", {}, {}, false}};
  for (const auto& c : sparse) {
    for (const Element element : {Element::f32, Element::f64}) {
      Labels labels;
      const StreamSurvey found = tallied(stream_of(Storage::sparse, c.dim, element), c.samples, &labels);
      EXPECT_EQ(labels, c.labels) << c.name;
      EXPECT_EQ(found.one_hot, c.one_hot) << c.name;
    }
  }
  Labels labels;
  EXPECT_TRUE(tallied(stream_of(Storage::dense, 3), Samples{{0, 0, 1}, {1, 0, 0}}, &labels).one_hot);
  EXPECT_EQ(labels, (Labels{2, 0}));
  EXPECT_FALSE(tallied(stream_of(Storage::dense, 3), Samples{{0, 0, 1}, {0, 0, 0}}, &labels).one_hot);
  EXPECT_EQ(labels, (Labels{2, kNone}));
}

TEST(StreamTally, FiguresAreOfFiniteValues) {
  const StreamSurvey s = tallied(stream_of(Storage::dense, 3), Samples{{-kInf, 2, kNan}, {kInf, 6, 0}, {-0.0, 1, 3}});
  EXPECT_EQ(s.samples, 3u);
  EXPECT_EQ(s.values, 9u);
  EXPECT_EQ(s.zeros, 2u);
  EXPECT_EQ(s.nans, 1u);
  EXPECT_EQ(s.infinities, 2u);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 6);
  EXPECT_DOUBLE_EQ(s.mean, 2);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt((0 + 16 + 4 + 4 + 1 + 1) / 6.0));
  EXPECT_TRUE(s.whole) << "what is not finite is no fraction";
  EXPECT_DOUBLE_EQ(s.density(), 7 / 9.0);
  const StreamSurvey none = tallied(stream_of(Storage::dense, 1), Samples{{kNan}, {kInf}});
  EXPECT_EQ(none.min, 0);
  EXPECT_EQ(none.max, 0);
  EXPECT_EQ(none.mean, 0);
  EXPECT_EQ(none.deviation, 0);
}

TEST(StreamTally, WholeNumbersMayBeOfAnySize) {
  for (const auto& [value, whole] : {std::pair(0.5, false), std::pair(-3.25, false), std::pair(1e300, true),
                                     std::pair(-9.0e17, true), std::pair(1e9 + 0.5, false), std::pair(-1.0, true)}) {
    EXPECT_EQ(tallied(stream_of(Storage::dense, 1), Samples{{2}, {value}, {2}}).whole, whole) << value;
  }
}

// A sum of squares of such values would lose their differences to rounding.
TEST(StreamTally, ADeviationIsExactFarFromZero) {
  const StreamSurvey s =
      tallied(stream_of(Storage::dense, 3), Samples{{1e9, 1e9 + 1, 1e9 + 2}, {1e9 + 2, 1e9 + 1, 1e9}});
  EXPECT_DOUBLE_EQ(s.mean, 1e9 + 1);
  EXPECT_NEAR(s.deviation, std::sqrt(2 / 3.0), 1e-6);
}

// Their squares are more than a double can hold, and they themselves more than a float.
TEST(StreamTally, FiguresOfVeryLargeDoublesAreNotThoseOfNothing) {
  const StreamSurvey same = tallied(stream_of(Storage::dense, 1), Samples{{1e300}, {1e300}});
  EXPECT_EQ(same.mean, 1e300);
  EXPECT_EQ(same.deviation, 0);
  EXPECT_EQ(same.quantile(0.5), 1e300);
  const StreamSurvey apart = tallied(stream_of(Storage::dense, 2), Samples{{1e300, -1e300}, {1e300, -1e300}});
  EXPECT_EQ(apart.mean, 0);
  EXPECT_EQ(apart.deviation, kInf);
  EXPECT_THAT(apart.columns.deviation, ElementsAre(0, 0));
  EXPECT_GT(apart.quantile(0.75), 1e38);
  EXPECT_LT(apart.quantile(0.25), -1e38);
  EXPECT_EQ(tallied(stream_of(Storage::sparse, 2), Entries{{{0, 1e300}}, {{0, 1e300}}, {{0, 1e300}}}).deviation, 0);
  const StreamSurvey small = tallied(stream_of(Storage::dense, 1), Samples{{1e-60}, {1e-60}});
  EXPECT_EQ(small.quantile(0.5), 1e-60);
}

TEST(StreamTally, ColumnsHaveFiguresOfTheirOwn) {
  const StreamSurvey s = tallied(stream_of(Storage::dense, 4),
                                 Samples{{1e9, 7, kNan, 1}, {1e9 + 2, 7, kNan, -kInf}, {1e9 + 1, 7, kNan, 4}});
  EXPECT_THAT(s.columns.min, ElementsAre(1e9, 7, IsNan(), 1));
  EXPECT_THAT(s.columns.max, ElementsAre(1e9 + 2, 7, IsNan(), 4));
  EXPECT_THAT(s.columns.mean, ElementsAre(1e9 + 1, 7, IsNan(), 2.5));
  EXPECT_THAT(s.columns.deviation, ElementsAre(DoubleNear(std::sqrt(2 / 3.0), 1e-6), 0, IsNan(), 1.5));
}

// Values that are not stored count as 0, also where equal samples are added at once, and beside a NaN.
TEST(StreamTally, ColumnsOfSparseSamplesHaveZeros) {
  const StreamInfo stream = stream_of(Storage::sparse, 5);
  Column one_sequence = column_of(stream, Entries{{{1, 1}}, {{1, 1}}, {{1, 1}}, {{3, 2}}, {{2, kNan}}});
  one_sequence.first_sample.resize(1);
  one_sequence.first_sample.push_back(5);
  StreamTally::Left left{.indices = 5, .columns = 5};
  StreamTally tally(stream, left);
  tally.add(one_sequence, 0);
  const StreamSurvey s = tally.finish();
  EXPECT_EQ(s.samples, 5u);
  EXPECT_THAT(s.columns.min, ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(s.columns.max, ElementsAre(0, 1, 0, 2, 0));
  EXPECT_THAT(s.columns.mean, ElementsAre(0, DoubleEq(0.6), 0, DoubleEq(0.4), 0));
  EXPECT_THAT(s.columns.deviation, ElementsAre(0, DoubleEq(std::sqrt(0.24)), 0, DoubleEq(0.8), 0));
}

TEST(StreamTally, TheFirstHundredConstantColumnsAreNamed) {
  std::vector<double> first(120), second(120);
  for (std::size_t d = 0; d < first.size(); ++d) first[d] = second[d] = static_cast<double>(d);
  second[7] = -1;
  first[9] = second[9] = kNan;
  const StreamSurvey s = tallied(stream_of(Storage::dense, 120), Samples{first, second, first});
  EXPECT_EQ(s.constants, 118u);
  ASSERT_EQ(s.constant.size(), 100u);
  EXPECT_EQ(s.constant[6], 6u);
  EXPECT_EQ(s.constant[7], 8u);
  EXPECT_EQ(s.constant[8], 10u) << "a NaN is unlike itself";
  EXPECT_EQ(s.constant[99], 101u);
  EXPECT_EQ(tallied(stream_of(Storage::dense, 120), Samples{first}).constants, 0u) << "of one sample nothing is told";
}

TEST(StreamTally, IndicesAreCountedWhileThereIsRoom) {
  StreamTally::Left left{.indices = 10, .columns = 7};
  StreamTally fits(stream_of(Storage::sparse, 4), left);
  EXPECT_EQ(left.indices, 6u);
  EXPECT_EQ(left.columns, 3u);
  StreamTally too_large(stream_of(Storage::dense, 7), left);
  EXPECT_EQ(left.indices, 6u);
  StreamTally just_fits(stream_of(Storage::dense, 6), left);
  EXPECT_EQ(left.indices, 0u);
  EXPECT_EQ(left.columns, 3u);
  StreamTally fits_as_columns(stream_of(Storage::sparse, 3), left);
  EXPECT_EQ(left.indices, 0u);
  EXPECT_EQ(left.columns, 0u);
  const StreamSurvey both = fits_as_columns.finish();
  EXPECT_EQ(both.columns.mean.size(), 3u);
  EXPECT_EQ(both.by_index.size(), 3u) << "no column is said to be 0 everywhere because nobody counted";
  EXPECT_EQ(fits.finish().by_index.size(), 4u);
  EXPECT_TRUE(too_large.finish().by_index.empty());
  const StreamSurvey last = just_fits.finish();
  EXPECT_EQ(last.by_index.size(), 6u);
  EXPECT_TRUE(last.columns.mean.empty());
}

// Each thread sees a part of a corpus, perhaps an empty one.
TEST(StreamTally, PartsAddUpToTheWhole) {
  const StreamInfo stream = stream_of(Storage::dense, 3);
  const Samples all = {{4, 7, 0}, {4, 7, 1}, {4, 8, 0}, {4, 8, kInf}, {4, 8, -2.5}};
  const StreamSurvey whole = tallied(stream, all);
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    StreamTally::Left left{.indices = 1000, .columns = 1000};
    StreamTally a(stream, left), b(stream, left);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(cut);
    add_all(a, column_of(stream, Samples(all.begin(), middle)));
    add_all(b, column_of(stream, Samples(middle, all.end())));
    a.merge(b);
    const StreamSurvey s = a.finish();
    EXPECT_EQ(s.samples, whole.samples);
    EXPECT_EQ(s.values, whole.values);
    EXPECT_EQ(s.zeros, whole.zeros);
    EXPECT_EQ(s.nans, whole.nans);
    EXPECT_EQ(s.infinities, whole.infinities);
    EXPECT_EQ(s.min, -2.5);
    EXPECT_EQ(s.max, 8);
    EXPECT_NEAR(s.mean, whole.mean, 1e-12);
    EXPECT_NEAR(s.deviation, whole.deviation, 1e-12);
    EXPECT_FALSE(s.whole);
    EXPECT_EQ(s.by_index, (std::vector<std::uint64_t>{5, 5, 3}));
    EXPECT_EQ(s.used, 3u);
    EXPECT_EQ(s.constant, (std::vector<std::uint64_t>{0})) << "cut at " << cut;
    EXPECT_EQ(s.counts.quantile(1), 8);
    EXPECT_THAT(s.columns.min, ElementsAre(4, 7, -2.5));
    EXPECT_THAT(s.columns.max, ElementsAre(4, 8, 1));
    EXPECT_THAT(s.columns.mean, ElementsAre(4, DoubleEq(7.6), DoubleEq(-0.375)));
    EXPECT_THAT(s.columns.deviation, ElementsAre(0, DoubleEq(std::sqrt(0.24)), DoubleEq(std::sqrt(6.6875 / 4))));
  }
}

// Runs of equal labels are counted at once, with the same figures as one by one.
TEST(StreamTally, RunsOfLabelsAreCountedAsManySamples) {
  const StreamInfo stream = stream_of(Storage::sparse, 4);
  const Entries samples = {{{2, 1}}, {{2, 1}}, {{2, 1}}, {{2, 2}}, {{3, 1}}, {{3, 1}, {0, 1}}, {}, {{3, 1}}, {{3, 1}}};
  Column one_row = column_of(stream, samples);
  one_row.first_sample.resize(1);
  one_row.first_sample.push_back(static_cast<std::uint32_t>(samples.size()));
  StreamTally::Left left{.indices = 1000, .columns = 1000};
  StreamTally tally(stream, left);
  EXPECT_EQ(add_all(tally, one_row), Labels{2}) << "the label of the first sample";
  const StreamSurvey runs = tally.finish(), each = tallied(stream, samples);
  for (const StreamSurvey* s : {&runs, &each}) {
    EXPECT_EQ(s->samples, 9u);
    EXPECT_EQ(s->values, 9u);
    EXPECT_EQ(s->by_index, (std::vector<std::uint64_t>{1, 0, 4, 4}));
    EXPECT_DOUBLE_EQ(s->mean, 10 / 9.0);
    EXPECT_EQ(s->max, 2);
    EXPECT_FALSE(s->one_hot);
  }
  EXPECT_DOUBLE_EQ(runs.deviation, each.deviation);
  EXPECT_EQ(runs.columns.max, each.columns.max);
  EXPECT_EQ(runs.columns.min, each.columns.min);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(runs.columns.mean[i], each.columns.mean[i]);
    EXPECT_DOUBLE_EQ(runs.columns.deviation[i], each.columns.deviation[i]);
  }
}

TEST(StreamTally, RunsOfStoredZerosAreZeros) {
  const StreamInfo stream = stream_of(Storage::sparse, 4);
  Column column = column_of(stream, Entries{{{2, 0}}, {{2, 0}}, {{2, 0}}});
  column.first_sample.resize(1);
  column.first_sample.push_back(3);
  StreamTally::Left left{.indices = 1000, .columns = 1000};
  StreamTally tally(stream, left);
  add_all(tally, column);
  const StreamSurvey s = tally.finish();
  EXPECT_EQ(s.zeros, 3u);
  EXPECT_EQ(s.values, 3u);
  EXPECT_EQ(s.used, 0u);
}

// With a step of 0 all samples share their values; with a step below dim, samples are overlapping windows.
TEST(StreamTally, SamplesMayShareValues) {
  const StreamInfo stream = stream_of(Storage::dense, 2);
  for (const auto& [step, max] : {std::pair(0u, 2.0), std::pair(1u, 4.0)}) {
    Column column = column_of(stream, Samples{{1, 2}, {3, 4}});
    column.step = step;
    column.begin.resize(1);
    column.first_sample.resize(1);
    column.first_sample.push_back(3);
    StreamTally::Left left{.indices = 1000, .columns = 1000};
    StreamTally tally(stream, left);
    add_all(tally, column);
    const StreamSurvey s = tally.finish();
    EXPECT_EQ(s.samples, 3u);
    EXPECT_EQ(s.values, 6u);
    EXPECT_EQ(s.max, max);
    EXPECT_EQ(s.constants, step == 0 ? 2u : 0u);
  }
}

}  // namespace
}  // namespace batchfeed
