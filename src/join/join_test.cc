// SPDX-License-Identifier: MIT
#include "join/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "support/each_sequence.h"
#include "support/fault_of.h"

namespace batchfeed::join {
namespace {

using ::batchfeed::testing::fault_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Entry {
  std::uint64_t key;
  std::uint32_t samples;
};
using Chunks = std::vector<std::vector<Entry>>;

// A corpus with one dense stream: sample i of key k is 100 k + i.
class Corpus final : public Source, private RowReader {
 public:
  Corpus(std::string name, Chunks chunks, StreamInfo stream = {}) : data_(std::move(chunks)) {
    stream.name = std::move(name);
    stream.dim = 1;
    streams_.push_back(stream);
    for (const auto& chunk : data_) {
      ChunkInfo info{.sequences = chunk.size(), .samples = 0};
      for (const Entry& e : chunk) info.samples += e.samples;
      chunks_.push_back(info);
    }
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    out.clear();
    for (const Entry& e : data_[chunk]) out.push_back({e.key, static_cast<std::uint32_t>(out.size()), e.samples});
  }
  void read(std::uint32_t chunk, Chunk& out) const override {
    ++whole;
    read(chunk, {0, static_cast<std::uint32_t>(data_[chunk].size())}, out);
  }
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override { return by_rows ? this : nullptr; }
  void take(std::uint64_t bytes) { chunks_[0].bytes = bytes; }
  bool splits_frames() const override { return frames; }
  std::string key_text(std::uint64_t key) const override { return calls_them + Source::key_text(key); }

  std::string calls_them;  // in front of its keys
  bool frames = false;
  bool by_rows = false;
  bool narrow = false;                  // and stored as in the file
  bool expands = false;                 // into far more than in the file
  mutable int whole = 0;                // chunks read whole
  mutable std::uint32_t most_rows = 0;  // that were read at a time

 private:
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    out.clear();
    for (std::uint32_t r = rows.first; r < rows.last; ++r)
      out.push_back({data_[chunk][r].key, r - rows.first, data_[chunk][r].samples});
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    most_rows = std::max(most_rows, rows.last - rows.first);
    out.reset(streams_);
    Column& c = out.columns[0];
    for (std::uint32_t r = rows.first; r < rows.last; ++r) {
      const Entry& e = data_[chunk][r];
      c.begin.push_back(c.values.size() / sizeof(float));
      c.first_sample.push_back(c.first_sample.back() + e.samples);
      for (std::uint32_t i = 0; i < e.samples; ++i) {
        const auto value = static_cast<float>(100 * e.key + i);
        c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
      }
    }
  }
  bool may_be_narrow(std::uint32_t chunk, std::size_t stream) const override {
    return narrow && chunk == 0 && stream == 0;
  }
  RowMemory row_memory(std::uint32_t chunk) const override {
    if (expands) return RowMemory::far_more;
    return narrow && chunk == 0 ? RowMemory::as_stored : RowMemory::unknown;
  }

  Chunks data_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
};

std::vector<std::unique_ptr<Source>> pair_of(std::unique_ptr<Source> first, std::unique_ptr<Source> second) {
  std::vector<std::unique_ptr<Source>> out;
  out.push_back(std::move(first));
  out.push_back(std::move(second));
  return out;
}

std::unique_ptr<Corpus> corpus(std::string name, Chunks chunks, StreamInfo stream = {}) {
  return std::make_unique<Corpus>(std::move(name), std::move(chunks), std::move(stream));
}

// "key(samples): x values | y values" of every sequence, chunk after chunk.
std::vector<std::string> all_of(const Source& source) {
  std::vector<std::string> out;
  ::batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
    std::string text = std::to_string(s.key) + '(' + std::to_string(s.samples) + "):";
    for (std::size_t k = 0; k < chunk.columns.size(); ++k) {
      const Column& column = chunk.columns[k];
      if (k > 0) text += " |";
      for (std::uint32_t i = 0; i < column.samples(s.row); ++i) {
        text += ' ' + std::to_string(static_cast<int>(column.as<float>()[column.begin[s.row] + i * column.step]));
      }
    }
    out.push_back(text);
  });
  return out;
}

