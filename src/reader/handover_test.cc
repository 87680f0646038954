// SPDX-License-Identifier: MIT
//
// Minibatches go from the producing thread to the caller, who packs too where he would wait: in the
// same order and with the same values as without threads, small ones by the handful, large ones one by one.
#include <batchfeed/reader.h>
#include <gtest/gtest.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reader/corpora.h"
#include "reader/producer.h"
#include "reader/sequence_planner.h"
#include "support/memory_source.h"

namespace batchfeed::reader {
namespace {

// Twenty chunks of ten sequences; of `samples` each, so that minibatches are small or large.
std::shared_ptr<MemorySource> corpus(std::uint32_t samples) {
  return std::make_shared<MemorySource>(
      std::vector<std::vector<std::uint32_t>>(20, std::vector<std::uint32_t>(10, samples)));
}

std::string text(const Reader& reader, const Minibatch& batch) {
  std::string out = std::to_string(batch.index) + (batch.end_of_epoch ? "!" : ":");
  for (const std::uint64_t key : batch.keys) out += ' ' + reader.key_text(key);
  double sum = 0;
  for (const StreamBatch& stream : batch.streams) {
    for (std::uint64_t i = 0; i < stream.samples(); ++i) sum += stream.as<float>()[i] * static_cast<double>(i % 7);
  }
  return out + " = " + std::to_string(sum);
}

struct Handover {
  OrderKind order;
  std::uint64_t window, minibatch, depth;
  std::uint32_t samples;
};

ReaderOptions options_of(const Handover& h, bool prefetch) {
  return {.order = {.kind = h.order, .window = h.window},
          .minibatch_size = {h.minibatch * h.samples},
          .prefetch = prefetch,
          .prefetch_depth = h.depth,
          .threads = 2};
}

// Two epochs by a caller who now waits, now asks first, now comes late.
std::vector<std::string> read(const Handover& h, bool prefetch, std::uint64_t seed) {
  Reader reader(corpus(h.samples), options_of(h, prefetch));
  std::mt19937_64 draws(seed);
  std::vector<std::string> out;
  Minibatch batch;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    reader.begin_epoch(epoch);
    for (;;) {
      const std::uint64_t mood = seed == 0 ? 0 : draws() % 20;
      if (mood == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));
      while (mood == 2 && !reader.wait(std::chrono::milliseconds(draws() % 2), batch)) {
      }
      if (!reader.next(batch)) break;
      out.push_back(text(reader, batch));
      if (mood != 3) continue;
      const std::string place = reader.state();  // with answers under way, which are given up
      reader.restore(place);
    }
  }
  return out;
}

std::vector<Handover> all() {
  std::vector<Handover> out;
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
    for (const std::uint64_t window : {2u, 128u}) {
      for (const std::uint32_t samples : {1u, 1000u}) {
        for (const std::uint64_t depth : {1u, 4u}) {
          out.push_back({order, window, 1, depth, samples});
          out.push_back({order, window, 7, depth, samples});
          out.push_back({order, window, 10, depth, samples});  // a chunk each
        }
      }
    }
  }
  return out;
}

TEST(ReaderHandover, GivesTheSameStreamWithThreadsAndWithout) {
  for (const Handover& h : all()) {
    const std::vector<std::string> expected = read(h, false, 0);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      ASSERT_EQ(read(h, true, seed), expected)
          << "order " << static_cast<int>(h.order) << ", window " << h.window << ", minibatches of " << h.minibatch
          << " x " << h.samples << ", depth " << h.depth << ", seed " << seed;
    }
  }
}

