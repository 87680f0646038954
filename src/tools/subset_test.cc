// SPDX-License-Identifier: MIT
#include <batchfeed/error.h>
#include <batchfeed/reader.h>
#include <batchfeed/subset.h>
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "join/join.h"
#include "support/each_sequence.h"
#include "support/memory_source.h"

namespace batchfeed {
namespace {

// Keys 0 to 9 in chunks of 3, 1, 4 and 2 sequences; key k has k + 1 samples.
std::shared_ptr<const Source> ten() {
  return std::make_shared<reader::MemorySource>(
      std::vector<std::vector<std::uint32_t>>{{1, 2, 3}, {4}, {5, 6, 7, 8}, {9, 10}});
}

std::vector<std::uint64_t> keys(const Source& source) {
  std::vector<std::uint64_t> out;
  testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
    const Column& column = chunk.columns[0];
    EXPECT_EQ(column.samples(s.row), s.samples);
    EXPECT_EQ(column.as<float>()[column.begin[s.row]], static_cast<float>(100 * s.key));
    out.push_back(s.key);
  });
  return out;
}

TEST(Subset, HasTheChosenSequencesAndNoEmptyChunk) {
  const auto some = subset(ten(), {{0, 2}, {}, {1, 3}});
  EXPECT_EQ(keys(*some), (std::vector<std::uint64_t>{0, 2, 5, 7}));
  EXPECT_EQ(some->chunks().size(), 2u);
  EXPECT_NE(some->fingerprint(), ten()->fingerprint());
  EXPECT_NE(some->fingerprint(), subset(ten(), {{0, 1}, {}, {1, 3}})->fingerprint());
  EXPECT_EQ(subset(ten(), {})->chunks().size(), 0u);
}

TEST(Subset, UtterancesStayWhatFramesAreDrawnFrom) {
  const auto speech =
      std::make_shared<reader::MemorySource>(std::vector<std::vector<std::uint32_t>>{{2, 3}, {1}}, true);
  Reader frames(std::shared_ptr<const Source>(select_streams(subset(speech, {{1}, {0}}), {"x"})),
                {.order = {.kind = OrderKind::file}, .pack = {.kind = Packing::frames}, .minibatch_size = {3}});
  Minibatch batch;
  std::vector<std::uint64_t> drawn;
  while (frames.next(batch)) drawn.insert(drawn.end(), batch.keys.begin(), batch.keys.end());
  EXPECT_EQ(drawn, (std::vector<std::uint64_t>{1, 1, 1, 2}));
}

TEST(Subset, RowsFromANumberOn) {
  EXPECT_EQ(keys(*subset(ten(), rows_from(*ten(), 2, 3))), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(count(rows_from(*ten(), 8, 99)), 2u);
  EXPECT_EQ(count(rows_from(*ten(), 10, 1)), 0u);
  EXPECT_EQ(rows_from(*ten(), 0, 2).size(), 1u) << "chunks behind the last are not looked at";
}

TEST(Subset, ASampleHasTheNumberAskedForAndDependsOnTheSeed) {
  for (const std::uint64_t n : {0u, 1u, 4u, 9u, 10u, 11u})
    EXPECT_EQ(count(sample_rows(*ten(), n, 5)), std::min<std::uint64_t>(n, 10));
  EXPECT_EQ(sample_rows(*ten(), 4, 5), sample_rows(*ten(), 4, 5));
  EXPECT_EQ(keys(*subset(ten(), sample_rows(*ten(), 4, 7))), (std::vector<std::uint64_t>{0, 2, 5, 7})) << "everywhere";
}

// All 45 pairs of ten are equally frequent: chi squared with 44 degrees of freedom exceeds 90 only once in
// 20,000 times, and the seeds are fixed.
TEST(Subset, AllSamplesAreEquallyLikely) {
  const auto source = ten();
  std::map<std::vector<std::uint64_t>, double> seen;
  constexpr int kDraws = 9000;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    std::vector<std::uint64_t> pair;
    const Rows rows = sample_rows(*source, 2, seed);
    for (std::uint64_t c = 0; c < rows.size(); ++c) {
      for (const std::uint32_t i : rows[c]) pair.push_back(100 * c + i);
    }
    ++seen[pair];
  }
  EXPECT_EQ(seen.size(), 45u);
  double chi = 0;
  for (const auto& [pair, n] : seen) chi += (n - kDraws / 45.0) * (n - kDraws / 45.0) / (kDraws / 45.0);
  EXPECT_LT(chi, 90);
}