TEST(Join, TheFirstGivesTheOrderAndPartnersAreFoundByKey) {
  const auto joined =
      join(pair_of(corpus("x", {{{3, 1}, {1, 2}}, {{2, 1}}}), corpus("y", {{{1, 1}, {2, 2}}, {{3, 1}}})), {});
  EXPECT_THAT(all_of(*joined), ElementsAre("3(1): 300 | 300", "1(2): 100 101 | 100", "2(2): 200 | 200 201"));
  EXPECT_EQ(joined->streams().size(), 2u);
  EXPECT_TRUE(joined->notices().empty());
}

TEST(Join, TheLengthIsTheLongestUnlessAStreamDefinesIt) {
  StreamInfo sizing;
  sizing.defines_mb_size = true;
  const auto second = join(pair_of(corpus("x", {{{1, 1}}}), corpus("y", {{{1, 3}}}, sizing)), {});
  EXPECT_THAT(all_of(*second), ElementsAre("1(3): 100 | 100 101 102"));
  const auto first = join(pair_of(corpus("x", {{{1, 1}}}, sizing), corpus("y", {{{1, 3}}})), {});
  EXPECT_THAT(all_of(*first), ElementsAre("1(1): 100 | 100 101 102"));
}

TEST(Join, TellsWhatWasLeftOut) {
  const auto joined = join(
      pair_of(corpus("x", {{{1, 1}, {2, 1}}, {{9, 1}}, {{3, 1}}}), corpus("y", {{{1, 1}, {3, 1}, {7, 1}, {7, 2}}})),
      {});
  // A chunk without partners is gone; rows that are left out keep the others in place.
  EXPECT_THAT(all_of(*joined), ElementsAre("1(1): 100 | 100", "3(1): 300 | 300"));
  EXPECT_EQ(joined->chunks().size(), 2u);
  const std::vector<Notice> notices = joined->notices();
  ASSERT_EQ(notices.size(), 3u);
  EXPECT_EQ(notices[0].fault.id, "join.no-partner");
  EXPECT_THAT(notices[0].fault.what,
              HasSubstr("2 of 4 sequences of 'x' have no partner in 'y' and were left out, first: 2, 9"));
  EXPECT_EQ(notices[1].fault.id, "join.no-partner");
  EXPECT_THAT(notices[1].fault.what, HasSubstr("of 'y' have no partner in 'x', first: 7"));
  EXPECT_EQ(notices[2].fault.id, "join.repeated-key");
}

TEST(Join, CountsArePrintedInGroupsOfThree) {
  Chunks many(1);
  for (std::uint64_t key = 0; key < 1235; ++key) many[0].push_back({key, 1});
  const auto joined = join(pair_of(corpus("x", many), corpus("y", {{{0, 1}}})), {});
  EXPECT_THAT(joined->notices().at(0).fault.what, HasSubstr("1,234 of 1,235 sequences of 'x'"));
}

TEST(Join, ListsEverySequenceWhereAsked) {
  std::vector<std::string> each;
  const Options options{.same_length = {true, true},
                        .each = [&](const Fault& f) { each.push_back(f.id.substr(5) + ' ' + f.what); }};
  const auto joined =
      join(pair_of(corpus("x", {{{1, 1}, {2, 1}, {4, 2}}}), corpus("y", {{{1, 1}, {7, 1}, {4, 3}}})), options);
  EXPECT_THAT(each, ElementsAre("no-partner sequence '2' of 'x' has no partner in 'y'; left out",
                                "unequal-length sequence '4' has 2 samples in 'x' and 3 in 'y'",
                                "no-partner sequence '7' of 'y' has no partner in 'x'"));
  EXPECT_TRUE(joined->notices().empty());
}

