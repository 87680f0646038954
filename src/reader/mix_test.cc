// SPDX-License-Identifier: MIT
//
// Bucketing by length and mixtures, as a reader gives them.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "base/rng.h"
#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

std::vector<std::vector<std::uint32_t>> varied(std::size_t chunks, std::size_t sequences, std::uint32_t longest,
                                               std::uint64_t seed = 1) {
  CounterRng rng(seed);
  std::vector<std::vector<std::uint32_t>> out(chunks);
  for (auto& chunk : out) {
    for (std::size_t i = 0; i < sequences; ++i) chunk.push_back(1 + static_cast<std::uint32_t>(rng.below(longest)));
  }
  return out;
}

ReaderOptions bucketed(std::uint64_t minibatch, SizeUnit unit = SizeUnit::samples) {
  ReaderOptions o;
  o.order = {.kind = OrderKind::uniform, .window = 3, .window_in_samples = false, .seed = 5};
  o.minibatch_size = {minibatch};
  o.size_unit = unit;
  o.bucket_minibatches = 4;
  o.threads = 1;
  return o;
}

TEST(ReaderBucket, SavesPaddingAndSaysHowMuch) {
  const auto corpus = varied(20, 60, 40);
  for (const SizeUnit unit : {SizeUnit::samples, SizeUnit::sequences, SizeUnit::cells}) {
    ReaderOptions o = bucketed(unit == SizeUnit::sequences ? 16 : 400, unit);
    o.bucket_minibatches = 16;
    Reader reader = open(corpus, o);
    std::uint64_t cells = 0, samples = 0;
    std::vector<std::uint64_t> keys;
    while (auto batch = reader.next()) {
      const PaddedView padded = (*batch)["x"].padded();
      cells += padded.sequences * padded.steps;
      samples += batch->num_samples;
      if (unit == SizeUnit::cells) {
        EXPECT_LE(padded.sequences * padded.steps, 400u);
      }
      if (unit == SizeUnit::sequences) {
        EXPECT_LE(padded.sequences, 16u);
      }
      keys.insert(keys.end(), batch->keys.begin(), batch->keys.end());
    }
    std::sort(keys.begin(), keys.end());
    EXPECT_TRUE(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
    EXPECT_EQ(keys.size(), reader.num_sequences()) << "every sequence once";
    const Padding padding = reader.padding();
    EXPECT_EQ(padding.samples, samples);
    EXPECT_EQ(padding.cells, cells);
    EXPECT_GT(padding.saved(), 0.7) << static_cast<int>(unit);
    o.bucket_minibatches = 0;
    Reader plain = open(corpus, o);
    while (plain.next()) {
    }
    EXPECT_EQ(plain.padding(), Padding{});
  }
}

TEST(ReaderBucket, RefusesByNameWhatItCannotDo) {
  const ReaderOptions good = bucketed(10);
  EXPECT_EQ(refusal(kV, good), "");
  const auto with = [&](auto&& change) {
    ReaderOptions o = good;
    change(o);
    return refusal(kV, o);
  };
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.shard = Shard::chunk;
              o.workers = 2;
            }),
            "reader.one-line");
  EXPECT_EQ(with([](ReaderOptions& o) { o.shard = Shard::chunk; }), "") << "one worker may";
  EXPECT_EQ(with([](ReaderOptions& o) { o.pack.kind = Packing::frames; }), "reader.bucket-packing");
  EXPECT_EQ(with([](ReaderOptions& o) { o.pack = {Packing::truncated, 2, 0}; }), "reader.bucket-packing");
  EXPECT_EQ(with([](ReaderOptions& o) { o.cross_sweeps = true; }), "reader.bucket-crossing");
  EXPECT_EQ(with([](ReaderOptions& o) { o.last_minibatch = LastMinibatch::cross; }), "reader.bucket-crossing");
  EXPECT_EQ(with([](ReaderOptions& o) { o.minibatch_size = {10, 20}; }), "reader.bucket-sizes");
  EXPECT_EQ(with([](ReaderOptions& o) { o.minibatch_size = {10, 10}; }), "");
  Reader reader = open(kV, good);
  EXPECT_NO_THROW(reader.set_minibatch_size(10));
  EXPECT_THROW(reader.set_minibatch_size(11), Error);
}

