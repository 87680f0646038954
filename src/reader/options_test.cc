// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <new>

#include "model/shared_source.h"
#include "reader/testing.h"
#include "support/fault_of.h"

namespace batchfeed::reader {
namespace {

// 2^63 - 1 samples are counted; epochs that end behind them wrapped once, and read nothing or for ever.
TEST(ReaderEpochs, BeyondTheLastPositionThereIsNone) {
  ReaderOptions o = reference(OrderKind::cntk, 4);
  const std::uint64_t last = ((1ull << 63) - 1) / 16 - 1;  // kV has 16 samples
  for (const Packing pack : {Packing::sequences, Packing::truncated, Packing::frames}) {
    o.pack = {pack, pack == Packing::truncated ? 2u : 0u, 0};
    o.epoch_samples = 16;
    const auto source = std::make_shared<MemorySource>(kV, pack == Packing::frames);
    const auto start_at = [&](std::uint64_t epoch) {
      return [&, epoch] {
        ReaderOptions there = o;
        there.start_epoch = epoch;
        Reader reader(source, there);
        Minibatch batch;
        std::uint64_t samples = 0;
        while (reader.next(batch)) samples += batch.num_samples;
        EXPECT_EQ(samples, 16u);
      };
    };
    EXPECT_EQ(id_of(start_at(last)), "");
    for (const std::uint64_t epoch : {last + 1, std::uint64_t{1} << 60, ~std::uint64_t{0}}) {
      EXPECT_EQ(id_of(start_at(epoch)), "reader.epoch-too-far") << epoch;
      Reader reader(source, o);
      EXPECT_EQ(id_of([&] { reader.begin_epoch(epoch); }), "reader.epoch-too-far");
      EXPECT_EQ(id_of([&] { reader.num_minibatches(epoch); }), "reader.epoch-too-far");
    }
    ReaderOptions there = o;
    there.start_epoch = last;
    Reader reader(source, there);
    Minibatch batch;
    while (reader.next(batch)) {
    }
    EXPECT_EQ(id_of([&] { reader.begin_epoch(last + 1); }), "reader.epoch-too-far") << "behind the last one";
  }
}

TEST(ReaderMemory, NeverHoldsMoreChunksThanWindowAndReadAhead) {
  const std::vector<std::vector<std::uint32_t>> corpus(64, std::vector<std::uint32_t>(64, 4));
  const auto source = std::make_shared<MemorySource>(corpus);
  Reader probe(source, reference(OrderKind::file, 64));
  Minibatch batch;
  ASSERT_TRUE(probe.read(batch));
  for (const OrderKind kind : {OrderKind::cntk, OrderKind::file}) {
    ReaderOptions o = reference(kind, 64);
    o.order.window = 4;
    Reader reader(source, o);
    std::uint64_t most = 0;
    while (reader.read(batch)) {
      most = std::max(most, reader.memory_held());
      if (batch.end_of_epoch) break;
    }
    const std::uint64_t chunk = 64 * (4 * sizeof(float) + 4 + 8 + 8) * 3;  // values and offsets, with room to grow
    EXPECT_LE(most, chunk * (o.order.window + 2 + 3 + 3)) << static_cast<int>(kind);
  }
  EXPECT_LE(source->reads.load(), 3u * 64u + 64u) << "chunks are read once a sweep, not again and again";
}

TEST(ReaderSizes, CountSequencesAndCells) {
  ReaderOptions o = reference(OrderKind::file, 3);
  o.size_unit = SizeUnit::sequences;
  Reader sequences = open(kV, o);
  EXPECT_EQ(run(sequences, 9), "[0 1 2] [3 4 5] [6 7]se");
  o.size_unit = SizeUnit::cells;
  o.minibatch_size = {6};
  Reader cells = open(kV, o);
  EXPECT_EQ(run(cells, 9), "[0 1] [2 3 4] [5] [6 7]se");
}

TEST(ReaderPolicies, LongSequencesAndTheLastMinibatch) {
  ReaderOptions o = reference(OrderKind::file, 3);
  o.long_sequence = LongSequence::skip;
  Reader skip = open(kV, o);
  EXPECT_EQ(run(skip, 9).find(" 5"), std::string::npos) << "key 5 has 4 samples";
  o.long_sequence = LongSequence::split;
  Reader split = open(kV, o);
  std::uint64_t samples = 0;
  Minibatch batch;
  while (split.read(batch)) {
    samples += batch.num_samples;
    if (batch.end_of_epoch) break;
  }
  EXPECT_EQ(samples, 16u);
  o.long_sequence = LongSequence::error;
  Reader error = open(kV, o);
  EXPECT_THROW(run(error, 9), Error);
  // A table may say anything: a plan takes no memory in proportion to it.
  o.long_sequence = LongSequence::split;
  o.minibatch_size = {1};
  EXPECT_EQ(open({{(1u << 21) - 1}}, o).next()->num_samples, (1u << 21) - 1);
  EXPECT_EQ(testing::fault_of([&] { open({{1u << 21}}, o).next(); }).id, "reader.many-parts");
  o = reference(OrderKind::file, 5);
  o.last_minibatch = LastMinibatch::drop;
  Reader drop = open(kA, o);
  EXPECT_EQ(run(drop, 9), "[0 1 2 3 4] [5 6 7 8 9] []se");
}

// As a source of sequences with one label each.
class Labelled final : public SharedSource {
 public:
  explicit Labelled(std::shared_ptr<const Source> source) : SharedSource(std::move(source)) {
    streams_ = SharedSource::streams();
    streams_.push_back({.name = "label", .dim = 1});
  }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  void read(std::uint32_t chunk, Chunk& out) const override {
    SharedSource::read(chunk, out);
    Column label;
    label.reset(streams_[1]);
    for (std::uint32_t row = 0; row < out.columns[0].begin.size(); ++row) {
      label.begin.push_back(row);
      label.first_sample.push_back(row + 1);
    }
    label.values.resize(label.begin.size() * sizeof(float));
    out.columns.push_back(std::move(label));
  }

