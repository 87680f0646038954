// SPDX-License-Identifier: MIT
//
// The memory of a minibatch goes back to the reader it came from: whoever lets go of it, wherever and whenever.
#include <batchfeed/reader.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "pack/minibatch_pool.h"
#include "support/memory_source.h"

namespace batchfeed::reader {
namespace {

// A hundred minibatches of 80 kB, a chunk each, whose memory changes places with theirs.
Reader open(bool prefetch) {
  return {std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(100, {20'000})),
          {.order = {.kind = OrderKind::file}, .minibatch_size = {20'000}, .prefetch = prefetch, .threads = 2}};
}

const void* place(const Minibatch& batch) { return batch.streams.at(0).values.data(); }

TEST(MinibatchMemory, IsUsedAgainByALoopOfReturnedOnes) {
  for (const bool prefetch : {false, true}) {
    Reader reader = open(prefetch);
    std::set<const void*> values, keys;
    std::vector<Buffer<float>> taken;  // what went to the system instead
    std::size_t minibatches = 0;
    for (;; taken.emplace_back().reserve(20'000)) {
      const auto batch = reader.next();
      if (!batch) break;
      ++minibatches;
      values.insert(place(*batch));
      keys.insert(batch->keys.data());
    }
    EXPECT_EQ(minibatches, 100u);
    // As many as are under way at once, and as many chunks.
    EXPECT_LE(values.size(), prefetch ? 24u : 2u);
    EXPECT_LE(keys.size(), prefetch ? 50u : 1u);
  }
}

TEST(MinibatchMemory, OfOneThatIsHeldIsItsOwn) {
  Reader reader = open(false);
  const Minibatch first = reader.next().value();
  const Minibatch second = reader.next().value();
  EXPECT_NE(place(first), place(second));
  EXPECT_EQ(first.index, 0u);
  EXPECT_EQ(second.index, 1u);
}

TEST(MinibatchMemory, MovesWithTheMinibatch) {
  Reader reader = open(false);
  Minibatch first = reader.next().value();
  const void* const at = place(first);
  Minibatch moved = std::move(first);
  EXPECT_EQ(place(moved), at);
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.num_samples, 0u);
  moved = Minibatch();
  Buffer<float> taken;
  taken.reserve(20'000);  // what went to the system instead
  const Minibatch second = reader.next().value();
  EXPECT_EQ(place(reader.next().value()), at);
}

TEST(MinibatchMemory, OutlivesTheReader) {
  std::vector<Minibatch> kept;
  {
    Reader reader = open(true);
    while (auto batch = reader.next()) kept.push_back(std::move(*batch));
  }
  std::uint64_t samples = 0;
  for (const Minibatch& batch : kept) samples += batch["x"].samples();
  EXPECT_EQ(samples, 2'000'000u);
}

TEST(MinibatchMemory, ComesBackFromEveryThread) {
  Reader reader = open(true);
  std::vector<std::future<std::uint64_t>> sums;
  while (auto batch = reader.next()) {
    sums.push_back(std::async(std::launch::async, [held = std::move(*batch)]() mutable {
      const Minibatch mine = std::move(held);
      return mine["x"].samples();
    }));
  }
  std::uint64_t samples = 0;
  for (auto& sum : sums) samples += sum.get();
  EXPECT_EQ(samples, 2'000'000u);
}

// Whoever held the pool's lock at the fork does not exist in the child.
TEST(MinibatchMemory, IsLetGoOfInAForkedChild) {
  Reader reader = open(true);
  for (int i = 0; i < 20; ++i) {
    auto batch = reader.next();
    ASSERT_TRUE(batch);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      batch.reset();
      ::_exit(7);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
}

std::vector<StreamBatch> streams_of(std::size_t bytes) {
  std::vector<StreamBatch> out(1);
  out[0].values.resize(bytes);
  return out;
}

std::size_t lent(detail::MinibatchPool& pool) {
  std::vector<std::vector<StreamBatch>> all;
  do {
    pool.lend(all.emplace_back());
  } while (!all.back().empty());
  return all.size() - 1;
}

TEST(MinibatchPool, KeepsNoMoreThanItWasTold) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{100'000}}) {
    detail::MinibatchPool pool(3);
    for (int i = 0; i < 1000; ++i) {
      auto streams = streams_of(bytes);
      pool.keep(streams);
      EXPECT_TRUE(streams.empty());
    }
    EXPECT_EQ(lent(pool), bytes == 100 ? detail::MinibatchPool::kMostSmall : 3u);
  }
}

TEST(MinibatchPool, KeysOfJustTheSizeThatIsSmallAreSmall) {
  for (const std::size_t more : {0u, 1u}) {
    const auto pool = std::make_shared<detail::MinibatchPool>(3);
    for (int i = 0; i < 1000; ++i) {
      std::vector<Minibatch> batches(1);
      batches[0].keys.reserve(detail::MinibatchPool::kSmall / sizeof(std::uint64_t) + more);
      detail::MinibatchPool::own(pool, batches[0]);
    }
    std::size_t n = 0;
    for (std::vector<std::uint64_t> keys; pool->lend(keys), keys.capacity() != 0; keys = std::vector<std::uint64_t>())
      ++n;
    EXPECT_EQ(n, more == 0 ? detail::MinibatchPool::kMostSmall : 3u);
  }
}

TEST(MinibatchPool, LendsTheLastThatCame) {
  detail::MinibatchPool pool(3);
  auto first = streams_of(100'000), last = streams_of(100'000);
  const void* const at = last[0].values.data();
  pool.keep(first);
  pool.keep(last);
  pool.lend(first);
  EXPECT_EQ(first.at(0).values.data(), at);
}

TEST(MinibatchPool, KeepsNothingOnceClosed) {
  detail::MinibatchPool pool(3);
  auto streams = streams_of(100'000);
  pool.keep(streams);
  pool.close();
  streams = streams_of(100'000);
  pool.keep(streams);
  EXPECT_EQ(lent(pool), 0u);
}

}  // namespace
}  // namespace batchfeed::reader