TEST(Join, CountsUtterancesWhoseSourcesDifferInLength) {
  const auto two = [] { return pair_of(corpus("x", {{{1, 1}, {2, 2}}}), corpus("y", {{{1, 1}, {2, 3}}})); };
  for (const bool frames : {false, true}) {
    const auto joined = join(two(), {.frames = frames, .same_length = {true, true}});
    EXPECT_EQ(joined->chunks()[0].sequences, 2u);
    ASSERT_EQ(joined->notices().size(), 1u);
    EXPECT_EQ(joined->notices()[0].fault.id, frames ? "join.longer" : "join.unequal-length");
    EXPECT_THAT(joined->notices()[0].fault.what,
                HasSubstr(frames ? "1 of 2 sequences of 'x' have more samples in 'y'"
                                 : "1 of 2 sequences of 'x' have another length in 'y'"));
  }
  EXPECT_TRUE(join(two(), {})->notices().empty());  // sequences of text may well differ
}

// htk.md 11.2: lists of HTKMLFReader may have an utterance twice, and belong together line by line.
TEST(Join, AnUtteranceThatIsListedTwiceHasTwoPartnersInTheLegacyReader) {
  for (const join::Options& options : {join::Options{.exact = true}, join::Options{.strict = true}}) {
    const auto joined = join(pair_of(corpus("x", {{{1, 2}, {2, 1}}, {{1, 3}, {2, 1}}, {{1, 2}}}),
                                     corpus("y", {{{1, 2}, {1, 3}, {2, 1}, {1, 2}}})),
                             options);
    EXPECT_THAT(all_of(*joined),
                ElementsAre("1(2): 100 101 | 100 101", "2(1): 200 | 200", "1(3): 100 101 102 | 100 101 102",
                            "2(1): 200 | 200", "1(2): 100 101 | 100 101"));
    EXPECT_TRUE(joined->notices().empty());
  }
  const auto fewer =
      join(pair_of(corpus("x", {{{1, 2}, {2, 1}}}), corpus("y", {{{1, 2}, {1, 3}, {2, 1}}})), {.exact = true});
  ASSERT_EQ(fewer->notices().size(), 1u);
  EXPECT_THAT(fewer->notices()[0].fault.what, HasSubstr("1 of 3 sequences of 'y' have no partner in 'x', first: 1"));
}

// htk.md 14.4: what is written of the i-th utterance is found by its number.
TEST(Join, StrictlyLeavesOutNothingAndRepeatsOneSample) {
  const auto joined = join(pair_of(corpus("x", {{{1, 2}, {2, 1}}, {{4, 3}}}), corpus("y", {{{2, 1}, {1, 1}, {4, 3}}})),
                           {.strict = true});
  EXPECT_THAT(all_of(*joined),
              ElementsAre("1(2): 100 101 | 100 100", "2(1): 200 | 200", "4(3): 400 401 402 | 400 401 402"));
  // One sample beside sequences of several in a chunk, in front of them and behind.
  for (const Chunks& second : {Chunks{{{2, 1}, {1, 3}, {4, 1}}}, Chunks{{{4, 1}, {2, 1}, {1, 3}}}})
    EXPECT_THAT(all_of(*join(pair_of(corpus("x", {{{4, 2}, {1, 3}, {2, 2}}}), corpus("y", second)), {.strict = true})),
                ElementsAre("4(2): 400 401 | 400 400", "1(3): 100 101 102 | 100 101 102", "2(2): 200 201 | 200 200"));
  const auto refused = [](Chunks second) {
    return fault_of([&] {
      join(pair_of(corpus("x", {{{1, 2}, {2, 2}}}), corpus("y", std::move(second))), {.strict = true});
    });
  };
  EXPECT_EQ(refused({{{1, 2}}}).id, "join.no-partner");
  EXPECT_EQ(refused({{{1, 2}}}).what, "sequence '2' has no partner in 'y'");
  EXPECT_EQ(refused({{{1, 2}, {2, 3}}}).id, "join.other-length");
  EXPECT_EQ(refused({{{1, 2}, {2, 3}}}).what, "sequence '2' has 2 frames in 'x', but 3 in 'y'");
}