 private:
  std::vector<StreamInfo> streams_;
};

TEST(ReaderPolicies, AMinibatchOfSkippedSequencesAloneIsFollowedByOneOfItsOwnSize) {
  const std::vector<std::vector<std::uint32_t>> corpus = {{10, 10, 3, 3, 3, 3, 20, 3, 3, 3, 3, 3, 3}};
  for (const SizeUnit unit : {SizeUnit::samples, SizeUnit::cells}) {
    for (const Shard shard : {Shard::even, Shard::chunk}) {
      ReaderOptions o = reference(OrderKind::file, 0);
      o.driver = Driver::timeline;
      o.epoch_sweeps = 1;
      o.minibatch_size = {6, 30};
      o.size_unit = unit;
      o.long_sequence = LongSequence::skip;
      o.shard = shard;
      Reader reader = open(corpus, o);
      // The second may hold 30: sequence 6 has 20 samples.
      EXPECT_EQ(run(reader, 9),
                unit == SizeUnit::samples ? "[2 3] [4 5 6 7] [8 9 10 11 12]se" : "[2 3] [4 5] [6] [7 8 9 10 11 12]se")
          << name(unit) << ' ' << name(shard);
      EXPECT_EQ(reader.skipped(), 2u);
    }
  }
}

// Three of three samples do not fit into eight; where minibatches cross sweeps the last of the run alone is not full.
TEST(ReaderPolicies, DroppedIsTheLastMinibatchOfARunWhereThoseBetweenCrossSweeps) {
  ReaderOptions o = reference(OrderKind::file, 8);
  o.driver = Driver::timeline;
  o.epoch_sweeps = 3;
  o.last_minibatch = LastMinibatch::drop;
  Reader reader = open({{3, 3, 3, 3, 3}}, o);
  EXPECT_EQ(run(reader, 99), "[0 1] [2 3] [4 0]s [1 2] [3 4]s [0 1] [2 3]");
  EXPECT_EQ(reader.skipped(), 1u);
  o.cross_sweeps = false;
  Reader apart = open({{3, 3, 3, 3, 3}}, o);
  EXPECT_EQ(run(apart, 99), "[0 1] [2 3] []s [0 1] [2 3] []s [0 1] [2 3]");
  EXPECT_EQ(apart.skipped(), 3u);
}

TEST(ReaderPolicies, OnlySequencesWithStreamsOfEqualLengthAreSplit) {
  ReaderOptions o = reference(OrderKind::file, 2);
  o.long_sequence = LongSequence::split;
  const auto refused = [&] {
    try {
      Reader reader(std::make_shared<Labelled>(std::make_shared<MemorySource>(kV)), o);
      run(reader, 9);
    } catch (const Error& error) {
      return error.fault().id + " at '" + error.fault().stream + "'";
    }
    return std::string("none");
  };
  EXPECT_EQ(refused(), "reader.split-lengths at 'label'");
  o.long_sequence = LongSequence::alone;
  EXPECT_EQ(refused(), "none");
}

// As of text with damaged samples that are tolerated, or of a binary file whose table says too much or too little.
class OtherLengths final : public Source {
 public:
  OtherLengths(const std::vector<std::vector<std::uint32_t>>& said, const std::vector<std::vector<std::uint32_t>>& are)
      : said_(said), are_(are) {}
  const std::vector<StreamInfo>& streams() const override { return said_.streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return said_.chunks(); }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { said_.sequences(chunk, out); }
  void read(std::uint32_t chunk, Chunk& out) const override { are_.read(chunk, out); }

