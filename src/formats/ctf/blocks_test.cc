// SPDX-License-Identifier: MIT
#include "formats/ctf/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
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

TEST(LineBlocks, BehindALineThatIsSkipped) {
  for (std::size_t seed = 0; seed < 64; ++seed) {
    std::string text;  // each bit a character
    for (std::size_t i = 0; i < 6; ++i) text += (seed >> i & 1) != 0 ? '\n' : 'x';
    for (std::uint64_t from = 0; from < text.size(); ++from) {
      for (std::uint64_t stop = from; stop <= text.size(); ++stop) {
        const std::size_t line = text.find('\n', from) + 1;  // 0: none
        const bool expected = line != 0 && line < stop;
        for (const std::size_t block : {1u, 2u, 3u, 100u}) {
          std::size_t at = from;
          const auto fill = [&](char* to, std::size_t size) {
            const std::size_t n = text.copy(to, size, at);
            at += n;
            return n;
          };
          Buffer<char> buffer;
          LineBlocks blocks(fill, from, buffer, "t", {.bytes = 100, .limit = ""}, block);
          ASSERT_EQ(blocks.skip_line(stop), expected) << seed << ' ' << from << ' ' << stop << ' ' << block;
          if (!expected) continue;
          std::string rest;
          while (blocks.next()) {
            ASSERT_EQ(blocks.offset(), line + rest.size());
            ASSERT_EQ(blocks.end()[-1], '\n');
            rest.append(blocks.begin(), blocks.end());
          }
          ASSERT_EQ(rest, text.substr(line) + (text.back() == '\n' ? "" : "\n")) << seed << ' ' << from;
        }
      }
    }
  }
}

TEST(LineBlocks, ALineThatIsSkippedTakesNoMemory) {
  std::uint64_t left = std::uint64_t{64} << 20;
  const auto fill = [&](char* to, std::size_t size) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left, size));
    std::fill_n(to, n, 'x');
    left -= n;
    if (left == 0 && n != 0) to[n - 1] = '\n';
    return n;
  };
  Buffer<char> buffer;
  LineBlocks blocks(fill, 0, buffer, "t", {.bytes = 100, .limit = ""});
  EXPECT_FALSE(blocks.skip_line(~0ull) && blocks.next());
  EXPECT_LE(buffer.capacity(), 2 * LineBlocks::kBlock);
}

TEST(SpareBlocks, OfUnusualSizeAreNotKept) {
  drop_spares();
  (*SpareBlock()).reserve(std::size_t{8} << 20);
  EXPECT_EQ(count_spares(), 0u);
}

}  // namespace
}  // namespace batchfeed::ctf
