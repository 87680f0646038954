// SPDX-License-Identifier: MIT
//
// Buffer<T>: growable memory for plain values that is never initialised and
// never shrinks, so that a recycled chunk or minibatch allocates nothing.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace batchfeed {

namespace detail {
// Memory aligned to 64 bytes; from 64 KiB on it lies on large pages where the system has
// them, as touching pages for the first time costs most. nullptr if there is no memory.
void* allocate(std::size_t bytes) noexcept;
// Frees what allocate(bytes) returned, for the same `bytes`. Does nothing for nullptr.
void release(void* memory, std::size_t bytes) noexcept;
}  // namespace detail

// Growing moves the values and invalidates pointers to them; it throws std::bad_alloc and leaves the buffer unchanged
// then. Aligned to 64 bytes, with at least 64 readable and writable bytes behind capacity(), so that kernels may load
// and store whole vectors at the end.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kPadding = 64;

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { detail::release(data_, bytes_of(capacity_)); }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  std::span<const T> span() const noexcept { return {data_, size_}; }

  void clear() noexcept { size_ = 0; }

  // Room for n values in all; the contents stay. A buffer that is not empty grows by at least half its capacity.
  void reserve(std::size_t n) {
    if (n > capacity_) grow(n);
  }
  // Sets the size; new values are uninitialised.
  void resize(std::size_t n) {
    reserve(n);
    size_ = n;
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void append(const T* from, std::size_t n) {
    reserve(size_ + n);
    if (n != 0) std::memcpy(data_ + size_, from, n * sizeof(T));
    size_ += n;
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static constexpr std::size_t bytes_of(std::size_t capacity) noexcept { return capacity * sizeof(T) + kPadding; }

  void grow(std::size_t n) {
    const std::size_t limit = (static_cast<std::size_t>(-1) / 2 - 2 * kPadding) / sizeof(T);
    if (n > limit) throw std::bad_alloc();
    // The first request is mostly the final size; a sixteenth more is for reuse by something a little larger.
    std::size_t wanted = size_ == 0 ? n + n / 16 : capacity_ + capacity_ / 2;
    if (wanted < n) wanted = n;
    if (wanted > limit) wanted = limit;
    T* fresh = static_cast<T*>(detail::allocate(bytes_of(wanted)));
    if (fresh == nullptr) throw std::bad_alloc();
    if (size_ != 0) std::memcpy(fresh, data_, size_ * sizeof(T));
    detail::release(data_, bytes_of(capacity_));
    data_ = fresh;
    capacity_ = wanted;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace batchfeed
