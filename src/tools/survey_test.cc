// SPDX-License-Identifier: MIT
#include <batchfeed/survey.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "tools/duplicates.h"

namespace batchfeed {
namespace {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "batchfeed-survey-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

Setup setup_of(const std::string& file, std::vector<StreamSpec> streams, unsigned threads = 1,
               std::uint64_t chunk_bytes = 32u << 20) {
  CtfOptions ctf;
  ctf.files = {file};
  ctf.streams = std::move(streams);
  ctf.chunk_bytes = chunk_bytes;
  Setup setup;
  setup.sources.emplace_back(std::move(ctf));
  setup.reader.threads = threads;
  return setup;
}

const std::vector<StreamSpec> kStreams = {{.name = "f", .dim = 3},
                                          {.name = "t", .storage = Storage::sparse, .dim = 10}};

TEST(SurveyOf, AMixtureIsThatOfAllItsCorpora) {
  const TempFolder folder;
  batchfeed::Setup setup = setup_of(folder.write("a", "|f 1 2 3 |t 1:1\n|f 4 5 6 |t 2:1\n"), kStreams);
  const batchfeed::Setup other = setup_of(folder.write("b", "|f 7 8 9 |t 3:1\n"), kStreams);
  setup.mix = {setup.sources, other.sources};
  setup.sources.clear();
  setup.reader.mix_weights = {1, 1};
  const Survey found = survey(setup, {}, {});
  EXPECT_EQ(found.sequences, 3u);
  EXPECT_EQ(found.streams[0].max, 9);
}

// Of more than 2^20 short sequences a part of the hashes is looked at.
TEST(Survey, EstimatesDuplicatesAmongManySequences) {
  const auto duplicates = [](std::uint64_t different, std::uint64_t sequences) {
    std::vector<std::uint64_t> kept;
    for (std::uint64_t i = 0; i < sequences; ++i) {
      const std::uint64_t hash = Fingerprint().add(i % different).value();
      if (hash % 8 == 0) kept.push_back(hash);
    }
    return count_duplicates(kept, sequences, 3);
  };
  EXPECT_EQ(duplicates(800'000, 800'000), 0u);
  EXPECT_NEAR(static_cast<double>(duplicates(700'000, 800'000)), 100'000, 3'000);
  EXPECT_NEAR(static_cast<double>(duplicates(10'000, 800'000)), 790'000, 1'000);
  EXPECT_NEAR(static_cast<double>(duplicates(70, 800'000)), 799'930, 200);
  EXPECT_NEAR(static_cast<double>(duplicates(1, 800'000)), 799'999, 8);
  std::vector<std::uint64_t> none;
  EXPECT_EQ(count_duplicates(none, 0, 3), 0u);

  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 1'100'000; ++i) text += "|t 3:1\n";
  const std::vector<StreamSpec> one = {{.name = "t", .storage = Storage::sparse, .dim = 5}};
  const Survey s = survey(setup_of(folder.write("many.ctf", text), one, 2));
  EXPECT_TRUE(s.duplicates_estimated);
  EXPECT_NEAR(static_cast<double>(s.duplicates), 1'099'999, 2);
}

// A chunk of labels is read in parts, and runs of equal labels are counted at once.
TEST(Survey, CountsLabelsOfManyFrames) {
  const TempFolder folder;
  std::string text = "#!MLF!#\n";
  for (const char* name : {"1", "2", "3"}) {
    text += std::string("\"") + name + "\"\n";
    for (std::uint64_t i = 0; i < 20'000; ++i)
      text += std::to_string(i * 2'000'000) + ' ' + std::to_string((i + 1) * 2'000'000) + " x " +
              (i % 2 == 0 ? "0\n" : "3\n");
    text += *name == '3' ? "40000000000 40000100000 x 1\n.\n" : ".\n";
  }
  MlfOptions labels;
  labels.files = {folder.write("a.mlf", text)};
  labels.name = "l";
  labels.dim = 4;
  batchfeed::Setup setup;
  setup.sources.emplace_back(labels);
  const Survey s = survey(setup);
  EXPECT_EQ(s.sequences, 3u);
  EXPECT_EQ(s.samples, 1'200'001u);
  const StreamSurvey& stream = s.streams.at(0);
  EXPECT_EQ(stream.samples, 1'200'001u);
  EXPECT_EQ(stream.values, 1'200'001u);
  EXPECT_EQ(stream.by_index, (std::vector<std::uint64_t>{600'000, 1, 0, 600'000}));
  EXPECT_EQ(stream.mean, 1);
  EXPECT_EQ(stream.deviation, 0);
  EXPECT_EQ(stream.counts.quantile(0.5), 1);
  EXPECT_TRUE(stream.one_hot);
  EXPECT_EQ(s.duplicates, 1u);
  EXPECT_EQ(s.label_stream, stream.stream.name);
  ASSERT_EQ(s.labels.size(), 1u);  // one chunk, although it was read in two parts
  EXPECT_EQ(s.labels[0], (std::vector<std::uint32_t>{0, 0, 0}));
}

TEST(Survey, CountsWhatIsThere) {
  const TempFolder folder;
  const std::string file = folder.write("a.ctf",
                                        "0 |f 1 0 2.5 |t 3:1\n"
                                        "0 |f -1 0 2.5 |t 3:1\n"
                                        "1 |f 1e39 0 2.5 |t 4:1\n"
                                        "2 |f 1 0 2.5 |t 3:1\n"
                                        "2 |f -1 0 2.5 |t 3:1\n");
  const Survey s = survey(setup_of(file, kStreams));
  EXPECT_EQ(s.sequences, 3u);
  EXPECT_EQ(s.samples, 5u);
  EXPECT_EQ(s.duplicates, 1u);  // sequences 0 and 2
  EXPECT_FALSE(s.duplicates_estimated);
  const StreamSurvey& f = s.streams[0];
  EXPECT_EQ(f.samples, 5u);
  EXPECT_EQ(f.values, 15u);
  EXPECT_EQ(f.zeros, 5u);
  EXPECT_EQ(f.infinities, 1u);
  EXPECT_EQ(f.min, -1);
  EXPECT_EQ(f.max, 2.5);
  EXPECT_NEAR(f.mean, 12.5 / 14, 1e-12);
  EXPECT_NEAR(f.deviation, std::sqrt((4 + 5 * 6.25) / 14 - (12.5 / 14) * (12.5 / 14)), 1e-12);
  EXPECT_FALSE(f.whole);
  EXPECT_FALSE(f.one_hot);
  EXPECT_EQ(f.constants, 2u);
  EXPECT_EQ(f.constant, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(f.used, 2u);
  const StreamSurvey& t = s.streams[1];
  EXPECT_TRUE(t.one_hot);
  EXPECT_TRUE(t.whole);
  EXPECT_EQ(t.used, 2u);
  EXPECT_EQ(t.top(5), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{3, 4}, {4, 1}}));
  EXPECT_DOUBLE_EQ(t.density(), 0.1);
  EXPECT_EQ(s.label_stream, "t");
  EXPECT_EQ(s.labels, (std::vector<std::vector<std::uint32_t>>{{3, 4, 3}}));
}

TEST(Survey, TellsFaultsAndLeavesDamagedSequencesOut) {
  const TempFolder folder;
  const std::string file = folder.write("a.ctf", "0 |f 1 2 3 |t 1:1\n1 |f 1 x 3 |t 1:1\n2 |f 9 9 9 |t 99:1\n");
  std::vector<std::string> ids;
  const Survey s = survey(setup_of(file, kStreams), {}, [&](const Notice& notice) { ids.push_back(notice.fault.id); });
  EXPECT_EQ(s.check.faults, ids.size());
  EXPECT_EQ(s.invalid, 2u);
  EXPECT_EQ(s.streams[0].max, 3);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "ctf.bad-number"), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "ctf.index-range"), 1);
}

TEST(Survey, GoesOnBehindAChunkThatCannotBeRead) {
  const std::string text = "0 |f 1 2 3 |t 1:1\n1 |f 4 5 6 |t 1:1\n2 |f 7 8 9 |t 2:1\n";
  batchfeed::Setup setup = setup_of("mem://a", kStreams, 2, text.find("1 |f"));
  std::string damaged;
  setup.file_system.open = [&](const std::string&) {
    auto file = std::make_shared<RemoteFile>();
    file->size = text.size();
    file->read = [&](std::uint64_t offset, std::span<std::byte> out) {
      if (offset == text.find("1 |f") && out.size() <= text.find("1 |f"))
        throw Error(Fault{.kind = FaultKind::io, .id = "test.gone", .what = damaged = "gone"});
      std::memcpy(out.data(), text.data() + offset, out.size());
    };
    return file;
  };
  std::vector<std::string> ids;
  std::uint64_t last = 0;
  const Survey s = survey(setup, {.progress = [&](std::uint64_t done, std::uint64_t) { last = std::max(last, done); }},
                          [&](const Notice& notice) { ids.push_back(notice.fault.id); });
  EXPECT_EQ(ids, (std::vector<std::string>{"test.gone"}));
  EXPECT_FALSE(s.check.complete);
  EXPECT_EQ(s.unread.value().id, "test.gone");
  EXPECT_EQ(s.streams[0].samples, 2u);
  EXPECT_EQ(s.streams[0].max, 9);
  EXPECT_GT(last, 0u);
}

// The label stream with the fewest classes shows best how well minibatches are mixed.
TEST(Survey, TheStreamOfLabelsIsTheOneWithTheFewestClasses) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 12; ++i)
    text += "|one 0:1 |many " + std::to_string(i % 6) + ":1 |few " + std::to_string(i % 2) + ":1 |also " +
            std::to_string(i % 2) + ":1\n";
  const auto sparse = [](const char* name) { return StreamSpec{.name = name, .storage = Storage::sparse, .dim = 10}; };
  const Survey s =
      survey(setup_of(folder.write("a.ctf", text), {sparse("one"), sparse("many"), sparse("few"), sparse("also")}));
  EXPECT_EQ(s.label_stream, "few");
  ASSERT_EQ(s.labels.size(), 1u);
  EXPECT_EQ(s.labels[0][3], 1u);
  EXPECT_EQ(s.streams[1].top(2), (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 2}, {1, 2}}))
      << "by index where counts are equal";
}