TEST(Join, RefusesSourcesThatDoNotBelongTogether) {
  EXPECT_EQ(fault_of([] {
              join(pair_of(corpus("x", {{{1, 1}}}), corpus("y", {{{2, 1}}})), {});
            }).id,
            "join.no-common-keys");
  EXPECT_THAT(fault_of([] {
                join(pair_of(corpus("x", {{{1, 1}}}), corpus("y", {{{2, 1}}})), {});
              }).what,
              HasSubstr("(the first of 'x': '1', of 'y': '2')"));
  const Fault twice = fault_of([] { join(pair_of(corpus("x", {{{1, 1}}}), corpus("x", {{{1, 1}}})), {}); });
  EXPECT_EQ(twice.id, "join.duplicate-stream");
  EXPECT_EQ(twice.kind, FaultKind::config);
  StreamInfo sizing;
  sizing.defines_mb_size = true;
  EXPECT_EQ(fault_of([&] {
              join(pair_of(corpus("x", {{{1, 1}}}, sizing), corpus("y", {{{1, 1}}}, sizing)), {});
            }).id,
            "join.two-definesMBSize");
}

TEST(Join, FramesWantAllFramesOfEverySource) {
  auto features = corpus("x", {{{1, 3}, {2, 2}}});
  auto short_labels = corpus("y", {{{1, 2}, {2, 2}}});
  short_labels->frames = true;
  const Fault fault = fault_of([&] { join(pair_of(std::move(features), std::move(short_labels)), {.frames = true}); });
  EXPECT_EQ(fault.id, "join.too-few-frames");
  EXPECT_THAT(fault.what, HasSubstr("sequence '1' has 3 frames"));
  // Labels of a source that has no frames of its own: the utterance keeps its place, but is damaged, and that is told.
  const auto joined = join(pair_of(corpus("x", {{{1, 3}, {2, 2}}}), corpus("y", {{{1, 2}, {2, 4}}})),
                           {.frames = true, .same_length = {false, true}});
  EXPECT_THAT(all_of(*joined), ElementsAre("1(3): 100 101 102 | 100 101", "2(2): 200 201 | 200 201"));
  Chunk chunk;
  joined->read(0, chunk);
  EXPECT_EQ(chunk.invalid, (std::vector<std::uint8_t>{Chunk::kUnpaid, Chunk::kValid}));
  ASSERT_EQ(joined->notices().size(), 2u);
  EXPECT_EQ(joined->notices()[0].fault.id, "join.shorter");
  EXPECT_THAT(joined->notices()[0].fault.what, HasSubstr("first: 1"));
  EXPECT_EQ(joined->notices()[1].fault.id, "join.longer");
  EXPECT_THAT(joined->notices()[1].fault.what, HasSubstr("of which the last are not used, first: 2"));
}

// Asked in their order: the first of the others that has not what is wanted decides.
TEST(Join, FramesThatASourceLacksAreAnErrorBeforeALaterOneLacksTheSequence) {
  const auto three = [](bool frames_first) {
    std::vector<std::unique_ptr<Source>> out = pair_of(corpus("x", {{{1, 3}, {2, 2}}}), nullptr);
    auto frames = corpus("frames", {{{1, 2}, {2, 2}}});
    frames->frames = true;
    out[1] = std::move(frames);
    out.push_back(corpus("labels", {{{2, 2}}}));
    if (!frames_first) std::swap(out[1], out[2]);
    return out;
  };
  EXPECT_EQ(fault_of([&] { join(three(true), {.frames = true}); }).id, "join.too-few-frames");
  EXPECT_THAT(all_of(*join(three(false), {.frames = true})), ElementsAre("2(2): 200 201 | 200 201 | 200 201"));
}

TEST(Join, LabelsThatAreAllTooShortAreNoMatterOfKeys) {
  const auto joined = join(pair_of(corpus("x", {{{1, 3}}}), corpus("y", {{{1, 2}}})), {.frames = true});
  EXPECT_EQ(joined->chunks()[0].samples, 3u);
}

