// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "reader/testing.h"
#include "support/fault_of.h"

namespace batchfeed::reader {
namespace {

TEST(ReaderShard, EvenGivesEveryRankItsPartOfTheSameMinibatches) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw, std::uint8_t seed) {
    RC_PRE(raw.size() >= 8);
    std::vector<std::vector<std::uint32_t>> corpus(1 + raw.size() / 4);
    for (std::size_t i = 0; i < raw.size(); ++i) corpus[i / 4].push_back(1u + raw[i] % 6u);
    if (corpus.back().empty()) corpus.pop_back();
    const auto source = std::make_shared<MemorySource>(corpus);
    ReaderOptions o;
    o.order = {.kind = OrderKind::uniform, .window = 3, .window_in_samples = false, .seed = seed};
    o.minibatch_size = {12};
    o.threads = 1;
    std::vector<std::vector<std::uint64_t>> want;
    {
      Reader one(source, o);
      while (auto batch = one.next()) want.push_back(batch->keys);
    }
    for (const std::uint64_t workers : {2u, 3u, 8u}) {
      std::vector<std::vector<std::uint64_t>> got(want.size());
      std::vector<std::size_t> ranks_with_data(want.size());
      for (std::uint64_t rank = 0; rank < workers; ++rank) {
        o.workers = workers;
        o.rank = rank;
        Reader reader(source, o);
        Minibatch batch;
        for (std::size_t i = 0; i < want.size(); ++i) {
          RC_ASSERT(reader.read(batch));
          got[i].insert(got[i].end(), batch.keys.begin(), batch.keys.end());
          ranks_with_data[i] += batch.keys.empty() ? 0u : 1u;
        }
      }
      RC_ASSERT(got == want);
      for (std::size_t i = 0; i < want.size(); ++i)
        RC_ASSERT(ranks_with_data[i] == std::min<std::size_t>(workers, want[i].size()));
    }
  }));
}

// Minibatches of fewer sequences than workers, without an end.
TEST(ReaderShard, AWorkerThatNeverGetsAnythingIsToldSo) {
  ReaderOptions o = reference(OrderKind::file, 4);
  o.driver = Driver::timeline;
  o.epoch_samples = ~0ull;
  o.shard = Shard::even;
  o.workers = 8;
  const auto fault = [&](std::uint64_t rank) {
    o.rank = rank;
    return testing::fault_of([&] { open({{1, 1, 1}, {1, 1, 1, 1, 1}}, o).next(); });
  };
  o.rank = 3;
  EXPECT_FALSE(open({{1, 1, 1}, {1, 1, 1, 1, 1}}, o).next()->empty());
  EXPECT_EQ(fault(7).id, "reader.no-share");
  EXPECT_EQ(fault(7).what, "no sequence for worker 7 of 8 in 10 sweeps");
}

// Ten sweeps lie between two minibatches of a reader that loads every 40th; they are those of the others.
TEST(ReaderShard, WhatOthersLoadForTheSameWorkerIsNotMissing) {
  ReaderOptions o = reference(OrderKind::file, 8);
  o.driver = Driver::timeline;
  o.epoch_sweeps = 200;
  o.shard = Shard::even;
  o.stride = 40;
  o.offset = 39;
  Reader reader = open({{1, 1, 1}, {1, 1, 1, 1, 1}}, o);
  Minibatch batch;
  std::size_t n = 0;
  while (reader.next(batch)) ++n;
  EXPECT_EQ(n, 5u);
  o.workers = 9;  // but a share may be empty for all of them
  o.rank = 8;
  o.epoch_sweeps = 1 << 20;
  EXPECT_EQ(testing::fault_of([&] { open({{1, 1, 1}, {1, 1, 1, 1, 1}}, o).next(); }).id, "reader.no-share");
}

