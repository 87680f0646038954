// SPDX-License-Identifier: MIT
//
// The one owner of chunks: reads them ahead of need on worker threads, hands
// them to the packing thread, recycles their memory when they are let go.
#pragma once

#include <batchfeed/source.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/threads.h"
#include "model/errors_ahead.h"
#include "reader/compact.h"

namespace batchfeed::reader {

struct LoadedChunk {
  Chunk chunk;
  std::vector<std::uint64_t> keys;  // per row
  std::vector<pack::Plain> plain;   // each column
  std::uint64_t memory = 0;         // bytes, as counted in ChunkStore::memory()

  std::uint64_t bytes() const noexcept { return chunk.memory() + keys.capacity() * sizeof(std::uint64_t); }
};

// Thrown to end work that nobody waits for any more.
struct Stopped : std::exception {};

// Two sides: loader threads of its own, and one user thread that calls the
// functions below. What get() returned stays valid until the user drops it.
//
// With a memory limit, chunks are asked for ahead only while there is room, and
// those that nobody has got yet make room for one that is needed. What is needed
// does not depend on threads; so neither does whether it fits.
class ChunkStore {
 public:
  struct Settings {
    // Every stream must have at least the nominal samples of a sequence; those that
    // do not are marked as damaged.
    bool frames = false;
    bool equal = false;              // the same of those whose streams differ in length
    unsigned threads = 0;            // 0: all in the caller's thread
    std::size_t spares = 1;          // chunks let go whose memory is kept for others; none with a limit
    std::uint64_t memory_limit = 0;  // bytes; 0: none
  };
  ChunkStore(const Source& source, const Settings& settings);
  ~ChunkStore();  // waits for the reads under way
  // No read begins after it: what would need one throws Stopped. By any thread.
  void stop() noexcept;
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  // Asks for a chunk that will be needed. Does nothing without threads or room.
  void want(std::uint32_t id);
  // Reads it now if nobody has begun to. Throws what reading it threw, and Error
  // (limit) if what was got and not dropped takes more than the limit.
  const LoadedChunk& get(std::uint32_t id);
  // Those of `chunks` that may go are freed. The others stay in `chunks`, and so do those under way.
  template <class MayGo>
  void drop(std::vector<std::uint32_t>& chunks, MayGo&& may_go) {
    const std::lock_guard lock(mutex_);
    std::erase_if(chunks, [&](std::uint32_t id) {
      const auto at = slots_.find(id);
      if (at == slots_.end()) return true;
      if (!droppable(*at->second) || !may_go(id)) return false;
      drop(at);
      return true;
    });
  }
  // Those that are held or asked for.
  void list(std::vector<std::uint32_t>& out) const;

  // The user begins anew: what it got may make room for what it needs now, and what could not be read is tried again.
  void give_back();

  // What get() returned, as the user's own: the chunk is as if dropped, and read anew if it is needed again. Its memory
  // comes back, by any thread, as long as the store lives. Without a memory limit.
  struct ComeBack {
    ChunkStore* store = nullptr;
    void operator()(LoadedChunk* chunk) const noexcept { store->come_back(std::unique_ptr<LoadedChunk>(chunk)); }
  };
  using Taken = std::unique_ptr<LoadedChunk, ComeBack>;
  Taken take_out(std::uint32_t id);

  // The number of a chunk that is held; nothing if it is not.
  std::optional<std::uint32_t> id_of(const Chunk& chunk) const;

  // Whether all that was asked for is read, or under way, or read in no time.
  bool keeps_up() const {
    const std::lock_guard lock(mutex_);
    return queue_.empty() || !worth_waking();
  }

  // Bytes of all chunks held, spare ones included.
  std::uint64_t memory() const noexcept { return memory_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

 private:
  enum class State : std::uint8_t { queued, loading, ready, failed };
  struct Slot {
    State state = State::queued;
    std::unique_ptr<LoadedChunk> data;  // when read, unless there was no memory for it
    std::exception_ptr error;
    bool got = false;            // the user has it
    bool of_before = false;      // was under way when the user began anew: if it fails, it is read again
    std::uint64_t expected = 0;  // bytes, as counted in coming_
  };
  using Slots = std::unordered_map<std::uint32_t, std::unique_ptr<Slot>>;

  // With the lock held: whether what waits to be read takes longer than waking a thread for it. A few tiny chunks are
  // read by whoever needs them.
  bool worth_waking() const noexcept { return took_ * queue_.size() > kWakingAThread; }

  static bool droppable(const Slot& slot) noexcept { return slot.state != State::loading; }
  Slots::iterator drop(Slots::iterator at);
  void spare(std::unique_ptr<LoadedChunk> chunk) noexcept;
  void come_back(std::unique_ptr<LoadedChunk> chunk) noexcept;
  void load(std::uint32_t id, Slot& slot, std::unique_lock<std::mutex>& lock);
  std::uint64_t expected(std::uint32_t id) const;
  bool has_room(std::uint32_t id) const;
  void make_room(std::uint32_t id, std::unique_lock<std::mutex>& lock);
  void begin(std::uint32_t id, Slot& slot);
  void take(Slot& slot);
  void settle(std::uint32_t id, std::unique_lock<std::mutex>& lock);
  void add_memory(std::uint64_t before, std::uint64_t now) noexcept;
  void read(std::uint32_t id, LoadedChunk& out);
  void run();

  const Source& source_;
  Compactor compactor_;
  Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable work_, done_;
  bool stop_ = false;
  Slots slots_;
  std::deque<std::uint32_t> queue_;
  std::vector<std::unique_ptr<LoadedChunk>> free_;
  std::uint64_t spare_bytes_ = 0;  // of those in free_
  std::unordered_map<std::uint32_t, ErrorsAhead>
      errors_;  // of chunks that were read, and that the user did not get yet
  std::atomic<std::uint64_t> memory_{0}, peak_{0};
  std::uint64_t coming_ = 0;                               // bytes expected of chunks queued or under way
  std::uint64_t got_ = 0;                                  // bytes of chunks the user has
  std::chrono::nanoseconds took_ = std::chrono::hours(1);  // the last chunk to be read
  double expansion_ = 0;  // the most bytes in memory for one of the file; 0: none was read yet
  std::vector<std::thread> threads_;
};

}  // namespace batchfeed::reader