TEST(Join, ASmallCacheOfPartnersGivesTheSameData) {
  Chunks first, second;
  for (std::uint64_t c = 0; c < 8; ++c) {
    first.push_back({{c, 2}, {15 - c, 1}});
    second.push_back({{2 * c, 1}, {2 * c + 1, 2}});
  }
  const auto large = join(pair_of(corpus("x", first), corpus("y", second)), {});
  const auto small = join(pair_of(corpus("x", first), corpus("y", second)), {.cache_bytes = 1});
  EXPECT_EQ(all_of(*large), all_of(*small));
  EXPECT_EQ(all_of(*large).size(), 16u);
  EXPECT_EQ(large->fingerprint(), small->fingerprint());
}

TEST(Join, ColumnsOfPartnersDoNotGrowRowByRow) {
  std::vector<Entry> rows;
  for (std::uint64_t key = 0; key < 1000; ++key) rows.push_back({key, 3});
  const auto joined = join(pair_of(corpus("x", {rows}), corpus("y", {rows})), {});
  Chunk chunk;
  joined->read(0, chunk);
  const Buffer<std::byte>& values = chunk.columns[1].values;
  EXPECT_EQ(values.size(), 3000 * sizeof(float));
  EXPECT_LE(values.capacity(), values.size() * 9 / 8);
}

// One long partner does not say how much the others take.
TEST(Join, ColumnsOfPartnersUseTheirMemoryAgain) {
  const auto joined =
      join(pair_of(corpus("x", {{{1, 1}, {2, 1}}, {{3, 1}}}), corpus("y", {{{1, 30}, {2, 30}, {3, 1}}})), {});
  Chunk chunk;
  joined->read(0, chunk);
  const std::byte* const values = chunk.columns[1].values.data();
  joined->read(1, chunk);
  EXPECT_EQ(chunk.columns[1].values.data(), values);
  EXPECT_EQ(chunk.columns[1].as<float>()[0], 300);
  EXPECT_EQ(chunk.columns[1].first_sample.size(), 2u);
}

TEST(Join, ColumnsOfPartnersHaveRoomForNoMoreThanThereIs) {
  Chunks rows(2);
  std::vector<Entry> all;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    const Entry entry{key, key == 0 ? 5000u : 1u};
    all.push_back(entry);
    rows[key == 0 ? 0 : 1].push_back(entry);
  }
  const auto joined = join(pair_of(corpus("x", {all}), corpus("y", rows)), {});
  Chunk chunk;
  joined->read(0, chunk);
  const Buffer<std::byte>& values = chunk.columns[1].values;
  EXPECT_EQ(values.size(), 5999 * sizeof(float));
  EXPECT_LE(values.capacity(), 2 * values.size());
}

// Decoded partners are kept if they may be asked for again, or are few.
TEST(Join, OfALargePartnerInStepNothingIsKept) {
  const Chunks first = {{{1, 1}, {2, 1}}, {{3, 2}}, {{4, 1}}};
  for (const bool large : {false, true}) {
    for (const bool in_step : {false, true}) {
      const Chunks second =
          in_step ? Chunks{{{1, 1}, {2, 1}, {3, 2}}, {{4, 1}}} : Chunks{{{3, 2}, {1, 1}, {2, 1}}, {{4, 1}}};
      auto other = corpus("y", second);
      other->by_rows = true;
      other->take(large ? 5 << 20 : 100);
      const Corpus& partner = *other;
      const auto joined = join(pair_of(corpus("x", first), std::move(other)), {});
      EXPECT_THAT(all_of(*joined),
                  ElementsAre("1(1): 100 | 100", "2(1): 200 | 200", "3(2): 300 301 | 300 301", "4(1): 400 | 400"));
      EXPECT_EQ(partner.whole, large && in_step ? 0 : 2);
    }
  }
}

