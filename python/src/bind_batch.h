// SPDX-License-Identifier: MIT
//
// A minibatch as Python holds it.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>

#include <memory>
#include <mutex>
#include <vector>

namespace batchfeed::python {

struct BatchData {
  std::shared_ptr<Minibatch> batch;
  std::shared_ptr<const Source> source;  // knows the keys
};

// Minibatches that no array refers to any more, for their memory. Thread-safe.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  std::unique_ptr<Minibatch> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<Minibatch>();
    std::unique_ptr<Minibatch> out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }

  // Comes back by itself, while there is a pool to come back to.
  std::shared_ptr<Minibatch> share(std::unique_ptr<Minibatch> batch) {
    return {batch.release(), [pool = weak_from_this()](Minibatch* done) {
              std::unique_ptr<Minibatch> owned(done);
              if (const std::shared_ptr<Pool> there = pool.lock()) there->give(std::move(owned));
            }};
  }

 private:
  static constexpr std::size_t kMost = 2;

  void give(std::unique_ptr<Minibatch> batch) {
    const std::lock_guard lock(mutex_);
    if (spare_.size() < kMost) spare_.push_back(std::move(batch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Minibatch>> spare_;
};

}  // namespace batchfeed::python
