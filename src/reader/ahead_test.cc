// SPDX-License-Identifier: MIT
//
// Chunks are read ahead of need for every packer, and within the memory limit.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "reader/chunk_store.h"
#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

// A source that waits for what nobody does who does not read ahead; `alone` counts how often in vain.
class Waiting : public Source {
 public:
  explicit Waiting(std::size_t chunks) : inner_(std::vector<std::vector<std::uint32_t>>(chunks, {3, 4, 5, 4})) {
    inner_.delay_ms = 1;  // else nobody is woken to read ahead
  }

  const std::vector<StreamInfo>& streams() const override { return inner_.streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return inner_.chunks(); }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { inner_.sequences(chunk, out); }

  mutable int alone = 0;

 protected:
  bool is_last(std::uint32_t chunk) const { return chunk + 1 == inner_.chunks().size(); }
  // Reading of a chunk, and so of those before it, has begun.
  void begin(std::uint32_t chunk) const {
    const std::lock_guard lock(mutex_);
    begun_ = std::max(begun_, chunk + 1);
    changed_.notify_all();
  }
  void wait_for_begin(std::uint32_t chunk) const {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return begun_ > chunk; })) ++alone;
  }

  MemorySource inner_;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::uint32_t begun_ = 0;
};

// Reading a chunk ends only when reading the next one has begun: without reading
// ahead on a second thread that never happens.
class Leaning final : public Waiting {
 public:
  using Waiting::Waiting;
  void read(std::uint32_t chunk, Chunk& out) const override {
    begin(chunk);
    if (!is_last(chunk)) wait_for_begin(chunk + 1);
    inner_.read(chunk, out);
  }
};

TEST(ReaderAhead, ReadsTheNextChunkWhileOneIsBeingReadForEveryPacker) {
  std::vector<ReaderOptions> kinds(4, reference(OrderKind::file, 8));
  kinds[1].pack = {Packing::truncated, 4, 0};
  kinds[2].legacy_speech = true;
  kinds[2].rows_per_epoch = {2};
  kinds[3] = kinds[2];
  kinds[3].pack.kind = Packing::truncated;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const auto source = std::make_shared<Leaning>(6);
    Reader reader(source, kinds[k]);
    std::uint64_t samples = 0;
    Minibatch batch;
    do {
      ASSERT_TRUE(reader.read(batch));
      samples += batch.num_samples;
    } while (!batch.end_of_epoch);
    EXPECT_EQ(samples, 6u * 16u) << k;
    EXPECT_EQ(source->alone, 0) << "kind " << k << " waited for a chunk that nobody had asked for";
  }
}

// Tells the table of its last chunk only when reading one has begun: while an order is drawn, for which
// the tables of all chunks are needed, nothing but reading ahead of it does that.
class Coy final : public Waiting {
 public:
  using Waiting::Waiting;
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    if (is_last(chunk)) wait_for_begin(0);
    inner_.sequences(chunk, out);
  }
  void read(std::uint32_t chunk, Chunk& out) const override {
    begin(chunk);
    inner_.read(chunk, out);
  }
};

TEST(ReaderAhead, ReadsTheFirstChunksWhileTheOrderIsDrawn) {
  for (const OrderKind kind : {OrderKind::cntk, OrderKind::uniform}) {
    const auto source = std::make_shared<Coy>(6);
    ReaderOptions options = reference(kind, 8);
    options.order.window = 6;
    options.threads = 2;
    Reader reader(source, options);
    Minibatch batch;
    std::uint64_t samples = 0;
    do {
      ASSERT_TRUE(reader.read(batch));
      samples += batch.num_samples;
    } while (!batch.end_of_epoch);
    EXPECT_EQ(samples, 6u * 16u);
    EXPECT_EQ(source->alone, 0) << "the order was drawn before anything was read";
  }
}

// What a chunk takes in memory, found by holding exactly one.
std::uint64_t memory_of_chunk(const std::shared_ptr<const Source>& source) {
  ChunkStore store(*source, {.frames = false, .threads = 0, .spares = 1, .memory_limit = 0});
  static_cast<void>(store.get(0));
  return store.memory();
}

// Got and dropped; what the store holds then.
std::uint64_t hold_and_drop(ChunkStore& store, std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = first; id < last; ++id) {
    static_cast<void>(store.get(id));
    ids.push_back(id);
  }
  store.drop(ids, [](std::uint32_t) { return true; });
  EXPECT_TRUE(ids.empty());
  return store.memory();
}

TEST(ReaderMemory, OfTinyChunksIsUsedAgain) {
  const auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(9000, {3}));
  ChunkStore store(*source, {.threads = 0, .spares = 1});
  const std::uint64_t few = hold_and_drop(store, 0, 300);
  EXPECT_GE(few, 300 * memory_of_chunk(source)) << "the memory of each is kept";
  EXPECT_EQ(hold_and_drop(store, 300, 600), few);
  EXPECT_EQ(store.peak(), few);
  EXPECT_LE(hold_and_drop(store, 600, 9000), 1u << 20) << "but not of any number";
}

