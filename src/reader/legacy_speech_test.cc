// SPDX-License-Identifier: MIT
#include "reader/legacy_speech.h"

#include <batchfeed/reader.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "join/join.h"
#include "reader/testing.h"
#include "support/memory_source.h"

namespace batchfeed::reader {
namespace {

ReaderOptions legacy(std::uint64_t minibatch, std::uint64_t rows, Packing packing = Packing::sequences) {
  ReaderOptions o;
  o.legacy_speech = true;
  o.order.kind = OrderKind::file;
  o.shard = Shard::chunk;
  o.local_timeline = false;
  o.pack.kind = packing;
  o.minibatch_size = {minibatch};
  o.rows_per_epoch = {rows};
  o.threads = 1;
  return o;
}

std::string layout(const Minibatch& b) {
  if (!b.empty()) {
    EXPECT_EQ(b.streams[0].layout.sequences + 1, b.streams[0].offsets.size());
    EXPECT_EQ(b.num_sequences, b.keys.size());
  }
  return layout_text(b) + (b.end_of_epoch ? "e" : "");
}

std::string layouts(Reader& reader, std::size_t most = 50) {
  std::string out;
  Minibatch batch;
  for (std::size_t i = 0; i < most && reader.read(batch); ++i) {
    out += (i == 0 ? "" : " ") + layout(batch);
    if (batch.end_of_epoch) break;
  }
  return out;
}

// From the state in front of each of the first answers.
void expect_to_go_on(const std::vector<std::vector<std::uint32_t>>& corpus, const ReaderOptions& o, int most) {
  Reader whole = reader::open(corpus, o);
  std::vector<std::string> answers, states;
  Minibatch batch;
  for (int i = 0; i < most; ++i) {
    states.push_back(whole.state());
    ASSERT_TRUE(whole.read(batch));
    answers.push_back(layout(batch));
  }
  for (std::size_t from = 0; from < states.size(); ++from) {
    Reader later = reader::open(corpus, o);
    later.restore(states[from]);
    for (std::size_t i = from; i < answers.size(); ++i) {
      ASSERT_TRUE(later.read(batch));
      EXPECT_EQ(layout(batch), answers[i]) << "from " << from;
    }
  }
}

// How many frames each answer of two epochs has.
std::string fill(Reader& reader) {
  std::string out;
  Minibatch batch;
  for (int epochs = 0; epochs < 2 && reader.read(batch);) {
    out += (out.empty() ? "" : " ") + std::to_string(batch.num_sequences) + (batch.end_of_epoch ? "e" : "");
    epochs += batch.end_of_epoch ? 1 : 0;
  }
  return out;
}

Reader open_frames(const std::vector<std::vector<std::uint32_t>>& lengths, const ReaderOptions& options) {
  return Reader(std::make_shared<MemorySource>(lengths, true), options);
}

TEST(LegacySpeech, LaysUtterancesEndToEndBelowTheRequest) {
  ReaderOptions o = legacy(250, 1);
  o.epoch_samples = 551;
  Reader all = reader::open({{100, 150, 1, 300}}, o);
  EXPECT_EQ(layouts(all), "{k0@0[0,100)} {k1@0[0,151)} {k3@0[0,300)}e");
  o.epoch_samples = 251;
  Reader shrinking = reader::open({{100, 150, 1}}, o);
  EXPECT_EQ(layouts(shrinking), "{k0@0[0,100)} {k1@0[0,150)} {k2@0[0,1)}e");
}

TEST(LegacySpeech, FillsRowsWithPendingPieces) {
  Reader reader = reader::open({{5, 9, 2, 2, 4, 6}}, legacy(4, 2));
  EXPECT_EQ(layouts(reader),
            "{k0@0[0,5) k1@1[0,9) k2@0[5,7) gap@0[7,9)} {k4@0[0,4) k3@1[0,2) gap@1[2,4)} {k5@0[0,6) gap@1[0,6)}e");
}

TEST(LegacySpeech, CutsRowsInTwoPiecesAtMost) {
  Reader reader = reader::open({{4, 7, 6, 3, 6}}, legacy(6, 2, Packing::truncated));
  EXPECT_EQ(layouts(reader),
            "{k0@0[0,4) k2@0[4,10) k1@1[0,7)} {k2@0[-2,4) k3@0[4,7) k1@1[-6,1) k4@1[1,7)} {k3@0[-2,1) k4@1[-5,1) "
            "gap@0[1,6) gap@1[1,6)}e");
}

TEST(LegacySpeech, GoesOnFromAState) {
  for (const Packing packing : {Packing::sequences, Packing::truncated}) {
    ReaderOptions o = legacy(6, 2, packing);
    o.order = {.kind = OrderKind::cntk, .window = kWholeSet, .window_in_samples = true};
    const std::vector<std::vector<std::uint32_t>> corpus = {{4, 7, 2, 2}, {6, 3, 6, 1, 1}};
    expect_to_go_on(corpus, o, 12);
  }
}

TEST(LegacySpeech, FullMinibatchesChangeTheEpoch) {
  ReaderOptions o = legacy(300, 1, Packing::frames);
  o.full_minibatches = true;
  EXPECT_EQ(EpochTable(o, 1000).size(0), 900u);
  EXPECT_EQ(EpochTable(o, 200).size(0), 200u);
  o.epoch_samples = 1000;
  EXPECT_EQ(EpochTable(o, 1000).size(0), 1100u);
  o.epoch_samples = 500;
  EXPECT_EQ(EpochTable(o, 1000).size(0), 500u);
  o.full_minibatches = false;
  EXPECT_EQ(EpochTable(o, 1000).size(0), 500u);
}

TEST(LegacySpeech, FullMinibatchesCountInTheSizeOfTheirEpoch) {
  ReaderOptions o = legacy(300, 1, Packing::frames);
  o.full_minibatches = true;
  o.minibatch_size = {300, 400};
  const EpochTable epochs(o, 1000);
  EXPECT_EQ(epochs.size(0), 900u);
  EXPECT_EQ(epochs.size(1), 800u);
  EXPECT_EQ(epochs.begin(2), 1600u);
  Reader reader = open_frames({{30, 40, 25}}, [&] {
    o.minibatch_size = {20, 30};
    return o;
  }());
  EXPECT_EQ(fill(reader), "20 20 20 20e 30 30 0e");
}

// What does not fill a minibatch at the end of a sweep is no answer of its own, as in the reference; and whether it is
// full is not asked of a worker's own frames.
TEST(LegacySpeech, FullMinibatchesPassOverWhatIsShort) {
  ReaderOptions o = legacy(20, 1, Packing::frames);
  o.full_minibatches = true;
  o.epoch_samples = 90;
  Reader reader = open_frames({{30, 20}}, o);
  EXPECT_EQ(fill(reader), "20 20 20 20 0e 20 20 20 20 20e");
  EXPECT_EQ(reader.skipped(), 40u);
  o.epoch_samples = 30;
  Reader rest = open_frames({{12, 8}}, o);  // an epoch of one and a half sweeps of one minibatch each
  EXPECT_EQ(fill(rest), "20 0e 20e");
  o.epoch_samples = 15;
  Reader small = open_frames({{12, 8}}, o);  // a set of no more than a minibatch: nothing is passed over
  EXPECT_EQ(fill(small), "15e 5 10e");
  std::size_t frames = 0;
  for (o.rank = 0; o.rank < 2; ++o.rank) {
    o.workers = 2;
    o.epoch_samples = 0;
    Reader part = open_frames({{30}, {20}}, o);
    Minibatch batch;
    while (part.read(batch)) {
      frames += batch.num_sequences;
      if (batch.end_of_epoch) break;
    }
  }
  EXPECT_EQ(frames, 40u);
}

ReaderOptions shared(std::uint64_t minibatch, std::uint64_t rank, Packing packing) {
  ReaderOptions o = legacy(minibatch, 2, packing);
  o.order = {.kind = OrderKind::cntk, .window = kWholeSet, .window_in_samples = true};
  o.workers = 2;
  o.rank = rank;
  return o;
}

// Minibatches are cut for all workers together, whoever has what is in them (htk.md 12.6); what others have at the
// begin of an epoch is passed over (12.8).
TEST(LegacySpeech, WorkersShareMinibatchesOfFrames) {
  std::size_t empty = 0, passed_over = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    std::map<std::uint64_t, std::uint64_t> frames;  // by the position behind them
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      ReaderOptions o = shared(20, rank, Packing::frames);
      o.order.window = 10;  // of chunks that are neighbours
      o.order.seed = seed;
      o.rows_per_epoch = {1};
      Reader reader = open_frames({{50}, {45}, {33}, {50}, {12}}, o);
      Minibatch batch;
      for (bool first = true; reader.read(batch); first = false) {
        EXPECT_FALSE(first && batch.empty());
        passed_over += first && batch.position > 20 ? 1u : 0u;
        frames[batch.position] += batch.num_sequences;
        empty += batch.empty() ? 1u : 0u;
        if (batch.end_of_epoch) break;
      }
    }
    ASSERT_EQ(frames.size(), 10u);
    for (const auto& [position, samples] : frames) {
      EXPECT_EQ(samples, position == 190 ? 10u : 20u) << position;
      EXPECT_EQ(position % 20, position == 190 ? 10u : 0u);
    }
  }
  EXPECT_GT(empty, 0u) << "else nothing was shared";
  EXPECT_GT(passed_over, 0u);
}

