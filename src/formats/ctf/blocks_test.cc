// SPDX-License-Identifier: MIT
#include "formats/ctf/blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <thread>
#include <vector>

namespace batchfeed::ctf {
namespace {

// Of the blocks that are kept.
std::size_t count_spares() {
  constexpr std::size_t kMore = 1000;  // than there may be
  std::size_t spares = 0;
  std::deque<SpareBlock> all;
  for (std::size_t i = 0; i < kMore; ++i) spares += (*all.emplace_back()).capacity() != 0 ? 1u : 0u;
  // What was new has no memory, and what had some goes back last.
  while (!all.empty()) all.pop_back();
  return spares;
}

void drop_spares() {
  std::deque<SpareBlock> all(1000);
  for (SpareBlock& block : all) *block = Buffer<char>();
}

TEST(SpareBlocks, AreAsManyAsWereInUseAtOnce) {
  drop_spares();
  ASSERT_EQ(count_spares(), 0u);
  {
    SpareBlock one, two;
    (*one).reserve(1000);
    (*two).reserve(1000);
  }
  for (int i = 0; i < 1000; ++i) (*SpareBlock()).reserve(1000);
  EXPECT_EQ(count_spares(), 2u);
  drop_spares();
}

// Whoever finds others at the blocks does not take memory of his own for that.
TEST(SpareBlocks, AreNoMoreForThreadsThatMeet) {
  constexpr unsigned kThreads = 4;
  drop_spares();
  std::atomic<unsigned> fresh{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200'000; ++i) {
        SpareBlock block;
        fresh += (*block).capacity() == 0 ? 1u : 0u;
        (*block).reserve(1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(fresh.load(), 2 * kThreads);
  EXPECT_LE(count_spares(), 2 * kThreads);
  drop_spares();
}

TEST(SpareBlocks, OfUnusualSizeAreNotKept) {
  drop_spares();
  (*SpareBlock()).reserve(std::size_t{8} << 20);
  EXPECT_EQ(count_spares(), 0u);
}

}  // namespace
}  // namespace batchfeed::ctf
