// SPDX-License-Identifier: MIT
#include "pack/minibatch_pool.h"

#include <new>
#include <utility>

namespace batchfeed {

void Minibatch::swap(Minibatch& other) noexcept {
  std::swap(streams, other.streams);
  std::swap(keys, other.keys);
  std::swap(epoch, other.epoch);
  std::swap(index, other.index);
  std::swap(position, other.position);
  std::swap(end_of_epoch, other.end_of_epoch);
  std::swap(end_of_sweep, other.end_of_sweep);
  std::swap(num_samples, other.num_samples);
  std::swap(num_sequences, other.num_sequences);
  std::swap(invalid, other.invalid);
  std::swap(pool_, other.pool_);
}

void Minibatch::give_back() noexcept { pool_->keep_of(*this); }

namespace detail {

namespace {
std::uint64_t bytes_of(const std::vector<StreamBatch>& streams) noexcept {
  std::uint64_t bytes = 0;
  for (const StreamBatch& s : streams) {
    bytes += s.values.capacity() + s.indices.capacity() * sizeof(std::int32_t) +
             (s.offsets.capacity() + s.sample_begin.capacity()) * sizeof(std::int64_t) +
             s.layout.entries.capacity() * sizeof(LayoutEntry);
  }
  return bytes;
}

// `one` stays with the caller, to be freed, if there is no memory to note it.
template <class T>
void push(std::vector<T>& all, T& one) noexcept {
  try {
    all.push_back(std::move(one));
  } catch (const std::bad_alloc&) {
  }
}

template <class T>
void pop(std::vector<T>& all, T& one) noexcept {
  if (all.empty()) return;
  one = std::move(all.back());
  all.pop_back();
}
}  // namespace

bool MinibatchPool::has_room(const std::vector<StreamBatch>& streams) const noexcept {
  if (closed_ || streams.empty()) return false;
  return streams_.size() < (bytes_of(streams) <= kSmall ? kMostSmall : most_);
}

void MinibatchPool::keep(std::vector<StreamBatch>& streams) noexcept {
  std::vector<StreamBatch> given;
  given.swap(streams);
  const std::lock_guard lock(mutex_);
  if (has_room(given)) push(streams_, given);
}

void MinibatchPool::keep_of(Minibatch& batch) noexcept {
  // Does not wait for the lock: in a forked child the thread that held it does not exist.
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int tries = 0; !lock.owns_lock(); ++tries) {
    if (tries == 1000) return;
    static_cast<void>(lock.try_lock());
  }
  if (has_room(batch.streams)) push(streams_, batch.streams);
  const bool small = batch.keys.capacity() * sizeof(std::uint64_t) <= kSmall;
  if (!closed_ && batch.keys.capacity() != 0 && keys_.size() < (small ? kMostSmall : most_)) push(keys_, batch.keys);
}

void MinibatchPool::lend(std::vector<StreamBatch>& streams) noexcept {
  if (!streams.empty()) return;
  const std::lock_guard lock(mutex_);
  pop(streams_, streams);
}

void MinibatchPool::lend(std::vector<std::uint64_t>& keys) noexcept {
  if (keys.capacity() != 0) return;
  const std::lock_guard lock(mutex_);
  pop(keys_, keys);
}

void MinibatchPool::close() noexcept {
  decltype(streams_) streams;
  decltype(keys_) keys;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  streams.swap(streams_);
  keys.swap(keys_);
}

}  // namespace detail
}  // namespace batchfeed
