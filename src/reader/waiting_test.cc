// SPDX-License-Identifier: MIT
//
// What a caller asks before it reads: how much is left, and whether it would wait.
#include <batchfeed/reader.h>
#include <gtest/gtest.h>

#include "reader/memory_source.h"

namespace batchfeed::reader {
namespace {

const std::vector<std::vector<std::uint32_t>> kCorpus = {{3, 1, 2}, {2, 2}, {4, 1, 1}};

TEST(ReaderWait, GivesUpAfterItsTimeAndTakesNothing) {
  auto source = std::make_shared<MemorySource>(kCorpus);
  source->delay_ms = 200;
  Reader reader(source, {.minibatch_size = {2}});
  EXPECT_FALSE(reader.wait(std::chrono::milliseconds(0)));
  while (!reader.wait(std::chrono::milliseconds(10))) {
  }
  Minibatch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.index, 0u);
}

TEST(ReaderWait, IsOverAtTheEndAndWithoutPrefetch) {
  Reader reader(std::make_shared<MemorySource>(kCorpus), {.minibatch_size = {99}});
  Minibatch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_TRUE(reader.wait(std::chrono::milliseconds(0))) << "there is nothing to wait for";
  EXPECT_FALSE(reader.next(batch));
  Reader plain(std::make_shared<MemorySource>(kCorpus), {.prefetch = false});
  EXPECT_TRUE(plain.wait(std::chrono::milliseconds(0)));
}

TEST(ReaderWait, AFaultIsAnAnswer) {
  auto source = std::make_shared<MemorySource>(kCorpus);
  source->bad_chunk = 0;
  Reader reader(source, {.order = {.kind = OrderKind::file}});
  while (!reader.wait(std::chrono::milliseconds(10))) {
  }
  EXPECT_THROW(reader.next(), Error);
}

TEST(ReaderRemaining, CountsWhatNextWillGive) {
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
    for (const Packing pack : {Packing::sequences, Packing::frames, Packing::truncated}) {
      for (const Shard shard : {Shard::chunk, Shard::even}) {
        const ReaderOptions options = {.order = {.kind = order},
                                       .pack = {.kind = pack, .truncation_length = 2},
                                       .shard = shard,
                                       .workers = 2,
                                       .rank = 1,
                                       .minibatch_size = {4},
                                       .epoch_samples = 9};
        Reader reader(std::make_shared<MemorySource>(kCorpus, true), options);
        Minibatch batch;
        for (std::uint64_t left = reader.remaining();; --left) {
          EXPECT_EQ(reader.remaining(), left);
          if (!reader.next(batch)) break;
        }
        EXPECT_EQ(reader.remaining(), 0u);
      }
    }
  }
}

TEST(ReaderRemaining, KnowsARunWithoutEnd) {
  const ReaderOptions options = {.epoch_samples = ~0ull, .driver = ReaderOptions::Driver::timeline};
  EXPECT_EQ(Reader(std::make_shared<MemorySource>(kCorpus), options).remaining(), ~0ull);
}

}  // namespace
}  // namespace batchfeed::reader
