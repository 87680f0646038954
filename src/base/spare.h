// SPDX-License-Identifier: MIT
//
// Memory that all files share: a corpus may have thousands, each of which is read once in a while.
#pragma once

#include <batchfeed/buffer.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace batchfeed {

// Lends a buffer, empty, with what memory it has. As many as were in use at once are kept, at most two for each CPU, or
// 16, and none that is unusually large. Thread-safe.
template <class T>
class Spare {
 public:
  static constexpr std::size_t kLargest = (4 << 20) / sizeof(T);  // that is kept

  Spare() {
    for (auto& spare : spares()) {
      if (spare.load(std::memory_order_relaxed) == nullptr) continue;
      buffer_.reset(spare.exchange(nullptr, std::memory_order_acquire));
      if (!buffer_) continue;
      buffer_->clear();
      return;
    }
    buffer_ = std::make_unique<Buffer<T>>();
  }
  ~Spare() {
    if (!buffer_ || buffer_->capacity() == 0 || buffer_->capacity() > kLargest) return;
    for (auto& spare : spares()) {
      Buffer<T>* none = nullptr;
      if (!spare.compare_exchange_strong(none, buffer_.get(), std::memory_order_release, std::memory_order_relaxed))
        continue;
      static_cast<void>(buffer_.release());
      return;
    }
  }
  Spare(Spare&&) noexcept = default;  // the other one may only be destroyed
  Spare& operator=(Spare&&) = delete;
  Buffer<T>& operator*() const noexcept { return *buffer_; }

 private:
  // Without a lock: in a forked child the thread that held it would not exist. Who finds no spare buffer makes one
  // more.
  static std::vector<std::atomic<Buffer<T>*>>& spares() {
    static auto* const all =  // never destroyed: threads may outlive static objects
        new std::vector<std::atomic<Buffer<T>*>>(2 * std::max(std::thread::hardware_concurrency(), 8U));
    return *all;
  }

  std::unique_ptr<Buffer<T>> buffer_;
};

}  // namespace batchfeed
