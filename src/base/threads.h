// SPDX-License-Identifier: MIT
//
// Starting as many threads as the system gives, and the CPU that a thread runs on.
#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace batchfeed {

// About the time that waking a thread takes: work that takes less is done in the thread that needs it.
inline constexpr std::chrono::microseconds kWakingAThread{25};

// The number of the CPU that this thread runs on; below 0 where the system does not say.
inline int current_cpu() noexcept {
#if defined(__linux__)
  return ::sched_getcpu();
#else
  return -1;
#endif
}

// As many threads as are wanted; for 0 one a core.
inline unsigned threads_of(unsigned wanted) noexcept {
  return wanted != 0 ? wanted : std::max(1u, std::thread::hardware_concurrency());
}

// Starts work(i) for i = 0 .. n-1, each in a thread of its own, and returns how many the system gave, if need be
// none: what was not started is for the caller to do.
template <class Thread, class Work>
std::size_t start_threads(std::vector<Thread>& threads, std::size_t n, const Work& work) {
  try {
    threads.reserve(n);
    while (threads.size() < n) threads.emplace_back(work, threads.size());
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return threads.size();
}

}  // namespace batchfeed
