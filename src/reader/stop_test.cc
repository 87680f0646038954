// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "reader/chunk_store.h"
#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

#if defined(__SANITIZE_THREAD__)
#define BATCHFEED_TEST_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define BATCHFEED_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BATCHFEED_TEST_TSAN 1
#elif __has_feature(address_sanitizer)
#define BATCHFEED_TEST_ASAN 1
#endif
#endif

#ifdef BATCHFEED_TEST_TSAN
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#ifdef BATCHFEED_TEST_ASAN
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

TEST(ReaderErrors, ArriveAtTheirPlaceAndStay) {
  auto source = std::make_shared<MemorySource>(kA);
  source->bad_chunk = 2;
  for (const bool prefetch : {true, false}) {
    ReaderOptions o = reference(OrderKind::file, 2);
    o.prefetch = prefetch;
    Reader reader(source, o);
    Minibatch batch;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.read(batch)) << i;
    EXPECT_EQ(batch.keys, (std::vector<std::uint64_t>{4, 5}));
    for (int i = 0; i < 2; ++i) EXPECT_THROW(reader.read(batch), Error);
  }
}

TEST(ReaderErrors, WhatCouldNotBeReadIsTriedAgainFromAState) {
  for (const bool prefetch : {true, false}) {
    for (const bool leap : {true, false}) {
      auto source = std::make_shared<MemorySource>(kA);
      source->bad_chunk = 3;  // the last: nothing is read any more when it has failed
      ReaderOptions o = reference(OrderKind::file, 2);
      o.prefetch = prefetch;
      Reader reader(source, o);
      Minibatch batch;
      for (int i = 0; i < 4; ++i) ASSERT_TRUE(reader.read(batch)) << i;
      EXPECT_THROW(reader.read(batch), Error);
      source->bad_chunk.reset();
      EXPECT_THROW(reader.read(batch), Error) << "the stream has ended there";
      leap ? reader.begin_epoch(1) : reader.restore(reader.state());
      std::vector<std::uint64_t> keys;
      do {
        ASSERT_TRUE(reader.read(batch));
        keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
      } while (!batch.end_of_epoch);
      EXPECT_EQ(keys.size(), leap ? 12u : 4u);
    }
  }
}

TEST(ReaderErrors, DamagedSequencesAreLeftOutUpToTheBudget) {  // X9
  auto source = std::make_shared<MemorySource>(kV);
  source->damaged_key = 3;
  ReaderOptions o = reference(OrderKind::file, 16);
  o.max_invalid = 1;
  Reader tolerant(source, o);
  Minibatch batch;
  ASSERT_TRUE(tolerant.read(batch));
  EXPECT_EQ(batch.keys, (std::vector<std::uint64_t>{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(batch.invalid, 1u);
  o.max_invalid = 0;
  Reader strict(source, o);
  EXPECT_THROW(strict.read(batch), Error);
}

TEST(ReaderErrors, AnswersOfDamagedSequencesAloneCountToo) {  // X10
  auto source = std::make_shared<MemorySource>(kV);
  source->damaged_key = 7;  // the last one
  ReaderOptions o = reference(OrderKind::file, 1);
  Minibatch batch;
  Reader reader(source, o);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(reader.read(batch));
  EXPECT_THROW(reader.read(batch), Error);
  // The reference has empty answers for as long as nothing was delivered; next() does not call that an epoch.
  source->damaged_key = 0;
  Reader as_reference(source, o);
  ASSERT_TRUE(as_reference.read(batch));
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.invalid, 1u);
  EXPECT_EQ(as_reference.invalid(), 1u);
  EXPECT_THROW(as_reference.read(batch), Error);
  o.start_epoch = 1;  // whichever epoch is the first that is read
  o.epoch_samples = 16;
  Reader later(source, o);
  ASSERT_TRUE(later.read(batch));
  EXPECT_TRUE(batch.empty());
  EXPECT_THROW(later.read(batch), Error);
  o.start_epoch = o.epoch_samples = 0;
  source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>{{3}});
  source->damaged_key = 0;
  Reader all(source, o);
  try {
    all.next(batch);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().what, "1 damaged sequence, maxErrors tolerates 0");
  }
  o.max_invalid = 1;
  EXPECT_FALSE(Reader(source, o).next(batch));
}

