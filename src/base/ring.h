// SPDX-License-Identifier: MIT
//
// A queue that asks for no memory once it is large enough, where std::deque does every few elements.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace batchfeed {

template <class T>
class Ring {
 public:
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return slots_[(first_ + i) & (slots_.size() - 1)]; }
  const T& operator[](std::size_t i) const noexcept { return slots_[(first_ + i) & (slots_.size() - 1)]; }
  T& front() noexcept { return slots_[first_]; }
  const T& front() const noexcept { return slots_[first_]; }
  T& back() noexcept { return (*this)[size_ - 1]; }

  // If it throws std::bad_alloc, `value` has not been moved from.
  void push_back(T&& value) {
    if (size_ == slots_.size()) grow();
    slots_[(first_ + size_) & (slots_.size() - 1)] = std::move(value);
    ++size_;
  }
  T pop_front() {
    T out = std::move(slots_[first_]);
    first_ = (first_ + 1) & (slots_.size() - 1);
    --size_;
    return out;
  }

 private:
  // To a power of two, so that places are found with a mask.
  void grow() {
    std::vector<T> larger(slots_.empty() ? 8 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace batchfeed
