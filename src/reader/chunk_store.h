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
// functions below. A chunk from get() is valid until drop() drops it.
//
// With a memory limit, want() asks for chunks only while there is room, and get()
// drops chunks that were read ahead, but not got yet, to make room. Which chunks are
// got at once does not depend on threads; so neither does whether they fit.
class ChunkStore {
 public:
  struct Settings {
    // Marks sequences as damaged if a stream has fewer samples than their nominal length.
    bool frames = false;
    bool equal = false;              // marks those whose streams differ in length
    unsigned threads = 0;            // 0: all in the caller's thread
    std::size_t spares = 1;          // dropped chunks whose memory is kept for reuse; none with a limit
    std::uint64_t memory_limit = 0;  // bytes; 0: none
    std::chrono::nanoseconds waking_a_thread = kWakingAThread;
  };
  ChunkStore(const Source& source, const Settings& settings);
  ~ChunkStore();  // waits for the reads under way
  // No read begins after it: a get() that needs one throws Stopped. Callable from any thread.
  void stop() noexcept;
  ChunkStore(const ChunkStore&) = delete;
  ChunkStore& operator=(const ChunkStore&) = delete;

  // Asks for a chunk that will be needed. Does nothing without threads or room.
  void want(std::uint32_t id);
  // Reads the chunk now if no thread has begun to. Throws what reading it threw, and Error
  // (limit) if the chunks got and not dropped take more than the memory limit.
  const LoadedChunk& get(std::uint32_t id);
  // Drops those of `chunks` for which may_go(number) is true, and takes them off the list. Chunks being read stay
  // there.
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
  // The numbers of all chunks that are held or asked for.
  void list(std::vector<std::uint32_t>& out) const;

  // The user begins a new run: chunks that it got count as not got, and make room like others; reads that failed are
  // tried again.
  void give_back();

  // Hands a chunk that was got over to the user: the store has it no longer, and reads it anew if it is needed again.
  // Its destruction, on any thread, returns the memory to the store, which must outlive it. Not with a memory limit.
  struct ComeBack {
    ChunkStore* store = nullptr;
    void operator()(LoadedChunk* chunk) const noexcept { store->come_back(std::unique_ptr<LoadedChunk>(chunk)); }
  };
  using Taken = std::unique_ptr<LoadedChunk, ComeBack>;
  Taken take_out(std::uint32_t id);

  // The number of a chunk that is held; nothing if it is not.
  std::optional<std::uint32_t> id_of(const Chunk& chunk) const;

  // Whether all chunks asked for are read or being read, or will be in less time than it takes to wake a thread.
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
    bool of_before = false;      // was being read during give_back(): if it fails, it is read again
    std::uint64_t expected = 0;  // bytes, as counted in coming_
  };
  using Slots = std::unordered_map<std::uint32_t, std::unique_ptr<Slot>>;

  // With the lock held: whether reading all of the queue takes longer than waking a thread for it. If not, get() reads
  // these few tiny chunks itself.
  bool worth_waking() const noexcept { return took_ * queue_.size() > settings_.waking_a_thread; }

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
  std::uint64_t spare_bytes_ = 0;                          // memory of the chunks in free_
  std::unordered_map<std::uint32_t, ErrorsAhead> errors_;  // by chunk: what its reading found, until get() settles it
  std::atomic<std::uint64_t> memory_{0}, peak_{0};
  std::uint64_t coming_ = 0;                               // bytes expected of chunks queued or under way
  std::uint64_t got_ = 0;                                  // bytes of chunks the user has
  std::chrono::nanoseconds took_ = std::chrono::hours(1);  // time of the last read of a chunk
  double expansion_ = 0;  // the most bytes in memory for one byte of the file; 0: no chunk was read yet
  std::vector<std::thread> threads_;
};

}  // namespace batchfeed::reader