TEST(ReaderMemory, OfAChunkThatMayNotGoStays) {
  const auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(3, {3}));
  ChunkStore store(*source, {.threads = 0});
  const Chunk& first = store.get(0).chunk;
  static_cast<void>(store.get(2));
  std::vector<std::uint32_t> ids = {2, 1, 0};
  store.drop(ids, [](std::uint32_t id) { return id != 0; });
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(store.id_of(first), 0u);
  store.list(ids);
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{0}));
}

TEST(ReaderMemory, TheHighWaterMarkStaysBelowTheLimit) {
  EXPECT_TRUE(rc::check([](std::uint8_t raw_chunks, std::uint8_t raw_window, std::uint8_t raw_room, std::uint8_t mix) {
    const std::size_t chunks = 4 + raw_chunks % 30;
    const std::uint64_t window = 1 + raw_window % 6;
    const auto source = std::make_shared<MemorySource>(
        std::vector<std::vector<std::uint32_t>>(chunks, std::vector<std::uint32_t>(40, 3)));
    const std::uint64_t chunk = memory_of_chunk(source);
    ReaderOptions o = reference(mix % 2 == 0 ? OrderKind::uniform : OrderKind::cntk, 50);
    o.order.window = window;
    o.pack = {mix % 3 == 0 ? Packing::truncated : Packing::sequences, mix % 3 == 0 ? 5u : 0u, 0};
    o.threads = 3;
    // The window, and for a minibatch that spans two places in the order the chunk that enters; room for some ahead.
    o.memory_limit = chunk * (2 * window + 2 + raw_room % 4) + 100;
    Reader reader(source, o);
    Minibatch batch;
    std::uint64_t samples = 0;
    for (int epoch = 0; epoch < 2; ++epoch) {
      do {
        RC_ASSERT(reader.read(batch));
        samples += batch.num_samples;
      } while (!batch.end_of_epoch);
    }
    RC_ASSERT(samples == 2 * reader.num_samples());
    RC_ASSERT(reader.memory_peak() > 0);
    RC_ASSERT(reader.memory_peak() <= o.memory_limit);
  }));
}

TEST(ReaderMemory, ALimitBelowTheWindowFailsAtTheSamePlaceWithAnyThreads) {
  const auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(12, std::vector<std::uint32_t>(20, 2)));
  std::vector<std::size_t> good;
  for (const unsigned threads : {1u, 2u, 5u}) {
    for (const bool prefetch : {true, false}) {
      ReaderOptions o = reference(OrderKind::uniform, 10);
      o.order.window = 8;
      o.threads = threads;
      o.prefetch = prefetch;
      o.memory_limit = 4 * memory_of_chunk(source);
      Reader reader(source, o);
      Minibatch batch;
      std::size_t n = 0;
      EXPECT_EQ(id_of([&] {
                  while (reader.read(batch) && !batch.end_of_epoch) ++n;
                }),
                "limit.memory");
      good.push_back(n);
    }
  }
  EXPECT_EQ(std::count(good.begin(), good.end(), good[0]), 6) << "the fault has one place";
}

// Whether two epochs can be read within the limit, each from its beginning; the second after `leap` answers of the
// first.
bool fits(const std::shared_ptr<const Source>& source, const ReaderOptions& o, std::size_t leap) {
  Reader reader(source, o);
  Minibatch batch;
  try {
    for (std::size_t i = 0; i < leap && reader.read(batch) && !batch.end_of_epoch; ++i) {
    }
    reader.begin_epoch(1);
    while (reader.read(batch) && !batch.end_of_epoch) {
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "limit.memory");
    return false;
  }
  EXPECT_LE(reader.memory_peak(), o.memory_limit);
  return true;
}

TEST(ReaderMemory, WhatWasHeldBeforeALeapDoesNotCountBehindIt) {
  const auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(24, std::vector<std::uint32_t>(20, 2)));
  for (const bool prefetch : {true, false}) {
    ReaderOptions o = reference(OrderKind::uniform, 10);
    o.order.window = 3;
    o.threads = 2;
    o.prefetch = prefetch;
    const std::uint64_t chunk = memory_of_chunk(source);
    o.memory_limit = 3 * chunk;
    while (!fits(source, o, 0)) o.memory_limit += chunk / 4;
    ASSERT_LT(o.memory_limit, 12 * chunk);
    for (std::size_t leap = 1; leap < 40; ++leap) EXPECT_TRUE(fits(source, o, leap)) << leap;
  }
}

