// SPDX-License-Identifier: MIT
//
// Lets readers of a chunk in one at a time: of those that wait or are still reading ahead,
// the one with the first rows goes first, as the others go on behind it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

namespace batchfeed::cbf {

class Turns {
 public:
  // A reader whose rows begin at `row`. Counts from construction on: no later row's wait() returns before it is gone.
  // After its own wait(), no other one's returns until it is gone.
  class Turn {
   public:
    Turn(Turns& turns, std::uint32_t row) : turns_(turns) {
      const std::lock_guard lock(turns_.mutex_);
      me_ = turns_.come_.insert(row);
    }
    ~Turn() {
      {
        const std::lock_guard lock(turns_.mutex_);
        turns_.come_.erase(me_);
        if (mine_) turns_.busy_ = false;
      }
      turns_.next_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    void wait() {
      std::unique_lock lock(turns_.mutex_);
      turns_.next_.wait(lock, [&] { return !turns_.busy_ && turns_.come_.begin() == me_; });
      turns_.busy_ = mine_ = true;
    }

   private:
    Turns& turns_;
    std::multiset<std::uint32_t>::iterator me_;
    bool mine_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable next_;
  std::multiset<std::uint32_t> come_;  // first rows of the Turns that live
  bool busy_ = false;
};

}  // namespace batchfeed::cbf
