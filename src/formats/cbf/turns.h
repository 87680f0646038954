// SPDX-License-Identifier: MIT
//
// Readers of a chunk one at a time: of those who have come the one with the first rows,
// behind which the others go on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

namespace batchfeed::cbf {

class Turns {
 public:
  // Who lives has come; after wait() nobody else's wait() returns until this is gone.
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
  std::multiset<std::uint32_t> come_;  // first rows of those who read
  bool busy_ = false;
};

}  // namespace batchfeed::cbf
