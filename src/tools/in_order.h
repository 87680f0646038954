// SPDX-License-Identifier: MIT
//
// A loop whose body is made by several threads and taken in order by one: item i
// is made ahead of need, never more than a few at a time; or by the one itself,
// where waking a thread would take longer.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"

namespace batchfeed {

// Calls make(i, item) for i = 0 .. n-1 on `jobs` threads or the calling one, and take(i, item)
// in order on the calling one. Items are used again. An exception of either ends the loop and
// is thrown here, the one of the lowest i.
template <class Item, class Make, class Take>
class InOrder {
 public:
  InOrder(std::uint64_t n, unsigned jobs, const Make& make, Take& take) : n_(n), make_(make), take_(take) {
    const std::uint64_t most = std::min<std::uint64_t>(jobs, n);
    ahead_ = most + 1;
    made_.resize(ahead_);
    if (most <= 1 || start_threads(threads_, most, [this](std::size_t) { work(); }) == 0) {
      Item item;
      for (std::uint64_t i = 0; i < n; ++i) {
        make_(i, item);
        take_(i, item);
      }
      return;
    }
    try {
      for (std::uint64_t i = 0; i < n; ++i) consume(i);
    } catch (...) {
      stop();
      throw;
    }
    stop();
  }

 private:
  struct Made {
    bool there = false;
    std::unique_ptr<Item> item;
    std::exception_ptr error;
  };

  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stopped_ || next_ == n_ || next_ < taken_ + ahead_; });
      if (stopped_ || next_ == n_) return;
      const std::uint64_t i = next_++;
      Made made = make(i, lock);
      made_[i % ahead_] = std::move(made);
      ready_.notify_one();
    }
  }

  // Called with the lock held, and releases it while the item is made.
  Made make(std::uint64_t i, std::unique_lock<std::mutex>& lock) {
    Made made{.there = true, .item = {}, .error = {}};
    if (!idle_.empty()) {
      made.item = std::move(idle_.back());
      idle_.pop_back();
    }
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    try {
      if (!made.item) made.item = std::make_unique<Item>();
      make_(i, *made.item);
    } catch (...) {
      made.error = std::current_exception();
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    lock.lock();
    took_ = took;
    return made;
  }

  void consume(std::uint64_t i) {
    std::unique_lock lock(mutex_);
    Made made;
    if (next_ == i) {  // no thread has begun to make it
      ++next_;
      made = make(i, lock);
    } else {
      ready_.wait(lock, [&] { return made_[i % ahead_].there; });
      made = std::exchange(made_[i % ahead_], {});
    }
    lock.unlock();
    if (made.error) std::rethrow_exception(made.error);
    take_(i, *made.item);
    lock.lock();
    idle_.push_back(std::move(made.item));
    ++taken_;
    if (took_ * (taken_ + ahead_ - next_) > kWakingAThread) room_.notify_all();
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      room_.notify_all();
    }
    for (std::thread& t : threads_) t.join();
  }

  std::uint64_t n_;
  const Make& make_;
  Take& take_;
  std::uint64_t ahead_ = 0;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::uint64_t next_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::chrono::nanoseconds took_{0};  // the item last made
  std::vector<Made> made_;            // item i at i % ahead_: a thread must not have to ask for memory here
  std::vector<std::unique_ptr<Item>> idle_;
  std::vector<std::thread> threads_;
};

template <class Item, class Make, class Take>
void in_order(std::uint64_t n, unsigned jobs, const Make& make, Take&& take) {
  InOrder<Item, Make, Take>(n, jobs, make, take);
}

}  // namespace batchfeed
