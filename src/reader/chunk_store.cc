// SPDX-License-Identifier: MIT
#include "reader/chunk_store.h"

#include <algorithm>
#include <system_error>

namespace batchfeed::reader {

ChunkStore::ChunkStore(const Source& source, bool frames, unsigned threads) : source_(source), frames_(frames) {
  threads_.reserve(threads);
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // Fewer threads than asked for, or none: slower, not wrong.
  }
}

ChunkStore::~ChunkStore() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ChunkStore::want(std::uint32_t id) {
  if (threads_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = slots_.try_emplace(id);
    if (!fresh) return;
    at->second = std::make_unique<Slot>();
    queue_.push_back(id);
  }
  work_.notify_one();
}

const LoadedChunk& ChunkStore::get(std::uint32_t id) {
  std::unique_lock lock(mutex_);
  const auto [at, fresh] = slots_.try_emplace(id);
  if (fresh) at->second = std::make_unique<Slot>();
  Slot& slot = *at->second;
  if (slot.state == State::queued) {
    if (!fresh) queue_.erase(std::find(queue_.begin(), queue_.end(), id));
    load(id, slot, lock);
  } else {
    done_.wait(lock, [&] { return slot.state == State::ready || slot.state == State::failed; });
  }
  if (slot.state == State::failed) std::rethrow_exception(slot.error);
  return *slot.data;
}

ChunkStore::Slots::iterator ChunkStore::drop(Slots::iterator at) {
  Slot& slot = *at->second;
  if (slot.state == State::queued) queue_.erase(std::find(queue_.begin(), queue_.end(), at->first));
  if (slot.state == State::ready || slot.state == State::failed) {
    // As many spares as can be filled at once; the rest goes back to the system.
    if (free_.size() <= threads_.size()) {
      free_.push_back(std::move(slot.data));
    } else {
      memory_.fetch_sub(slot.data->memory, std::memory_order_relaxed);
    }
  }
  return slots_.erase(at);
}

// Called with the lock held, which is given up while the chunk is read.
void ChunkStore::load(std::uint32_t id, Slot& slot, std::unique_lock<std::mutex>& lock) {
  slot.state = State::loading;
  if (free_.empty()) {
    slot.data = std::make_unique<LoadedChunk>();
  } else {
    slot.data = std::move(free_.back());
    free_.pop_back();
  }
  lock.unlock();
  std::exception_ptr error;
  try {
    read(id, *slot.data);
  } catch (...) {
    error = std::current_exception();
  }
  const std::uint64_t before = slot.data->memory;
  slot.data->memory = slot.data->chunk.memory() + slot.data->keys.capacity() * sizeof(std::uint64_t);
  memory_.fetch_add(slot.data->memory - before, std::memory_order_relaxed);
  lock.lock();
  slot.error = error;
  slot.state = error ? State::failed : State::ready;
  done_.notify_all();
}

void ChunkStore::read(std::uint32_t id, LoadedChunk& out) const {
  thread_local std::vector<SequenceInfo> table;
  source_.sequences(id, table);
  source_.read(id, out.chunk);
  std::uint32_t rows = 0;
  for (const SequenceInfo& s : table) rows = std::max(rows, s.row + 1);
  out.keys.assign(rows, 0);
  for (const SequenceInfo& s : table) out.keys[s.row] = s.key;
  if (!frames_) return;
  for (const SequenceInfo& s : table) {
    const bool complete = std::all_of(out.chunk.columns.begin(), out.chunk.columns.end(),
                                      [&](const Column& c) { return c.samples(s.row) >= s.samples; });
    if (complete || out.chunk.is_invalid(s.row)) continue;
    out.chunk.invalid.resize(rows, Chunk::kValid);
    out.chunk.invalid[s.row] = Chunk::kUnpaid;
  }
}

void ChunkStore::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const std::uint32_t id = queue_.front();
    queue_.pop_front();
    load(id, *slots_.at(id), lock);
  }
}

}  // namespace batchfeed::reader