// Two corpora whose keys tell them apart.
struct Two {
  std::shared_ptr<MemorySource> first = std::make_shared<MemorySource>(varied(6, 50, 5, 1));
  std::shared_ptr<MemorySource> second = std::make_shared<MemorySource>(varied(3, 40, 9, 2), false, "x", 10'000);

  Reader open(const ReaderOptions& options) const {
    return Reader(std::vector<std::shared_ptr<const Source>>{first, second}, options);
  }
};

ReaderOptions mixed() {
  ReaderOptions o;
  o.order = {.kind = OrderKind::uniform, .window = 2, .window_in_samples = false, .seed = 5};
  o.minibatch_size = {64};
  o.mix_weights = {3, 1};
  o.driver = ReaderOptions::Driver::timeline;
  o.epoch_samples = 200'000;
  o.threads = 1;
  return o;
}

TEST(ReaderMix, GivesEachCorpusItsShare) {
  const Two two;
  Reader reader = two.open(mixed());
  EXPECT_EQ(reader.num_sequences(), 6u * 50 + 3u * 40);
  std::map<bool, std::uint64_t> samples;
  Minibatch batch;
  while (reader.read(batch)) {
    EXPECT_FALSE(batch.end_of_sweep);
    const StreamBatch& x = batch["x"];
    for (std::size_t i = 0; i < batch.keys.size(); ++i) {
      samples[batch.keys[i] >= 10'000] += static_cast<std::uint64_t>(x.offsets[i + 1] - x.offsets[i]);
      EXPECT_EQ(x.as<float>()[x.offsets[i]], static_cast<float>(100 * batch.keys[i])) << "the data of its key";
    }
  }
  EXPECT_NEAR(static_cast<double>(samples[false]), 150'000, 300);
  EXPECT_NEAR(static_cast<double>(samples[true]), 50'000, 300);
  for (const BatchPlan& plan : two.open(mixed()).plan(5)) {
    for (const BatchPlan::Item& item : plan.items) EXPECT_EQ(item.corpus, item.key >= 10'000 ? 1u : 0u);
  }
}

TEST(ReaderMix, AnEpochHasAsManySamplesAsTheCorporaTogether) {
  const Two two;
  ReaderOptions o = mixed();
  o.epoch_samples = 0;
  o.driver = ReaderOptions::Driver::epochs;
  Reader reader = two.open(o);
  std::uint64_t samples = 0;
  while (auto batch = reader.next()) samples += batch->num_samples;
  EXPECT_NEAR(static_cast<double>(samples), static_cast<double>(reader.num_samples()), 9);
}

// There is no end of a sweep at which a pool of so many minibatches would end.
TEST(ReaderMix, PoolsHoldNoMoreThanAllCorporaOrAnEpoch) {
  const Two two;
  ReaderOptions o = mixed();
  o.epoch_samples = 0;
  o.driver = ReaderOptions::Driver::epochs;
  const auto read = [&](std::uint64_t minibatches, std::uint64_t size) {
    o.bucket_minibatches = minibatches;
    o.minibatch_size = {size};
    Reader reader = two.open(o);
    std::uint64_t samples = 0;
    while (auto batch = reader.next()) samples += batch->num_samples;
    EXPECT_NEAR(static_cast<double>(samples), static_cast<double>(reader.num_samples()), 9);
  };
  read(1'000'000'000, 64);
  read(~0ull, 64);
  read(1, ~0ull);
}

TEST(ReaderMix, RefusesByNameWhatItCannotDo) {
  const Two two;
  const auto with = [&](auto&& change) -> std::string {
    ReaderOptions o = mixed();
    change(o);
    return id_of([&] { const Reader reader = two.open(o); });
  };
  EXPECT_EQ(with([](ReaderOptions&) {}), "");
  EXPECT_EQ(with([](ReaderOptions& o) { o.mix_weights = {}; }), "reader.mix-weights");
  EXPECT_EQ(with([](ReaderOptions& o) { o.mix_weights = {1, 2, 3}; }), "reader.mix-weights");
  EXPECT_EQ(with([](ReaderOptions& o) { o.mix_weights = {1, -1}; }), "order.mix-weight");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.epoch_samples = 0;
              o.epoch_sweeps = 2;
            }),
            "reader.mix-sweeps");
  EXPECT_EQ(with([](ReaderOptions& o) { o.cross_sweeps = false; }), "reader.mix-crossing");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.shard = Shard::chunk;
              o.workers = 2;
            }),
            "reader.one-line");
  EXPECT_EQ(with([](ReaderOptions& o) { o.legacy_speech = true; }), "reader.one-line");
  const auto other = std::make_shared<MemorySource>(kA, false, "y");
  try {
    const Reader reader(std::vector<std::shared_ptr<const Source>>{two.first, other}, mixed());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "join.shards-differ");
    EXPECT_EQ(error.fault().what,
              "corpus 2 of the mixture has other streams than the first: 'y' (dense 1), not 'x' (dense 1)");
  }
}