 private:
  MemorySource said_, are_;
};

TEST(ReaderPolicies, PartsHaveTheSamplesThatAreThere) {
  const auto lengths = [](const std::vector<std::vector<std::uint32_t>>& said,
                          const std::vector<std::vector<std::uint32_t>>& are, std::uint64_t size) {
    ReaderOptions o = reference(OrderKind::file, size);
    o.long_sequence = LongSequence::split;
    Reader reader(std::make_shared<OtherLengths>(said, are), o);
    std::map<std::uint64_t, std::vector<float>> values;  // by key
    Minibatch batch;
    while (reader.next(batch)) {
      const StreamBatch& s = batch.streams[0];
      EXPECT_EQ(batch.keys.size(), batch.num_sequences);
      EXPECT_EQ(batch.num_samples, s.samples());
      for (std::size_t i = 0; i < batch.keys.size(); ++i) {
        std::vector<float>& of_key = values[batch.keys[i]];
        of_key.insert(of_key.end(), s.as<float>() + s.offsets[i], s.as<float>() + s.offsets[i + 1]);
      }
    }
    return values;
  };
  using Values = std::map<std::uint64_t, std::vector<float>>;
  const auto of = [](std::uint64_t key, std::uint32_t n) {
    std::vector<float> out;
    for (std::uint32_t i = 0; i < n; ++i) out.push_back(static_cast<float>(100 * key + i));
    return out;
  };
  EXPECT_EQ(lengths({{5, 4}}, {{5, 4}}, 2), (Values{{0, of(0, 5)}, {1, of(1, 4)}}));
  EXPECT_EQ(lengths({{5, 4}}, {{3, 1}}, 2), (Values{{0, of(0, 3)}, {1, of(1, 1)}}));
  EXPECT_EQ(lengths({{400'000, 4}}, {{2, 4}}, 1000), (Values{{0, of(0, 2)}, {1, of(1, 4)}}));
  EXPECT_EQ(lengths({{5, 4}}, {{9, 7}}, 2), (Values{{0, of(0, 9)}, {1, of(1, 7)}}));
}

TEST(ReaderRefuses, WhatMakesNoSenseByTheNameOfTheRule) {
  const ReaderOptions good = reference(OrderKind::file, 4);
  EXPECT_EQ(refusal(kV, good), "");
  const auto with = [&](auto&& change) {
    ReaderOptions o = good;
    change(o);
    return refusal(kV, o);
  };
  EXPECT_EQ(with([](ReaderOptions& o) { o.workers = 0; }), "reader.workers");
  EXPECT_EQ(with([](ReaderOptions& o) { o.rank = 1; }), "reader.rank");
  EXPECT_EQ(with([](ReaderOptions& o) { o.minibatch_size = {4, 0}; }), "reader.minibatch-size");
  EXPECT_EQ(with([](ReaderOptions& o) { o.epoch_samples = o.epoch_sweeps = 3; }), "reader.epoch-size");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.last_minibatch = LastMinibatch::cross;
              o.cross_sweeps = false;
            }),
            "reader.last-minibatch");
  EXPECT_EQ(with([](ReaderOptions& o) { o.prefetch_depth = 0; }), "reader.prefetch-depth");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.pack = {Packing::truncated, 2, 0};
              o.long_sequence = LongSequence::skip;
            }),
            "reader.long-sequence");
  for (void (*const other)(ReaderOptions&) :
       {+[](ReaderOptions& o) { o.pack.kind = Packing::frames; }, +[](ReaderOptions& o) { o.bucket_minibatches = 2; },
        +[](ReaderOptions& o) { o.long_sequence = LongSequence::skip; }}) {
    EXPECT_EQ(with([&](ReaderOptions& o) {
                o.one_sequence = true;
                other(o);
              }),
              "reader.one-sequence");
  }
  EXPECT_EQ(with([](ReaderOptions& o) { o.pack.kind = Packing::truncated; }), "reader.truncation-length");
  EXPECT_EQ(with([](ReaderOptions& o) { o.pack = {Packing::truncated, 2, 2}; }), "reader.right-splice");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.pack = {Packing::truncated, 2, 0};
              o.size_unit = SizeUnit::cells;
            }),
            "reader.size-unit");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.pack = {Packing::truncated, 4, 0};
              o.workers = 2;
            }),
            "reader.more-workers-than-rows");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.minibatch_size = {3};
              o.long_sequence = LongSequence::error;
            }),
            "reader.long-sequence");
  EXPECT_EQ(with([](ReaderOptions& o) { o.memory_limit = 16; }), "limit.memory");
  // Lengths are counted in 32 bits later on.
  for (const std::uint64_t length :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 2, ~std::uint64_t{0}}) {
    EXPECT_EQ(with([&](ReaderOptions& o) { o.pack = {Packing::truncated, length, 0}; }), "limit.gaps") << length;
    EXPECT_EQ(with([&](ReaderOptions& o) {
                o.pack = {Packing::truncated, 2, 0};
                o.minibatch_size = {2, length};
              }),
              "limit.gaps")
        << length;
  }
  EXPECT_EQ(refusal({}, good), "reader.no-samples");
  const auto of = [&](std::vector<std::shared_ptr<const Source>> corpora) {
    return id_of([&] { const Reader reader(std::move(corpora), good); });
  };
  EXPECT_EQ(of({}), "reader.no-corpus");
  EXPECT_EQ(of({nullptr}), "reader.no-corpus");
}