TEST(Survey, LabelsOfOneClassSayNothing) {
  const TempFolder folder;
  const Survey s = survey(setup_of(folder.write("a.ctf", "|f 1 2 3 |t 4:1\n|f 1 2 3 |t 4:1\n"), kStreams));
  EXPECT_TRUE(s.streams[1].one_hot);
  EXPECT_EQ(s.label_stream, "");
  EXPECT_TRUE(s.labels.empty());
}

TEST(Survey, ADamagedSequenceHasNoLabel) {
  const TempFolder folder;
  const Survey s =
      survey(setup_of(folder.write("a.ctf", "0 |f 1 2 3 |t 1:1\n1 |f 1 x 3 |t 2:1\n2 |f 1 2 3 |t 2:1\n"), kStreams));
  EXPECT_EQ(s.label_stream, "t");
  EXPECT_EQ(s.labels, (std::vector<std::vector<std::uint32_t>>{{1, Survey::kNoLabel, 2}}));
}

// One line may name a thousand streams, each with the largest index there may be.
TEST(Survey, CountsIndicesOfTheFirstStreamsThatFit) {
  const TempFolder folder;
  const auto sparse = [](const char* name, std::uint64_t dim) {
    return StreamSpec{.name = name, .storage = Storage::sparse, .dim = dim};
  };
  constexpr std::uint64_t kMost = StreamSurvey::kMostIndices;
  const Survey s = survey(setup_of(folder.write("a.ctf", "0 |a 1:1 |b 2:1 |c 3:1 |d 4:1\n"),
                                   {sparse("a", kMost - 10), sparse("b", 11), sparse("c", 10), sparse("d", 5)}));
  EXPECT_EQ(s.streams[0].by_index.size(), kMost - 10);
  EXPECT_TRUE(s.streams[1].by_index.empty());
  EXPECT_EQ(s.streams[2].by_index.size(), 10u);
  EXPECT_TRUE(s.streams[3].by_index.empty());
  EXPECT_EQ(s.streams[3].values, 1u);
}