// A few bytes of labels may stand for more frames than there is memory for.
TEST(Join, OfAPartnerThatOutgrowsItsFileNoMoreThanRunsOfRowsAreRead) {
  constexpr std::uint32_t kLong = 50'000;  // two of them are more than is read at a time
  for (const bool frames : {false, true}) {
    for (const bool in_step : {false, true}) {
      auto first = corpus("x", {{{1, 1}, {2, 1}, {3, 1}, {4, 1}}});
      auto other = corpus("y", {in_step ? std::vector<Entry>{{1, 1}, {2, kLong}, {3, kLong}, {4, 1}}
                                        : std::vector<Entry>{{4, 1}, {3, kLong}, {2, kLong}, {1, 1}}});
      first->by_rows = other->by_rows = other->expands = true;
      const Corpus& partner = *other;
      const auto joined = join(pair_of(std::move(first), std::move(other)), {.frames = frames, .cache_bytes = 1 << 20});
      Chunk chunk;
      joined->read(0, chunk);
      const Column& column = chunk.columns[1];
      EXPECT_EQ(column.samples(1), frames ? 1 : kLong);
      EXPECT_EQ(column.as<float>()[column.begin[2]], 300);
      EXPECT_EQ(column.as<float>()[column.begin[3]], 400);
      EXPECT_EQ(partner.whole, 0);
      EXPECT_EQ(partner.most_rows, in_step ? 2u : 1u);
      // And so the primary can be read by rows, in whatever order its partners are.
      const RowReader* const rows = joined->row_reader(0);
      ASSERT_NE(rows, nullptr);
      EXPECT_EQ(rows->row_memory(0), RowMemory::far_more);
      rows->read(0, {2, 4}, chunk);
      EXPECT_EQ(column.samples(0), frames ? 1 : kLong);
      EXPECT_EQ(column.as<float>()[column.begin[1]], 400);
    }
  }
}

TEST(Concatenate, ShardsFollowEachOther) {
  const auto all = concatenate(pair_of(corpus("x", {{{1, 1}}, {{2, 2}}}), corpus("x", {{{3, 1}}})));
  EXPECT_THAT(all_of(*all), ElementsAre("1(1): 100", "2(2): 200 201", "3(1): 300"));
  EXPECT_NE(all->fingerprint(),
            concatenate(pair_of(corpus("x", {{{3, 1}}}), corpus("x", {{{1, 1}}, {{2, 2}}})))->fingerprint());
  EXPECT_EQ(fault_of([] {
              concatenate(pair_of(corpus("x", {{{1, 1}}}), corpus("z", {{{3, 1}}})));
            }).id,
            "join.shards-differ");
}

TEST(Concatenate, NumbersGoOnOverShards) {
  const auto all = concatenate(pair_of(corpus("x", {{{0, 1}}, {{1, 2}}}), corpus("x", {{{0, 1}}})), Keys::numbered);
  EXPECT_THAT(all_of(*all), ElementsAre("0(1): 0", "1(2): 100 101", "2(1): 0"));
  EXPECT_EQ(all->key_text(2), "0");  // as its shard tells it
}

// Of corpora of a mixture: to the name that one of them gives the others may not answer.
TEST(Concatenate, AKeyHasTheNameThatAllGiveIt) {
  for (const Keys keys : {Keys::shared, Keys::own}) {
    for (const char* second : {"a", "b"}) {
      auto one = corpus("x", {{{1, 1}}}), other = corpus("x", {{{1, 1}}});
      one->calls_them = "a";
      other->calls_them = second;
      const auto all = concatenate(pair_of(std::move(one), std::move(other)), keys);
      EXPECT_EQ(all->key_text(1), keys == Keys::shared || *second == 'a' ? "a1" : "1");
    }
  }
}

TEST(Concatenate, RowsAreAsTheShardOfTheirChunkSays) {
  auto first = corpus("x", {{{1, 1}}}), second = corpus("x", {{{2, 1}}, {{3, 1}}});
  first->by_rows = second->by_rows = second->narrow = true;
  const auto all = concatenate(pair_of(std::move(first), std::move(second)));
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk) {
    const RowReader* const rows = all->row_reader(chunk);
    ASSERT_NE(rows, nullptr);
    EXPECT_EQ(rows->may_be_narrow(chunk, 0), chunk == 1);
    EXPECT_EQ(rows->row_memory(chunk), chunk == 1 ? RowMemory::as_stored : RowMemory::unknown);
  }
}

}  // namespace
}  // namespace batchfeed::join
