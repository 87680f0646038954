// SPDX-License-Identifier: MIT
#include "base/ring.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace batchfeed {
namespace {

// A step that is a multiple of 3 pops the front, any other is pushed at the back.
RC_GTEST_PROP(Ring, IsAQueue, (const std::vector<int>& steps)) {
  Ring<int> ring;
  std::deque<int> queue;
  for (const int step : steps) {
    if (step % 3 != 0) {
      ring.push_back(int{step});
      queue.push_back(step);
    } else if (!queue.empty()) {
      RC_ASSERT(ring.pop_front() == queue.front());
      queue.pop_front();
    }
    RC_ASSERT(ring.size() == queue.size());
    RC_ASSERT(ring.empty() == queue.empty());
    if (queue.empty()) continue;
    RC_ASSERT(ring.front() == queue.front());
    RC_ASSERT(ring.back() == queue.back());
    for (std::size_t i = 0; i < queue.size(); ++i) RC_ASSERT(std::as_const(ring)[i] == queue[i]);
  }
}

TEST(Ring, GrowsWhileItGoesRound) {
  Ring<std::unique_ptr<int>> ring;
  int next = 0, out = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7; ++i) ring.push_back(std::make_unique<int>(next++));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(*ring.pop_front(), out++);
  }
  EXPECT_EQ(ring.size(), 100u);
  for (std::size_t i = 0; i < ring.size(); ++i) EXPECT_EQ(*ring[i], out + static_cast<int>(i));
}

// A thread type of which the system gives only three.
class Scarce {
 public:
  template <class Work>
  Scarce(const Work& work, std::size_t i) {
    if (i == 3) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    work(i);
  }
};

class OutOfMemory {
 public:
  template <class Work>
  OutOfMemory(const Work& /*work*/, std::size_t /*i*/) {
    throw std::bad_alloc();
  }
};

TEST(Threads, AsManyStartAsThereAre) {
  std::vector<std::size_t> started;
  const auto work = [&](std::size_t i) { started.push_back(i); };
  std::vector<Scarce> scarce;
  EXPECT_EQ(start_threads(scarce, 9, work), 3u);
  EXPECT_EQ(started, (std::vector<std::size_t>{0, 1, 2}));
  scarce.clear();
  EXPECT_EQ(start_threads(scarce, 2, work), 2u);
  scarce.clear();
  EXPECT_EQ(start_threads(scarce, 0, work), 0u);
  std::vector<OutOfMemory> none;
  EXPECT_EQ(start_threads(none, 2, work), 0u);
  EXPECT_EQ(started.size(), 5u);
  EXPECT_EQ(threads_of(5), 5u);
  EXPECT_GE(threads_of(0), 1u);
}

}  // namespace
}  // namespace batchfeed