TEST(Subset, KeysThatAreNumbersInOrderSayNoMore) {
  EXPECT_FALSE(has_own_keys(*ten()));
  EXPECT_TRUE(has_own_keys(*subset(ten(), {{1}})));
  const auto pair_of = [](std::uint64_t first_key) {
    std::vector<std::unique_ptr<Source>> shards;
    for (const std::uint64_t key : {std::uint64_t{0}, first_key})
      shards.push_back(std::make_unique<reader::MemorySource>(std::vector<std::vector<std::uint32_t>>{{1, 2}, {4}},
                                                              false, "x", key));
    return join::concatenate(std::move(shards));
  };
  EXPECT_FALSE(has_own_keys(*pair_of(0))) << "of each shard from 0";
  EXPECT_TRUE(has_own_keys(*pair_of(1)));
}

TEST(Subset, StreamsAreChosenAndRenamed) {
  const auto renamed = select_streams(ten(), {"x"}, {{"x", "y"}});
  EXPECT_EQ(renamed->streams()[0].name, "y");
  EXPECT_EQ(keys(*renamed).size(), 10u);
  EXPECT_THROW((void)select_streams(ten(), {"z"}), Error);
}

// Sequences whose columns have `samples` samples while the metadata counts 1, as in a binary file; `lines`: the lines
// that place() gives, as for a text.
class Counted final : public Source {
 public:
  explicit Counted(std::uint32_t samples, std::uint64_t lines = 0, std::vector<StreamInfo> streams = {{.name = "x"}})
      : samples_(samples), lines_(lines), streams_(std::move(streams)) {}
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t, std::vector<SequenceInfo>& out) const override { out = {{0, 0, 1}, {1, 1, 1}}; }
  void read(std::uint32_t, Chunk& out) const override {
    ++reads;
    out.reset(streams_);
    for (Column& column : out.columns) {
      column.first_sample.push_back(1);
      column.first_sample.push_back(1 + samples_);
    }
  }
  Place place(std::uint32_t, std::uint32_t) const override { return {.file = "f", .first_line = lines_}; }

  mutable int reads = 0;

 private:
  std::uint32_t samples_;
  std::uint64_t lines_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_ = {{.sequences = 2, .samples = 2}};
};

TEST(OneSampleEach, IsNotBelievedWhereLengthsMayCountSomethingElse) {
  EXPECT_FALSE(one_sample_each(*ten()));
  EXPECT_FALSE(one_sample_each(Counted(2))) << "data are read";
  EXPECT_TRUE(one_sample_each(Counted(1)));
  EXPECT_TRUE(one_sample_each(Counted(0)));
  const Counted text(1, 7);
  EXPECT_TRUE(one_sample_each(text));
  EXPECT_EQ(text.reads, 0) << "lengths of text are known";
  const StreamInfo defining{.name = "y", .defines_mb_size = true};
  EXPECT_FALSE(one_sample_each(Counted(1, 7, {{.name = "x"}, defining})));
  EXPECT_TRUE(one_sample_each(Counted(1, 7, {defining})));
  EXPECT_TRUE(one_sample_each(*subset(ten(), {})));
}

TEST(Subset, AFractionOfTheSequencesIsRounded) {
  const auto source = ten();
  EXPECT_EQ(sample_count(*source, 0.25), 3u);
  EXPECT_EQ(sample_count(*source, 0.01), 0u);
  EXPECT_EQ(sample_count(*source, 1), 10u);
  for (const double wrong : {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW((void)sample_count(*source, wrong), Error);  // sample.fraction
}

TEST(CtfText, WritesWhatTheReaderReadsAndNothingOfWhatItRefuses) {
  Chunk chunk;
  ten()->read(0, chunk);
  CtfText text({.streams = ten()->streams()});
  std::string out;
  text.append(chunk, 1, "b", out);
  EXPECT_EQ(out, "b |x 100\nb |x 101\n");
  EXPECT_THROW(text.append(chunk, 0, "b", out), Error);  // ctf.write-same-id
  chunk.columns[0].as<float>()[chunk.columns[0].begin[2] + 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(text.append(chunk, 2, "c", out), Error);
  EXPECT_EQ(out, "b |x 100\nb |x 101\n");
  EXPECT_EQ(text.sequences(), 1u);
  EXPECT_EQ(text.samples(), 2u);
  const std::string mark = "\xEF\xBB\xBF";
  out.clear();
  CtfText({.streams = ten()->streams()}).append(chunk, 1, mark + "b", out);  // a file's own mark is left out
  EXPECT_EQ(out, mark + mark + "b |x 100\n" + mark + "b |x 101\n");
}

}  // namespace
}  // namespace batchfeed