TEST(ReaderErrors, AsLongAsNothingWasDeliveredAStateGoesOnAsTheRunDoes) {
  auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>{{1, 1, 1, 1, 1, 1}, {1, 1, 1, 1}});
  source->damaged_below = 6;
  for (const bool restores : {false, true}) {
    ReaderOptions o = reference(OrderKind::file, 2);
    o.max_invalid = 2;
    Reader reader(source, o);
    Minibatch batch;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(reader.read(batch));
      EXPECT_TRUE(batch.empty());
      EXPECT_EQ(batch.invalid, 2u);
      if (restores) reader.restore(reader.state());
    }
    try {
      reader.read(batch);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().what, "6 damaged sequences, maxErrors tolerates 2");
    }
  }
}

// Truncated packing lays streams side by side: a sequence whose streams have other lengths is damaged.
TEST(ReaderErrors, EverySequenceOfUnequalStreamsCountsWhereTheyAreCut) {
  class Unequal final : public Source {
   public:
    const std::vector<StreamInfo>& streams() const override { return streams_; }
    const std::vector<ChunkInfo>& chunks() const override { return x_.chunks(); }
    void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { x_.sequences(chunk, out); }
    void read(std::uint32_t chunk, Chunk& out) const override {
      Chunk other;
      x_.read(chunk, out);
      y_.read(chunk, other);
      out.columns.push_back(std::move(other.columns[0]));
    }

   private:
    MemorySource x_{{{2, 2, 2, 2}, {2, 2}}}, y_{{{2, 3, 2, 1}, {2, 9}}, false, "y"};
    std::vector<StreamInfo> streams_ = {x_.streams()[0], y_.streams()[0]};
  };
  for (const std::uint64_t tolerated : {3u, 2u}) {
    ReaderOptions o = truncated(4, 2);
    o.max_invalid = tolerated;
    Reader reader(std::make_shared<Unequal>(), o);
    const auto samples = [&] {
      std::uint64_t n = 0;
      for (Minibatch batch; reader.next(batch);) n += batch.num_samples;
      return n;
    };
    if (tolerated == 3) {
      EXPECT_EQ(samples(), 6u);
      EXPECT_EQ(reader.invalid(), 3u);
    } else {
      EXPECT_EQ(testing::fault_of(samples).what, "3 damaged sequences, maxErrors tolerates 2");
    }
  }
}

// Rows of 50 sequences are filled from as many chunks.
TEST(ReaderStop, LeavesInTheMiddleOfAPlanThatReadsManyChunks) {
  auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(200, {4}));
  source->delay_ms = 5;
  {
    Reader reader(source, truncated(400, 4));
    Minibatch batch;
    EXPECT_FALSE(reader.wait(std::chrono::milliseconds(10), batch));
  }
  EXPECT_LT(source->reads, 60u);
}

TEST(ReaderStop, AnyMomentIsAGoodOneToLeave) {
  for (unsigned batches = 0; batches < 12; ++batches) {
    auto source = std::make_shared<MemorySource>(kV);
    source->delay_ms = 1;
    Reader reader(source, reference(OrderKind::cntk, 2));
    Minibatch batch;
    for (unsigned i = 0; i < batches; ++i) ASSERT_TRUE(reader.read(batch));
  }
}