// 16 samples: 16 places for each of them, and those that the limit grants.
TEST(ReaderRefuses, RowsThatWouldBeGapsForTheMostPart) {
  Limits limits;
  limits.implied_samples = 100;
  const auto read = [&](std::uint64_t length, std::uint64_t size) {
    ReaderOptions o = reference(OrderKind::file, 4);
    o.pack = {Packing::truncated, length, 0};
    o.minibatch_size = {size};
    Reader reader(std::make_shared<MemorySource>(kV), o, limits);
    Minibatch batch;
    EXPECT_TRUE(reader.read(batch));
    return batch.num_samples;
  };
  EXPECT_EQ(read(100 + 16 * 16, 4), 16u);
  EXPECT_EQ(read(2, 100 + 16 * 16), 10u);  // two of each sequence at most
  for (const auto& [length, size] :
       {std::pair<std::uint64_t, std::uint64_t>{100 + 16 * 16 + 1, 4}, {2, 100 + 16 * 16 + 1}}) {
    try {
      read(length, size);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().id, "limit.gaps");
      EXPECT_EQ(error.fault().kind, FaultKind::limit);
    }
  }
}

TEST(ReaderRefuses, ASizeThatWouldBeGapsAndGoesOnAsIfNobodyHadAsked) {
  Limits limits;
  limits.implied_samples = 100;
  ReaderOptions o = reference(OrderKind::file, 4);
  o.pack = {Packing::truncated, 2, 0};
  const auto open = [&] { return Reader(std::make_shared<MemorySource>(kV), o, limits); };
  Reader asked = open(), other = open();
  Minibatch a, b;
  ASSERT_TRUE(asked.next(a) && other.next(b));
  EXPECT_EQ(id_of([&] { asked.set_minibatch_size(100 + 16 * 16 + 1); }), "limit.gaps");
  EXPECT_EQ(asked.state(), other.state());
  while (other.next(b)) {
    ASSERT_TRUE(asked.next(a));
    EXPECT_EQ(a.keys, b.keys);
  }
  EXPECT_FALSE(asked.next(a));
}

TEST(ReaderThreads, AreNoMoreThanChunks) {
  const auto source = std::make_shared<MemorySource>(kV);
  ReaderOptions o = reference(OrderKind::file, 4);
  o.prefetch = true;
  o.threads = ~0u;
  Reader reader(source, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  std::size_t threads = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++threads;
  EXPECT_LE(threads, source->chunks().size() + 8);
}

// A source whose chunks find no memory.
class TooLarge final : public SharedSource {
 public:
  TooLarge(std::shared_ptr<const Source> source, std::uint64_t bytes) : SharedSource(std::move(source)) {
    chunks_ = SharedSource::chunks();
    for (ChunkInfo& c : chunks_) c.bytes = bytes;
  }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void read(std::uint32_t, Chunk&) const override { throw std::bad_alloc(); }

 private:
  std::vector<ChunkInfo> chunks_;
};

TEST(ReaderRefuses, AChunkForWhichThereIsNoMemoryByItsSize) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 40, std::uint64_t{1} << 10}) {
    Reader reader(std::make_shared<TooLarge>(std::make_shared<MemorySource>(kV), bytes), reference(OrderKind::file, 4));
    Minibatch batch;
    if (bytes < (1u << 20)) {  // then others have the memory
      EXPECT_THROW(reader.read(batch), std::bad_alloc);
      continue;
    }
    try {
      reader.read(batch);
      FAIL() << "read";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().id, "limit.chunk-memory");
      EXPECT_NE(error.fault().what.find("1099511627776 bytes"), std::string::npos) << error.fault().what;
    }
  }
}

