// SPDX-License-Identifier: MIT
#include "tools/in_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace batchfeed {
namespace {

// For every third item, sleeps up to 0.2 ms: several times what waking a thread takes.
void dawdle(std::uint64_t i) {
  if (i % 3 == 1) std::this_thread::sleep_for(std::chrono::microseconds(i % 200));
}

TEST(InOrder, TakesEveryItemOnceAndInOrder) {
  for (const unsigned jobs : {1u, 2u, 3u, 8u}) {
    for (const std::uint64_t n : {0u, 1u, 2u, 7u, 300u}) {
      std::vector<std::uint64_t> taken;
      std::atomic<std::uint64_t> made{0};
      in_order<std::uint64_t>(
          n, jobs,
          [&](std::uint64_t i, std::uint64_t& item) {
            dawdle(i * 7);
            item = i * i;
            ++made;
          },
          [&](std::uint64_t i, std::uint64_t& item) {
            EXPECT_EQ(item, i * i);
            dawdle(i * 5);
            taken.push_back(i);
          });
      EXPECT_EQ(made.load(), n);
      ASSERT_EQ(taken.size(), n) << jobs;
      for (std::uint64_t i = 0; i < n; ++i) EXPECT_EQ(taken[i], i);
    }
  }
}

TEST(InOrder, TheEarliestErrorEndsIt) {
  for (const unsigned jobs : {1u, 2u, 4u}) {
    for (const bool slow : {false, true}) {
      std::uint64_t taken = 0;
      std::string what;
      try {
        in_order<int>(
            100, jobs,
            [&](std::uint64_t i, int&) {
              if (slow) dawdle(100 - i);  // later items tend to be ready first
              if (i >= 30 && i % 2 == 0) throw std::runtime_error(std::to_string(i));
            },
            [&](std::uint64_t, int&) { ++taken; });
      } catch (const std::runtime_error& error) {
        what = error.what();
      }
      EXPECT_EQ(what, "30");
      EXPECT_EQ(taken, 30u);
      EXPECT_THROW(in_order<int>(
                       100, jobs, [](std::uint64_t, int&) {},
                       [](std::uint64_t i, int&) {
                         if (i == 9) throw std::runtime_error("taken");
                       }),
                   std::runtime_error);
    }
  }
}

// How many of 2,000 items the calling thread makes, if each takes `each`.
std::uint64_t made_here(std::chrono::microseconds each) {
  const auto here = std::this_thread::get_id();
  std::uint64_t own = 0;
  struct Item {
    std::thread::id maker;
  };
  in_order<Item>(
      2'000, 2,
      [&](std::uint64_t, Item& item) {
        if (each.count() != 0) std::this_thread::sleep_for(each);
        item.maker = std::this_thread::get_id();
      },
      [&](std::uint64_t, Item& item) { own += item.maker == here ? 1u : 0u; });
  return own;
}

TEST(InOrder, TinyItemsAreMadeByWhoeverTakesThem) { EXPECT_GE(made_here(std::chrono::microseconds(0)), 200u); }

TEST(InOrder, OthersAreMadeAheadOfNeed) { EXPECT_LE(made_here(std::chrono::microseconds(200)), 1'000u); }

}  // namespace
}  // namespace batchfeed