TEST(Survey, IsTheSameForAnyNumberOfThreads) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += std::to_string(i) + " |f " + std::to_string(i % 17) + " 0.5 " + std::to_string(-i) + " |t " +
            std::to_string(i % 7) + ":1\n";
  }
  const std::string file = folder.write("a.ctf", text);
  SurveyOptions options;
  options.columns = true;
  const Survey one = survey(setup_of(file, kStreams, 1, 500), options);
  const Survey many = survey(setup_of(file, kStreams, 5, 500), options);
  ASSERT_EQ(many.threads, 5u);
  EXPECT_EQ(one.labels, many.labels);
  EXPECT_EQ(one.duplicates, many.duplicates);
  for (std::size_t i = 0; i < 2; ++i) {
    const StreamSurvey &a = one.streams[i], &b = many.streams[i];
    EXPECT_EQ(a.by_index, b.by_index);
    EXPECT_EQ(a.constant, b.constant);
    EXPECT_NEAR(a.mean, b.mean, 1e-9);
    EXPECT_NEAR(a.deviation, b.deviation, 1e-9);
    EXPECT_EQ(a.counts.quantile(0.5), b.counts.quantile(0.5));
    EXPECT_EQ(a.columns.min, b.columns.min);
    EXPECT_EQ(a.columns.max, b.columns.max);
    for (std::size_t d = 0; d < a.stream.dim; ++d) {
      EXPECT_NEAR(a.columns.mean[d], b.columns.mean[d], 1e-9);
      EXPECT_NEAR(a.columns.deviation[d], b.columns.deviation[d], 1e-9);
    }
  }
  EXPECT_DOUBLE_EQ(one.streams[0].columns.mean[2], -999.5);
  EXPECT_TRUE(survey(setup_of(file, kStreams)).streams[0].columns.mean.empty()) << "nobody asked";
}

