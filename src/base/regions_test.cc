// SPDX-License-Identifier: MIT
#include "base/regions.h"

#include <batchfeed/buffer.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/rng.h"

namespace batchfeed {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Block {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};

// Sizes from kLeast to kMost, the two ends more often than by chance.
std::size_t draw_size(CounterRng& rng) {
  switch (rng.below(8)) {
    case 0: return Regions::kLeast;
    case 1: return Regions::kMost;
    default: return Regions::kLeast + static_cast<std::size_t>(rng.below(Regions::kMost - Regions::kLeast));
  }
}

TEST(Regions, GiveBlocksThatNeverMeet) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CounterRng rng(seed);
    Regions regions;
    std::vector<Block> blocks;
    std::map<std::byte*, std::size_t> places;
    for (int step = 0; step < 600; ++step) {
      // Grows to some hundred blocks, then shrinks again.
      if (blocks.empty() || rng.below(600) > static_cast<std::uint64_t>(step)) {
        Block block{nullptr, draw_size(rng)};
        block.at = static_cast<std::byte*>(regions.allocate(block.bytes));
        ASSERT_NE(block.at, nullptr);
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block.at) % 64, 0U);
        const auto behind = places.lower_bound(block.at);
        if (behind != places.end()) {
          ASSERT_LE(block.at + block.bytes, behind->first);
        }
        if (behind != places.begin()) {
          ASSERT_LE(std::prev(behind)->first + std::prev(behind)->second, block.at);
        }
        places.emplace(block.at, block.bytes);
        // A block that overlapped its neighbour would overwrite the neighbour's first or last bytes.
        std::memset(block.at, static_cast<int>(block.bytes % 251), 64);
        std::memset(block.at + block.bytes - 64, static_cast<int>(block.bytes % 251), 64);
        blocks.push_back(block);
        continue;
      }
      const auto i = static_cast<std::size_t>(rng.below(blocks.size()));
      const Block block = blocks[i];
      for (const std::byte* const end : {block.at, block.at + block.bytes - 64})
        for (int k = 0; k < 64; ++k) ASSERT_EQ(end[k], static_cast<std::byte>(block.bytes % 251));
      regions.release(block.at, block.bytes);
      places.erase(block.at);
      blocks[i] = blocks.back();
      blocks.pop_back();
    }
    for (const Block& block : blocks) regions.release(block.at, block.bytes);
    EXPECT_EQ(regions.held(), 0U) << "seed " << seed;
  }
}

TEST(Regions, UseTheFrontOfARegionAgain) {
  Regions regions;
  void* const a = regions.allocate(kMiB);
  void* const b = regions.allocate(kMiB);
  void* const c = regions.allocate(kMiB);
  regions.release(a, kMiB);
  EXPECT_EQ(regions.allocate(kMiB / 2), a);
  regions.release(b, kMiB);
  EXPECT_EQ(regions.allocate(kMiB), static_cast<std::byte*>(a) + kMiB / 2) << "what is free on both sides is one block";
  EXPECT_EQ(regions.held(), 1U);
  regions.release(c, kMiB);
  regions.release(a, kMiB / 2);
  regions.release(static_cast<std::byte*>(a) + kMiB / 2, kMiB);
  EXPECT_EQ(regions.held(), 0U);
}

TEST(Regions, OpenAFullRegionAgain) {
  Regions regions;
  std::vector<void*> first, second;
  while (regions.held() < 2) first.push_back(regions.allocate(kMiB));
  second.push_back(first.back());
  first.pop_back();
  EXPECT_EQ(first.size(), 15U) << "64 bytes of 16 MiB are the region's own";
  regions.release(first[3], kMiB);
  while (regions.held() < 3) second.push_back(regions.allocate(kMiB));
  EXPECT_EQ(second.size(), 15U + 1 + 1);
  first.erase(first.begin() + 3);
  for (const auto* blocks : {&first, &second})
    for (void* const block : *blocks) regions.release(block, kMiB);
  EXPECT_EQ(regions.held(), 0U);
}

TEST(Buffers, KeepWhatTheyHoldWhileTheyGrow) {
  Buffer<std::uint32_t> buffer;
  for (std::uint32_t i = 0; i < 3'000'000; ++i) buffer.push_back(i);
  for (std::uint32_t i = 0; i < buffer.size(); ++i) ASSERT_EQ(buffer[i], i);
}

TEST(Buffers, AreAlignedAndPaddedWhateverTheirSize) {
  std::vector<Buffer<std::uint8_t>> held;
  for (std::size_t bytes = 1; bytes < 3 * kMiB; bytes += bytes < 300 ? 1 : bytes / 3) {
    Buffer<std::uint8_t>& one = held.emplace_back();
    one.resize(bytes);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(one.data()) % 64, 0U) << bytes;
    std::memset(one.data(), static_cast<int>(held.size() % 251), one.capacity() + one.kPadding);
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto differs = [&](std::uint8_t byte) { return byte != (i + 1) % 251; };
    const std::uint8_t* const all = held[i].data();
    ASSERT_TRUE(std::none_of(all, all + held[i].capacity() + held[i].kPadding, differs)) << i;
  }
}

TEST(Buffers, AreMadeByManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      CounterRng rng(t);
      std::vector<Buffer<std::uint64_t>> held(8);
      for (int step = 0; step < 400; ++step) {
        Buffer<std::uint64_t>& one = held[static_cast<std::size_t>(rng.below(held.size()))];
        if (!one.empty() && (one[0] != t || one.back() != t)) ++wrong;
        one = {};
        one.resize(1 + static_cast<std::size_t>(rng.below(kMiB / 4)));
        one[0] = one.back() = t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A child that is forked while other threads make buffers makes its own.
TEST(Buffers, CanBeMadeInAForkedChild) {
  if (!kBuffersShareRegions) GTEST_SKIP() << "the allocator of a sanitizer may be locked in the child";
  const std::jthread busy([](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Buffer<char> one;
      one.resize(100 * kKiB);
    }
  });
  for (int i = 0; i < 60; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(20);
      Buffer<char> one;
      one.resize(100 * kKiB);
      ::_exit(one.size() == 100 * kKiB ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "after " << i;
  }
}

}  // namespace
}  // namespace batchfeed