// A piece ends where those of all workers together reach the request.
TEST(LegacySpeech, WorkersSharePieces) {
  for (const Packing packing : {Packing::sequences, Packing::truncated}) {
    const std::vector<std::vector<std::uint32_t>> corpus = {{30, 20}, {40, 10}, {25, 25}, {50}, {15, 35}};
    std::size_t utterances = 0;
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      const ReaderOptions o = shared(60, rank, packing);
      ReaderOptions alone = o;
      alone.workers = 1;
      alone.rank = 0;
      alone.pack.kind = Packing::sequences;
      alone.rows_per_epoch = {1};
      std::map<std::uint64_t, std::size_t> piece_of;  // by key: which piece of all it belongs to
      Reader all = reader::open(corpus, alone);
      Minibatch batch;
      for (std::size_t n = 0; all.read(batch); ++n) {
        for (const std::uint64_t key : batch.keys) piece_of[key] = n;
        if (batch.end_of_epoch) break;
      }
      Reader reader = reader::open(corpus, o);
      if (packing == Packing::sequences) {
        std::vector<std::size_t> pieces;
        while (reader.read(batch)) {
          std::size_t begins = 0;
          for (const LayoutEntry& e : batch.empty() ? std::vector<LayoutEntry>() : batch.streams[0].layout.entries)
            begins += e.sequence == LayoutEntry::kGap ? 0u : 1u;
          std::set<std::size_t> seen;
          for (const std::uint64_t key : batch.keys) seen.insert(piece_of[key]);
          EXPECT_EQ(begins, seen.size()) << "utterances of one piece are one sequence, and those of several are not";
          utterances += batch.keys.size();
          if (batch.end_of_epoch) break;
        }
      }
      SCOPED_TRACE("rank " + std::to_string(rank));
      expect_to_go_on(corpus, o, 8);
    }
    EXPECT_EQ(utterances, packing == Packing::sequences ? 9u : 0u);
  }
}