TEST(ValueCounts, QuantilesAreWithinOnePercent) {
  EXPECT_TRUE(rc::check([](std::vector<float> values) {
    values.erase(std::remove_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }), values.end());
    RC_PRE(!values.empty());
    ValueCounts counts;
    for (const float v : values) counts.add(v);
    std::sort(values.begin(), values.end());
    const int percent = *rc::gen::inRange(0, 101);
    const std::size_t n = values.size();
    const std::size_t rank =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(percent / 100.0 * static_cast<double>(n))));
    const double exact = static_cast<double>(values[rank - 1]), found = counts.quantile(percent / 100.0);
    RC_ASSERT(std::abs(found - exact) <= 0.01 * std::abs(exact) + 1e-38);
  }));
}

// The lowest value of a bin would have too many digits: 0.69921875 for 0.7.
TEST(ValueCounts, QuantilesHaveFewDigits) {
  for (const double value : {0.7, -0.7, 0.1, 1e-7, 3.5, 17.0, 97.0, -255.0, 256.0, 1000.0, 1e6, 0.25, 1e15, 0.0}) {
    ValueCounts counts;
    counts.add(static_cast<float>(value), 3);
    EXPECT_EQ(counts.quantile(0.5), value);
  }
}

TEST(ValueCounts, BarsHoldEveryValueOnce) {
  EXPECT_TRUE(rc::check([] {
    const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-3000, 3000)));
    ValueCounts counts;
    for (const int v : values) counts.add(static_cast<float>(v));
    const auto [min, max] = std::minmax_element(values.begin(), values.end());
    const auto bars =
        counts.bars(*min, *max, *rc::gen::arbitrary<bool>(), static_cast<std::size_t>(*rc::gen::inRange(1, 80)));
    std::uint64_t sum = 0;
    for (const ValueCounts::Bar& bar : bars) sum += bar.count;
    RC_ASSERT(sum == values.size());
    RC_ASSERT(bars.front().low == *min && bars.back().high == *max);
  }));
}