TEST(ReaderStop, NoReadBeginsOnceTheReaderIsLeft) {
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk}) {
    for (const unsigned threads : {1u, 2u}) {
      auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(20, {1, 1}));
      std::mutex gate;
      source->hold = [&] {
        if (source->reads > 4) {
          const std::lock_guard lock(gate);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      };
      std::unique_lock closed(gate);
      ReaderOptions o = reference(order, 2);
      o.threads = threads;
      auto reader = std::make_unique<Reader>(source, o);
      Minibatch batch;
      while (source->reads < 4 + threads) static_cast<void>(reader->wait(std::chrono::milliseconds(1), batch));
      std::thread leaves([&] { reader.reset(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // more than it takes to tell the reader's threads
      const std::uint64_t begun = source->reads;
      closed.unlock();
      leaves.join();
      EXPECT_EQ(source->reads, begun);
    }
  }
}

TEST(ReaderStop, AStoreThatIsStoppedGivesWhatItHas) {
  const auto source = std::make_shared<MemorySource>(kA);
  for (const unsigned threads : {0u, 2u}) {
    ChunkStore store(*source, {.threads = threads, .spares = 1});
    const LoadedChunk& first = store.get(0);
    store.stop();
    EXPECT_EQ(&store.get(0), &first);
    store.want(1);
    EXPECT_TRUE(store.keeps_up());
    EXPECT_THROW(static_cast<void>(store.get(1)), Stopped);
  }
}

// Under clang 14's address sanitizer a child waits for good for memory whose lock a thread of the parent held.
ReaderOptions of_parent() {
  ReaderOptions o = reference(OrderKind::cntk, 2);
  o.prefetch = !kAddressSanitizer;
  return o;
}

TEST(ReaderStop, AForkedChildIsToldToOpenItsOwn) {
  Reader reader = open(kV, of_parent());
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      reader.read(batch);
    } catch (const Error& error) {
      code = error.fault().id == "reader.forked" ? 0 : 2;
    }
    { const Reader gone = std::move(reader); }  // must not wait for threads that are not here
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

std::size_t entries(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// A joined thread may be listed for a moment longer.
bool comes_down_to(std::size_t threads) {
  for (int i = 0; i < 2000 && entries("/proc/self/task") > threads; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return entries("/proc/self/task") <= threads;
}

std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

// Threads, descriptors and memory before and after many readers that were left at different moments.
TEST(ReaderStop, AThousandOpensAndClosesLeaveNothing) {
  const auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(8, std::vector<std::uint32_t>(50, 4)));
  const auto use = [&](unsigned i) {
    ReaderOptions o = reference(static_cast<OrderKind>(i % 3), 16);
    if (i % 4 == 1) o.pack = {Packing::truncated, 4, 0};
    o.threads = 1 + i % 3;
    Reader reader(source, o);
    Minibatch batch;
    for (unsigned k = 0; k < i % 5; ++k) ASSERT_TRUE(reader.read(batch));
    if (i % 7 == 0) reader.restore(reader.state());
    if (i % 11 == 0) reader.begin_epoch(3);
  };
  for (unsigned i = 0; i < 100; ++i) use(i);
  const std::size_t threads = entries("/proc/self/task"), files = entries("/proc/self/fd"), pages = resident_pages();
  for (unsigned i = 0; i < 1000; ++i) use(i);
  EXPECT_TRUE(comes_down_to(threads));
  EXPECT_EQ(entries("/proc/self/fd"), files);
  if (!kThreadSanitizer && !kAddressSanitizer) {  // which keep what was freed for a while
    EXPECT_LE(resident_pages(), pages + 1024) << "grew by more than 4 MiB";
  }
}

TEST(ReaderStop, AnExceptionInTheConsumerLeavesTheReaderUsableOrGone) {
  const auto source = std::make_shared<MemorySource>(kV);
  source->delay_ms = 1;
  const std::size_t threads = entries("/proc/self/task");
  try {
    Reader reader(source, reference(OrderKind::cntk, 2));
    Minibatch batch;
    ASSERT_TRUE(reader.read(batch));
    throw std::runtime_error("the training step failed");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(comes_down_to(threads));
  }
  Reader reader(source, reference(OrderKind::cntk, 2));
  std::vector<std::uint64_t> keys;
  for (;;) {
    try {
      Minibatch batch;
      ASSERT_TRUE(reader.read(batch));
      keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
      if (batch.end_of_epoch) break;
      throw std::runtime_error("caught, and the loop goes on");
    } catch (const std::runtime_error&) {
    }
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

// Every packer, destroyed while chunks are being read and minibatches wait.
TEST(ReaderStop, DestroyedMidPrefetchOfEveryPacker) {
  for (ReaderOptions o : every_kind()) {
    const auto source = std::make_shared<MemorySource>(kV, o.pack.kind == Packing::frames);
    source->delay_ms = 2;
    o.threads = 3;
    for (unsigned batches = 0; batches < 3; ++batches) {
      Reader reader(source, o);
      Minibatch batch;
      for (unsigned i = 0; i < batches; ++i) ASSERT_TRUE(reader.read(batch));
    }
  }
}

TEST(ReaderStop, AForkedChildCanOpenItsOwnAndGoOnFromTheState) {
  const auto source = std::make_shared<MemorySource>(kV);
  Reader reader(source, of_parent());
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const std::string state = reader.state();
  ASSERT_TRUE(reader.read(batch));
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<std::uint64_t> want = batch.keys;
    ReaderOptions o = reference(OrderKind::cntk, 2);
    o.prefetch = !kThreadSanitizer;  // which allows no threads in a child of a process that has some
    Reader own(source, o);
    own.restore(state);
    ::_exit(own.read(batch) && batch.keys == want ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace batchfeed::reader