TEST(ReaderMemory, LiveChunksStayWithinWindowAndReadAhead) {
  EXPECT_TRUE(rc::check([](std::uint8_t raw_window, std::uint8_t seed, bool uniform) {
    const std::uint64_t window = 1 + raw_window % 9;
    const auto source =
        std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(40, std::vector<std::uint32_t>(30, 1)));
    ReaderOptions o = reference(uniform ? OrderKind::uniform : OrderKind::cntk, 7);
    o.order.window = window;
    o.order.seed = seed;
    o.threads = 2;
    Reader reader(source, o);
    Minibatch batch;
    do {
      RC_ASSERT(reader.read(batch));
    } while (!batch.end_of_epoch);
    // Window and its successor, read-ahead, spares.
    RC_ASSERT(reader.memory_peak() <= memory_of_chunk(source) * 3 / 2 * (2 * window + 2 * (o.threads + 1) + 2));
  }));
}

TEST(ReaderEach, SequenceComesOnceASweepWhateverTheOptions) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw, std::uint8_t seed, std::uint8_t mix) {
    RC_PRE(raw.size() >= 6);
    std::vector<std::vector<std::uint32_t>> corpus;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (i % 5 == 0) corpus.emplace_back();
      corpus.back().push_back(1u + raw[i] % 7u);
    }
    const auto source = std::make_shared<MemorySource>(corpus);
    ReaderOptions o = reference(static_cast<OrderKind>(seed % 3), 1 + seed % 11);
    o.order.seed = seed;
    o.order.window = 1 + mix % 4;
    o.shard = mix % 2 == 0 ? Shard::even : Shard::chunk;
    o.size_unit = static_cast<SizeUnit>(mix % 3);
    o.workers = 1 + mix % 3;
    if (o.shard == Shard::even && o.order.kind != OrderKind::file) o.bucket_minibatches = mix % 5;
    std::vector<std::uint64_t> keys;
    for (o.rank = 0; o.rank < o.workers; ++o.rank) {
      Reader reader(source, o);
      Minibatch batch;
      do {
        RC_ASSERT(reader.read(batch));
        keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
      } while (!batch.end_of_epoch);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::uint64_t> want(raw.size());
    for (std::size_t i = 0; i < want.size(); ++i) want[i] = i;
    RC_ASSERT(keys == want);
  }));
}

// Waking a thread takes longer than reading a few of them: here so long that no machine reads them more slowly. Threads
// that begin to run only now do not sleep yet.
TEST(ReaderAhead, TinyChunksAreLeftToWhoeverNeedsThem) {
  constexpr std::uint32_t kChunks = 400;
  const MemorySource source(std::vector<std::vector<std::uint32_t>>(kChunks, {1}));
  ChunkStore store(source, {.threads = 2, .waking_a_thread = std::chrono::hours(1)});
  int left = 0;
  for (std::uint32_t id = 0; id + 1 < kChunks && left < 3; ++id) {
    static_cast<void>(store.get(id));
    const std::uint64_t reads = source.reads;
    store.want(id + 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    left += source.reads == reads ? 1 : 0;
  }
  EXPECT_EQ(left, 3);
}

TEST(ReaderAhead, ManyTinyChunksAndSlowOnesAreReadAhead) {
  for (const bool slow : {false, true}) {
    MemorySource source(std::vector<std::vector<std::uint32_t>>(2'000, {1}));
    source.delay_ms = slow ? 1 : 0;
    ChunkStore store(source, {.threads = 2});
    static_cast<void>(store.get(0));
    const std::uint32_t wanted = slow ? 1 : 1'999;
    for (std::uint32_t id = 1; id <= wanted; ++id) store.want(id);
    for (int ms = 0; ms < 20'000 && source.reads <= wanted; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(source.reads.load(), wanted + 1) << slow;
  }
}

// As where a file is not in the page cache from some place on.
TEST(ReaderAhead, TinyChunksThatTurnOutSlowAreReadAhead) {
  MemorySource source(std::vector<std::vector<std::uint32_t>>(5, {1}));
  ChunkStore store(source, {.threads = 2});
  static_cast<void>(store.get(0));
  source.delay_ms = 2;
  for (std::uint32_t id = 1; id < 5; ++id) store.want(id);
  static_cast<void>(store.get(1));
  for (int ms = 0; ms < 20'000 && source.reads < 5; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(source.reads.load(), 5u);
}

// What is under way while the user begins anew may fail for a reason that is gone by then.
TEST(ReaderAhead, AReadOfBeforeThatFailsIsTriedAgain) {
  MemorySource source(std::vector<std::vector<std::uint32_t>>{{1}, {1}});
  source.delay_ms = 100;
  source.bad_chunk = 1;
  ChunkStore store(source, {.threads = 1});
  store.want(1);
  while (source.reads == 0) std::this_thread::yield();
  store.give_back();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(store.keeps_up());
  source.bad_chunk.reset();
  EXPECT_EQ(store.get(1).keys.size(), 1u);
  EXPECT_EQ(source.reads.load(), 2u);
}

}  // namespace
}  // namespace batchfeed::reader