// Each number gets a bar of its own only where values are whole, few, and each has its own bin.
TEST(ValueCounts, BarsAreCutAsTheHeaderSays) {
  ValueCounts counts;
  for (int v = 0; v < 10; ++v) counts.add(static_cast<float>(v), static_cast<std::uint64_t>(v) + 1);
  const struct {
    double min, max;
    bool whole;
    std::size_t most;
    std::size_t bars;
    double high;  // of the first
  } cases[] = {{0, 9, true, 10, 10, 0},
               {0, 9, true, 9, 9, 1},
               {0, 9, false, 10, 10, 0.9},
               {0, 9, true, 3, 3, 3},
               {0, 256, true, 300, 257, 0},
               {0, 257, true, 300, 300, 257 / 300.0},
               {-257, 0, true, 300, 300, 257 / 300.0 - 257},
               {5, 5, true, 60, 1, 5},
               {5, 5, false, 60, 1, 5},
               {1, 0, true, 10, 0, 0},
               {0, 9, true, 0, 0, 0}};
  for (const auto& c : cases) {
    const auto bars = counts.bars(c.min, c.max, c.whole, c.most);
    ASSERT_EQ(bars.size(), c.bars) << c.min << ".." << c.max << ' ' << c.most;
    if (bars.empty()) continue;
    EXPECT_EQ(bars[0].low, c.min);
    EXPECT_NEAR(bars[0].high, c.high, 1e-9);
    EXPECT_EQ(bars.back().high, c.max);
  }
  const auto three = counts.bars(0, 9, true, 3);
  EXPECT_EQ(three[0].count, 1u + 2 + 3);
  EXPECT_EQ(three[1].count, 4u + 5 + 6);
  EXPECT_EQ(three[2].count, 7u + 8 + 9 + 10) << "the last one's high included";
}

TEST(ValueCounts, CountsAddUpAndNothingHasAQuantileOfZero) {
  ValueCounts a, b;
  EXPECT_EQ(a.quantile(0.5), 0);
  a.add(1, 3);
  b.add(1, 2);
  b.add(-300, 4);
  b.add(std::nanf(""), 50);
  b.add(INFINITY, 50);
  a.add(b);
  EXPECT_NEAR(a.quantile(0.4), -300, 3);
  EXPECT_EQ(a.quantile(0.5), 1);
  EXPECT_NEAR(a.quantile(0), -300, 3);
  EXPECT_EQ(a.quantile(1), 1);
  EXPECT_EQ(a.bars(1, 1, true, 5)[0].count, 9u) << "what lies outside is counted at the end next to it";
}

TEST(ValueCounts, WholeNumbersHaveBarsOfTheirOwn) {
  ValueCounts counts;
  for (const float v : {-2.0f, -2.0f, 0.0f, 3.0f, 255.0f}) counts.add(v);
  const auto bars = counts.bars(-2, 3, true, 60);
  ASSERT_EQ(bars.size(), 6u);
  EXPECT_EQ(bars[0].count, 2u);
  EXPECT_EQ(bars[2].count, 1u);
  EXPECT_EQ(bars[5].low, 3);
}

}  // namespace
}  // namespace batchfeed