// S9 with a change of size where the script restores: in the second sweep the share of this worker is that of the first
// again, not of numbers that go on.
TEST(ReaderShard, InFileOrderAChangeOfOptionsNumbersSequencesOfTheSweepAnew) {
  ReaderOptions o = reference(OrderKind::file, 6);
  o.workers = 2;
  o.cross_sweeps = true;
  o.driver = Driver::timeline;
  o.epoch_samples = 100;
  const auto open_one = [&](std::uint64_t rank) {
    o.rank = rank;
    return open({{1, 1, 1}, {1, 1}}, o);
  };
  for (const std::uint64_t rank : {0u, 1u}) {
    Reader reader = open_one(rank);
    EXPECT_EQ(run(reader, 2), rank == 0 ? "[0 2 4]s [1 3 0]s" : "[1 3 0]s [2 4 1]s");
    reader.set_minibatch_size(4);
    EXPECT_EQ(run(reader, 1), rank == 0 ? "[2 4]s" : "[3 0]s");
    const std::string state = reader.state();
    EXPECT_NE(state.find("\"past\":[0,0,3]"), std::string::npos) << state;
    const std::string expected = run(reader, 6);
    o.minibatch_size = {4};
    Reader later = open_one(rank);
    later.restore(state);
    EXPECT_EQ(run(later, 6), expected);
    EXPECT_EQ(later.state(), reader.state());
    o.minibatch_size = {6, 6, 4};  // a list by call says the same
    Reader list = open_one(rank);
    run(list, 3);
    EXPECT_EQ(run(list, 6), expected);
    o.minibatch_size = {6};
  }
  o.minibatch_size = {6, 4};
  Reader list = open_one(0);
  EXPECT_EQ(run(list, 4), "[0 2 4]s [0 2] [4 1]s [3 0]s");
}

TEST(ReaderShard, AStateOfFourWorkersGoesOnWithAnyNumber) {
  ReaderOptions o;
  o.order.kind = OrderKind::uniform;
  o.minibatch_size = {3};
  o.workers = 4;
  const auto source = std::make_shared<MemorySource>(kA);
  Reader four(source, o);
  Minibatch batch;
  ASSERT_TRUE(four.read(batch));
  const std::string state = four.state();
  o.workers = 1;
  Reader one(source, o);
  ASSERT_TRUE(one.read(batch));
  const std::string want = tail(one, 3);
  for (const std::uint64_t workers : {1u, 3u, 8u}) {
    std::vector<std::vector<std::uint64_t>> keys(3);
    for (std::uint64_t rank = 0; rank < workers; ++rank) {
      o.workers = workers;
      o.rank = rank;
      Reader reader(source, o);
      reader.restore(state);
      for (auto& k : keys) {
        ASSERT_TRUE(reader.read(batch));
        k.insert(k.end(), batch.keys.begin(), batch.keys.end());
      }
    }
    o.workers = 1;
    o.rank = 0;
    Reader whole(source, o);
    whole.restore(state);
    for (const auto& k : keys) {
      ASSERT_TRUE(whole.read(batch));
      EXPECT_EQ(batch.keys, k) << workers << " workers";
    }
  }
}

TEST(ReaderShard, ASmallLastMinibatchIsEvenedOutSoThatNobodyStarves) {
  const std::vector<std::vector<std::uint32_t>> corpus(1, std::vector<std::uint32_t>(65, 1));
  for (const SizeUnit unit : {SizeUnit::samples, SizeUnit::sequences}) {
    ReaderOptions o;
    o.order.kind = OrderKind::file;
    o.minibatch_size = {16};
    o.size_unit = unit;
    o.threads = 1;
    Reader one = open(corpus, o);
    std::vector<std::uint64_t> sizes;
    while (auto batch = one.next()) sizes.push_back(batch->num_samples);
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{16, 16, 16, 8, 9})) << "and not 16 and 1";
    o.workers = 8;
    for (o.rank = 0; o.rank < 8; ++o.rank) {
      Reader reader = open(corpus, o);
      for (const std::uint64_t size : sizes) {
        const auto batch = reader.next();
        ASSERT_TRUE(batch) << "rank " << o.rank;
        EXPECT_LE(batch->num_samples, size / 8 + 1);
      }
      EXPECT_FALSE(reader.next());
    }
    o.workers = 1;
    o.rank = 0;
    o.last_minibatch = LastMinibatch::drop;
    Reader drop = open(corpus, o);
    sizes.clear();
    while (auto batch = drop.next()) sizes.push_back(batch->num_samples);
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{16, 16, 16, 16}));
    EXPECT_EQ(drop.skipped(), 1u);
  }
}

