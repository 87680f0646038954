// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <mutex>

namespace batchfeed {

// Locks a static mutex, which is also held while the process forks, so that a child finds what it guards whole, and the
// mutex free.
template <std::mutex& mutex>
std::unique_lock<std::mutex> hold() noexcept {
  static const int registered = ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  static_cast<void>(registered);
  return std::unique_lock(mutex);
}

}  // namespace batchfeed