TEST(ReaderRefuses, DamagedSequencesBeyondTheBudget) {
  auto source = std::make_shared<MemorySource>(kV);
  source->damaged_key = 3;
  Reader strict(source, reference(OrderKind::file, 16));
  Minibatch batch;
  try {
    strict.read(batch);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "reader.too-many-invalid");
    EXPECT_NE(error.fault().hint.find("with deserializers"), std::string::npos) << "no other reader has this key";
  }
}

// Else a run without an end would look for a sound one for ever.
TEST(ReaderRefuses, DamagedSequencesAloneInARunWithoutEnd) {
  const auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>{{2}});
  source->damaged_key = 0;
  for (const std::uint64_t workers : {1u, 2u}) {
    for (const bool rows : {false, true}) {
      ReaderOptions o = rows ? truncated(4, 2) : reference(OrderKind::file, 4);
      o.driver = Driver::timeline;
      o.epoch_samples = ~0ull;
      o.max_invalid = 1'000'000;
      o.workers = workers;
      Reader reader(source, o);
      Minibatch batch;
      EXPECT_EQ(id_of([&] { reader.next(batch); }), "reader.all-damaged");
    }
  }
}

TEST(ReaderCounts, AreKnownAtOpenWithoutData) {
  const auto source = std::make_shared<MemorySource>(kV);
  ReaderOptions o = reference(OrderKind::cntk, 5);
  const Reader reader(source, o);
  EXPECT_EQ(reader.num_sequences(), 8u);
  EXPECT_EQ(reader.num_samples(), 16u);
  EXPECT_EQ(reader.num_minibatches(), 4u);
  EXPECT_EQ(reader.num_minibatches(1), [&] {
    Reader second(source, o);
    second.begin_epoch(1);
    std::uint64_t n = 0;
    for (Minibatch batch; second.read(batch) && ++n != 0 && !batch.end_of_epoch;) {
    }
    return n;
  }());
  o.driver = Driver::timeline;
  o.epoch_samples = ~0ull;
  EXPECT_EQ(id_of([&] { (void)Reader(source, o).num_minibatches(); }), "reader.endless");
}

TEST(ReaderPolicies, ATimelineWithoutEndThatSkipsEverySequenceSaysSo) {
  const auto fault = [](std::uint64_t size, std::uint64_t seed, Shard shard) -> std::string {
    ReaderOptions o = reference(OrderKind::uniform, size);
    o.long_sequence = LongSequence::skip;
    o.driver = Driver::timeline;
    o.epoch_samples = ~0ull;
    o.order.seed = seed;
    o.shard = shard;
    Reader reader = open({{5, 4, 7}, {4}, {9, 4, 4, 4}}, o);
    Minibatch batch;
    try {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(reader.read(batch));
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().kind, FaultKind::limit);
      return error.fault().id;
    }
    EXPECT_GT(batch.num_samples, 0u);
    return "";
  };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const Shard shard : {Shard::chunk, Shard::even}) {
      EXPECT_EQ(fault(3, seed, shard), "reader.all-skipped");
      EXPECT_EQ(fault(4, seed, shard), "");
    }
  }
}

TEST(ReaderCounts, WhatIsLeftOutOnRequestIsCounted) {
  ReaderOptions o = reference(OrderKind::file, 3);
  o.long_sequence = LongSequence::skip;
  Reader reader = open(kV, o);
  run(reader, 9);
  EXPECT_EQ(reader.skipped(), 1u);
  reader.begin_epoch(1);
  EXPECT_EQ(reader.skipped(), 1u) << "over the run, not the epoch";
  run(reader, 9);
  EXPECT_EQ(reader.skipped(), 2u);
  const std::string state = reader.state();
  Reader again = open(kV, o);
  again.restore(state);
  EXPECT_EQ(again.skipped(), 2u);
}

}  // namespace
}  // namespace batchfeed::reader