TEST(LegacySpeech, RefusesWhatItCannotDo) {
  const auto id = [](ReaderOptions o) -> std::string {
    return id_of([&] {
      Reader reader = reader::open({{4, 7}}, o);
      Minibatch batch;
      reader.read(batch);
    });
  };
  ReaderOptions rolling = legacy(10, 1);
  rolling.rolling_window = true;
  EXPECT_EQ(id(rolling), "legacy.rolling-window");
  ReaderOptions rows = legacy(10, 1);
  rows.workers = 2;
  EXPECT_EQ(id(rows), "legacy.rows");
}

TEST(LegacySpeech, AChangeOfWorkersBeginsRowsAnew) {
  for (const Packing packing : {Packing::sequences, Packing::truncated}) {
    Reader reader = reader::open(std::vector<std::vector<std::uint32_t>>(9, {4, 7, 6, 3, 6}), legacy(6, 4, packing));
    Minibatch batch;
    ASSERT_TRUE(reader.read(batch));
    reader.set_workers(2, 1);
    std::size_t n = 0;
    while (reader.read(batch) && !batch.end_of_epoch) ++n;
    EXPECT_GT(n, 0u);
  }
}

// htk.md 11.2: labels that are wrong are an error wherever they stand, even if there are no others.
TEST(LegacySpeech, DamagedUtterancesAreAnErrorThoughNoneWasSoundBefore) {
  for (const Packing packing : {Packing::sequences, Packing::truncated, Packing::frames}) {
    const auto source =
        std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>{{4}}, packing == Packing::frames);
    source->damaged_key = 0;
    Reader reader(source, legacy(6, 1, packing));
    Minibatch batch;
    EXPECT_EQ(testing::fault_of([&] { reader.read(batch); }).id, "reader.too-many-invalid");
  }
}

// The legacy join keeps utterances of equal length only.
TEST(LegacySpeech, JoinsUtterancesOfEqualLength) {
  const auto joined = [](const std::vector<std::uint32_t>& first, const std::vector<std::uint32_t>& second,
                         std::uint64_t too_long = 0) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<MemorySource>(std::vector<std::vector<std::uint32_t>>{first}));
    sources.push_back(std::make_unique<MemorySource>(std::vector<std::vector<std::uint32_t>>{second}, false, "b"));
    return join::join(std::move(sources), {.exact = true, .too_long = too_long});
  };
  const auto source = joined({4, 7, 6, 3}, {4, 7, 5, 3});
  EXPECT_EQ(source->chunks()[0].sequences, 3u);
  ASSERT_EQ(source->notices().size(), 1u);
  EXPECT_EQ(source->notices()[0].fault.id, "join.other-length");
  EXPECT_EQ(joined({4, 7, 6, 3}, {4, 7, 5, 2})->chunks()[0].sequences, 2u);
  EXPECT_EQ(joined({4, 7, 6}, {4, 8, 5}, 1)->chunks()[0].sequences, 1u) << "two of four";
  EXPECT_EQ(id_of([&] { joined({4, 7, 6, 3}, {4, 8, 5, 2}); }), "join.most-left-out");
}

}  // namespace
}  // namespace batchfeed::reader