TEST(ReaderShard, WhoGetsNothingAsNoMinibatchIsFullIsNotToldToMakeThemLarger) {
  ReaderOptions o = reference(OrderKind::file, 13);
  o.epoch_sweeps = 20;
  o.last_minibatch = LastMinibatch::drop;
  const Fault fault = testing::fault_of([&] { open(kA, o).next(); });
  EXPECT_EQ(fault.id, "reader.no-share");
  EXPECT_NE(fault.hint.find("use smaller"), std::string::npos) << fault.hint;
}

TEST(ReaderShard, WhereSizesCountTheSamplesOfAllWorkersAFullLastMinibatchIsNotDropped) {
  ReaderOptions o = reference(OrderKind::file, 4);
  o.last_minibatch = LastMinibatch::drop;
  o.local_timeline = false;
  o.workers = 2;
  Reader full = open(kA, o);
  EXPECT_EQ(run(full, 9), "[0 2] [4 6] [8 10]se");
  EXPECT_EQ(full.skipped(), 0u);
  o.minibatch_size = {5};
  Reader partial = open(kA, o);
  EXPECT_EQ(run(partial, 9), "[0 2 4] [6 8] []se");
  EXPECT_EQ(partial.skipped(), 1u);
}

TEST(ReaderShard, TheEndOfASweepInSkippedSequencesIsTold) {
  ReaderOptions o;
  o.order.kind = OrderKind::file;
  o.minibatch_size = {2};
  o.cross_sweeps = true;
  o.epoch_samples = 14;
  o.long_sequence = LongSequence::skip;
  Reader reader = open({{2, 2, 3}}, o);  // the last one of a sweep is too long
  std::string told;
  while (auto batch = reader.next()) told += text(*batch, false);
  EXPECT_EQ(told, "[0][1][0]s[1]");
}

TEST(ReaderShard, TellsAtOpenThatThereAreFewerChunksThanWorkersWhoShareThem) {
  const auto told = [](std::uint64_t workers, Shard shard, OrderKind order = OrderKind::cntk) {
    ReaderOptions o;
    o.order.kind = order;
    o.minibatch_size = {100};
    o.workers = workers;
    o.shard = shard;
    std::string out;
    const Reader reader(std::make_shared<MemorySource>(kV), o, {}, [&](const Notice& notice) {
      if (notice.fault.id == "reader.few-chunks") out = notice.fault.what;
    });
    return out;
  };
  const std::size_t chunks = MemorySource(kV).chunks().size();
  EXPECT_EQ(told(chunks, Shard::chunk), "");
  EXPECT_EQ(told(chunks + 1, Shard::chunk), std::to_string(chunks) + " chunks for " + std::to_string(chunks + 1) +
                                                " workers that share by chunk: some go without data");
  EXPECT_EQ(told(chunks + 1, Shard::even), "");
  EXPECT_EQ(told(chunks + 1, Shard::chunk, OrderKind::file), "") << "sequences are shared by number";
}

TEST(ReaderShard, TellsAtOpenThatMinibatchesAreTooSmallForTheWorkers) {
  const auto told = [](std::uint64_t size, std::uint64_t workers, Shard shard, SizeUnit unit) {
    ReaderOptions o;
    o.minibatch_size = {size};
    o.workers = workers;
    o.shard = shard;
    o.size_unit = unit;
    std::vector<std::string> ids;
    const Reader reader(std::make_shared<MemorySource>(kV), o, {},
                        [&](const Notice& notice) { ids.push_back(notice.fault.id); });
    EXPECT_EQ(std::count(ids.begin(), ids.end(), "reader.memory"), 1);
    return std::count(ids.begin(), ids.end(), "reader.few-sequences") == 1;
  };
  EXPECT_TRUE(told(8, 4, Shard::even, SizeUnit::samples)) << "sequences have two samples";
  EXPECT_FALSE(told(16, 4, Shard::even, SizeUnit::samples));
  EXPECT_FALSE(told(8, 4, Shard::even, SizeUnit::sequences));
  EXPECT_TRUE(told(7, 4, Shard::even, SizeUnit::sequences));
  EXPECT_FALSE(told(8, 4, Shard::chunk, SizeUnit::samples));
  EXPECT_FALSE(told(1, 1, Shard::even, SizeUnit::samples));
}

}  // namespace
}  // namespace batchfeed::reader