#if defined(__linux__)
// Keeps this thread, and those that it begins, to one CPU.
class OneCpu {
 public:
  OneCpu() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OneCpu() { EXPECT_EQ(::sched_setaffinity(0, sizeof before_, &before_), 0); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_;
};

// Where the thread makes way for the caller.
TEST(ReaderHandover, GivesTheSameStreamOnOneCpu) {
  const OneCpu here;
  for (const Handover& h : all()) {
    EXPECT_EQ(read(h, true, 1), read(h, false, 0))
        << h.window << ", minibatches of " << h.minibatch << " x " << h.samples << ", depth " << h.depth;
  }
}

// However many may wait, the caller gets the first as soon as some are made: else this would not end.
TEST(ReaderHandover, NobodyWaitsForAllThatMayWaitOnOneCpu) {
  const OneCpu here;
  ReaderOptions options = options_of({OrderKind::file, 128, 400, std::size_t{1} << 40, 1}, true);
  options.cross_sweeps = true;
  options.epoch_sweeps = 1'000'000;
  Reader reader(corpus(1), options);
  Minibatch batch;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(reader.next(batch));
}
#endif

TEST(ReaderHandover, AFaultComesAfterAllThatIsBeforeIt) {
  for (const Handover& h : all()) {
    std::vector<std::size_t> given;
    for (const bool prefetch : {false, true}) {
      const auto source = corpus(h.samples);
      source->bad_chunk = 13;
      Reader reader(source, options_of(h, prefetch));
      Minibatch batch;
      std::size_t n = 0;
      EXPECT_THROW(
          {
            while (reader.next(batch)) ++n;
          },
          Error);
      EXPECT_THROW(reader.next(batch), Error) << "and stays";
      given.push_back(n);
    }
    EXPECT_EQ(given[0], given[1]);
  }
}

// Notes where the values of each chunk lie.
class Noting final : public Source {
 public:
  explicit Noting(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const std::vector<StreamInfo>& streams() const override { return source_->streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return source_->chunks(); }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { source_->sequences(chunk, out); }
  void read(std::uint32_t chunk, Chunk& out) const override {
    source_->read(chunk, out);
    const std::lock_guard lock(mutex_);
    places_[chunk] = out.columns[0].values.data();
    ++reads_;
  }

  const std::byte* values_of(std::uint32_t chunk) const {
    const std::lock_guard lock(mutex_);
    return places_[chunk];
  }
  std::size_t reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  std::shared_ptr<const Source> source_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, const std::byte*> places_;
  mutable std::size_t reads_ = 0;
};

// Of the minibatches of two epochs, those whose values were not copied.
std::size_t handed_over(const ReaderOptions& options, const std::shared_ptr<const Noting>& source) {
  Reader reader(source, options);
  Minibatch batch;
  std::size_t n = 0;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    reader.begin_epoch(epoch);
    while (reader.next(batch)) {
      const auto chunk = static_cast<std::uint32_t>(batch.keys[0] / 10);  // which is where it was read to until then
      n += source->values_of(chunk) == batch.streams[0].values.data() ? 1u : 0u;
    }
  }
  return n;
}

TEST(ReaderHandover, AChunkThatIsAMinibatchIsNotCopied) {
  for (const bool prefetch : {false, true}) {
    for (const std::uint32_t samples : {1u, 1000u}) {
      const ReaderOptions chunk_each = options_of({OrderKind::file, 128, 10, 4, samples}, prefetch);
      const auto source = std::make_shared<const Noting>(corpus(samples));
      EXPECT_EQ(handed_over(chunk_each, source), 40u) << samples;
      EXPECT_EQ(source->reads(), 40u);
      const ReaderOptions more = options_of({OrderKind::file, 128, 11, 4, samples}, prefetch);
      EXPECT_EQ(handed_over(more, std::make_shared<const Noting>(corpus(samples))), 0u) << samples;
      ReaderOptions limited = chunk_each;
      limited.memory_limit = 1 << 20;
      EXPECT_EQ(handed_over(limited, std::make_shared<const Noting>(corpus(samples))), 0u) << samples;
    }
  }
}

// An epoch begins and ends with the same chunk, and neither minibatch is packed when the last is resolved.
TEST(ReaderHandover, AChunkIsNotTakenFromThoseThatLookIntoIt) {
  const ReaderOptions options{
      .order = {.kind = OrderKind::file}, .minibatch_size = {4}, .epoch_samples = 12, .cross_sweeps = true};
  const auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(2, std::vector<std::uint32_t>{4}));
  const Corpora corpora({source}, options);
  ChunkStore store(*source, {.threads = 0, .spares = 4});
  SequencePlanner planner(corpora.make_timeline(options), corpora.whole().total_samples(), options);
  RunMemory memory(4);
  Producer::Settings settings;
  settings.streams = source->streams();
  settings.hands_over = true;
  settings.chunks_ahead = 5;
  Producer producer(*source, store, planner, memory, settings);
  Answer answers[3];
  for (Answer& answer : answers) producer.resolve_next(answer);
  EXPECT_TRUE(answers[1].whole != nullptr) << "a chunk that comes once";
  for (const int i : {2, 1, 0}) {
    producer.pack(answers[i]);
    ASSERT_EQ(answers[i].error, nullptr);
    const StreamBatch& x = answers[i].batch.streams.at(0);
    ASSERT_EQ(x.values.size(), 4 * sizeof(float)) << i;
    for (std::uint64_t n = 0; n < 4; ++n) EXPECT_EQ(x.as<float>()[n], static_cast<float>((i == 1 ? 100 : 0) + n)) << i;
  }
}

TEST(ReaderHandover, AChunkOfDamagedRowsIsNotTakenForTheNext) {
  const auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(6, std::vector<std::uint32_t>{4}));
  source->damaged_key = 2;
  Reader reader(source,
                {.order = {.kind = OrderKind::file}, .minibatch_size = {8}, .max_invalid = 9, .prefetch = false});
  Minibatch batch;
  std::vector<float> first;
  while (reader.next(batch)) {
    for (std::uint64_t i = 0; i < batch.num_samples; i += 4) first.push_back(batch.streams[0].as<float>()[i]);
  }
  EXPECT_EQ(first, (std::vector<float>{0, 100, 300, 400, 500}));
}

// Which would be read again for each epoch.
TEST(ReaderHandover, AChunkThatIsAllThereIsStays) {
  const auto source = std::make_shared<const Noting>(
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>{std::vector<std::uint32_t>(10, 3)}));
  EXPECT_EQ(handed_over({.order = {.kind = OrderKind::file}, .minibatch_size = {30}}, source), 0u);
  EXPECT_EQ(source->reads(), 1u);
}

TEST(ReaderHandover, WhatIsHandedOverIsCountedWhereItIs) {
  const auto source = std::make_shared<const Noting>(corpus(1000));
  Reader reader(source, options_of({OrderKind::file, 128, 10, 4, 1000}, true));
  Minibatch batch;
  ASSERT_TRUE(reader.next(batch));
  const std::uint64_t once = reader.memory_peak();
  for (std::uint64_t epoch = 1; epoch < 20; ++epoch) {
    reader.begin_epoch(epoch);  // with answers under way, which are given up
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(reader.next(batch));
  }
  EXPECT_LE(reader.memory_peak(), 20 * once) << "chunks that came back are counted again and again";
}

// Answers that wait take memory: a caller who does not come does not let them pile up.
TEST(ReaderHandover, ReadsNoFurtherThanItsDepthWhileNobodyComes) {
  const auto source = corpus(4000);
  Reader reader(source, options_of({OrderKind::file, 128, 10, 4, 4000}, true));  // a chunk each
  Minibatch batch;
  ASSERT_TRUE(reader.next(batch));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_LE(source->reads.load(), 1u + 4u + 3u + 2u) << "taken, waiting, asked for ahead, resolved";
}

}  // namespace
}  // namespace batchfeed::reader