// How long it takes to know that depends on the weights; nobody has to wait for it.
TEST(ReaderMix, WhereAllIsTooLongTheRunEndsAndCanBeLeft) {
  using std::chrono::steady_clock, std::chrono::milliseconds;
  const std::vector<std::vector<std::uint32_t>> corpus(20, std::vector<std::uint32_t>(1000, 5));
  const auto source = std::make_shared<MemorySource>(corpus);
  ReaderOptions o = mixed();
  o.epoch_samples = ~0ull;
  o.minibatch_size = {4};
  o.long_sequence = LongSequence::skip;
  o.mix_weights = {1, 1e-4};
  Minibatch batch;
  steady_clock::time_point begin;
  {
    Reader reader(std::vector<std::shared_ptr<const Source>>{source, source}, o);
    EXPECT_FALSE(reader.wait(milliseconds(20), batch));
    begin = steady_clock::now();
  }
  EXPECT_LT(steady_clock::now() - begin, milliseconds(10'000)) << "the end of the search was waited for";
  o.mix_weights = {1, 1};
  const auto small = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>{{5, 6, 7}});
  Reader reader(std::vector<std::shared_ptr<const Source>>{small, small}, o);
  EXPECT_EQ(id_of([&] { reader.next(batch); }), "reader.all-skipped");
}

// Wherever a run is left, a state goes on; the union over ranks is the run of one worker.
TEST(ReaderMix, IsResumedAndSharedLikeAnyOther) {
  const Two two;
  std::vector<ReaderOptions> kinds(5, mixed());
  kinds[1].bucket_minibatches = 3;
  kinds[2].pack = {Packing::truncated, 4, 0};
  kinds[3].bucket_minibatches = 3;
  kinds[3].size_unit = SizeUnit::cells;
  kinds[4].size_unit = SizeUnit::sequences;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    Reader whole = two.open(kinds[k]);
    Minibatch batch;
    std::vector<std::vector<std::uint64_t>> want;
    for (std::size_t at = 0; at < 24; at += 3) {
      const std::string state = whole.state();
      const Padding padding = whole.padding();
      Reader again = two.open(kinds[k]);
      again.restore(state);
      EXPECT_EQ(again.padding(), padding);
      Reader copy = two.open(kinds[k]);
      copy.restore(state);
      ASSERT_EQ(tail(again, 12), tail(copy, 12)) << k;
      for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(whole.read(batch));
        want.push_back(batch.keys);
      }
      Reader three = two.open(kinds[k]);
      three.restore(state);
      for (std::size_t i = want.size() - 3; i < want.size(); ++i) {
        ASSERT_TRUE(three.read(batch));
        ASSERT_EQ(batch.keys, want[i]) << k << " after " << at;
      }
    }
    if (kinds[k].pack.kind == Packing::truncated) continue;
    for (std::size_t i = 0; i < 6; ++i) {
      std::vector<std::uint64_t> keys;
      for (std::uint64_t rank = 0; rank < 3; ++rank) {
        ReaderOptions o = kinds[k];
        o.workers = 3;
        o.rank = rank;
        Reader reader = two.open(o);
        for (std::size_t n = 0; n <= i; ++n) ASSERT_TRUE(reader.read(batch));
        keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
      }
      EXPECT_EQ(keys, want[i]);
    }
  }
}

}  // namespace
}  // namespace batchfeed::reader
