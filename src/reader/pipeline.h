// SPDX-License-Identifier: MIT
//
// Plans become minibatches: chunks are read ahead in the order the plans will
// need them, minibatches are packed on one thread and wait in a short queue. A
// caller who would have to wait packs too, so that two cores are busy.
// The stream does not depend on threads or depth; an error arrives at its place
// in it.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/ring.h"
#include "pack/minibatch_pool.h"
#include "pack/pack.h"
#include "reader/chunk_store.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// Throws Error(format) where more sequences are damaged than are tolerated.
void expect_within(std::uint64_t invalid, std::uint64_t most);

class Pipeline {
 public:
  struct Settings {
    std::vector<StreamInfo> streams;  // as delivered
    std::uint64_t max_invalid = 0;
    bool goes_on = false;                                    // behind answers of the same run
    std::uint64_t invalid_before = 0, tolerated_before = 0;  // of a run that goes on, as in its Mark
    std::uint64_t memory_limit = 0;
    bool keep_in_memory = false;
    bool frames = false;        // frame packing
    bool small_chunks = false;  // may stay a little longer than needed, rather than be waited for
    bool prefetch = true;
    std::size_t chunks_ahead = 2;  // asked for in front of the window, to keep the loaders busy
    std::size_t depth = 4;         // minibatches that wait
  };

  enum class Stage : std::uint8_t { resolved, packing, done };
  // An answer on its way: its plan with the chunks it needs, then its data.
  struct Ready {
    Stage stage = Stage::resolved;
    std::unique_ptr<Plan> plan;
    std::vector<pack::Slice> slices;
    std::vector<pack::Piece> pieces;
    pack::Scratch scratch;
    Minibatch batch;
    Mark mark;
    std::exception_ptr error;
    bool end_of_epoch = false;
    std::uint64_t bytes = 0;
  };
  // What a run leaves to the next, so that it need not ask the system for it again.
  struct Memory {
    explicit Memory(std::size_t minibatches) : pool(std::make_shared<detail::MinibatchPool>(minibatches)) {}
    ~Memory() { pool->close(); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    std::vector<std::unique_ptr<Ready>> answers;
    std::vector<std::unique_ptr<Plan>> plans;
    std::shared_ptr<detail::MinibatchPool> pool;
  };

  // The store is shared with the planner (truncated packing looks into chunks)
  // and outlives restarts, with what it holds; so does the memory, which nobody
  // else may look at meanwhile.
  Pipeline(const Source& source, ChunkStore& store, Planner& planner, Memory& memory, const Settings& settings);
  ~Pipeline();  // waits for the minibatch being packed
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The next answer; `mark` becomes the place behind it. Swaps buffers with
  // `out`, whose memory is used again. Throws at the place of the fault, and again
  // each time after.
  void pop(Minibatch& out, Mark& mark);
  // Whether pop() has its answer ready, now or within this time. Always, where
  // nothing is prefetched. The memory of `out` is used meanwhile, as by pop().
  bool wait(std::chrono::milliseconds most, Minibatch& out);
  // Whether pop() has taken over its answer before, and it is no empty one on the way.
  bool at_hand() const noexcept {
    return !taken_.empty() && (!taken_.front()->batch.empty() || taken_.front()->batch.end_of_epoch);
  }

 private:
  void run();
  void produce_all();
  void give_back();
  void wake_producer();
  bool await_front(std::unique_lock<std::mutex>& lock, const std::chrono::steady_clock::time_point* until);
  Ready* unpacked() const;
  void pack_unlocked(Ready& job, std::unique_lock<std::mutex>& lock);
  void tell_caller(std::unique_lock<std::mutex>& lock);
  bool shares_cpu() const;
  bool give_way(std::unique_lock<std::mutex>& lock);
  void finish_all(std::unique_lock<std::mutex>& lock);
  std::size_t count(Stage stage) const;
  void note_looked_into();
  bool all_done() const;
  static bool is_small(const Ready& ready);

  bool take(Minibatch& out, const std::chrono::steady_clock::time_point* until);
  void put_away(std::unique_ptr<Ready> ready);
  void make_answers(bool together, std::size_t most);
  bool next_is_loaded() const;
  void produce(Ready& out);
  void resolve_next(Ready& out);
  void look_ahead();
  void want_chunks(Plan& plan);
  void expect_parts(const PlanItem& item, const LoadedChunk& chunk) const;
  void resolve(const Plan& plan, Ready& out);
  struct Lost {
    std::uint64_t unpaid = 0, paid = 0;  // damaged sequences: what counts against max_invalid, and what does not
  };
  Lost find_rows(const Plan& plan, Ready& out);
  void count_damaged(const Plan& plan, Lost lost, Ready& out);
  void pack(Ready& job) const noexcept;
  std::exception_ptr located(const TooLong& sequence) const noexcept;
  std::exception_ptr located(const pack::Misfit& misfit, const Ready& job) const noexcept;
  void count_down(const Plan& plan);
  void let_go();
  bool has_room() const;

  const Source& source_;
  ChunkStore& store_;
  Planner& planner_;
  Memory& memory_;  // answers: shared; plans: the producing side's
  Settings settings_;

  // Owned by the producing side.
  Ring<std::unique_ptr<Plan>> planned_;
  std::exception_ptr planning_error_;        // found while looking ahead; its place is behind planned_
  bool paused_ = false;                      // the last plan ended an epoch
  std::vector<std::uint32_t> planned_uses_;  // per chunk: plans in planned_ that need it
  std::vector<const LoadedChunk*> held_;     // per chunk: got from the store and not dropped since
  std::size_t holds_ = 0;                    // of held_
  std::vector<std::uint8_t> in_window_;      // per chunk: in window_
  std::uint64_t ahead_ = 0;                  // chunks outside window_ that planned_ asked for
  std::vector<std::uint64_t> seen_;          // per chunk: number of the plan that saw it last
  std::uint64_t plan_number_ = 0;
  std::vector<std::uint32_t> window_;  // of the last minibatch resolved
  std::uint64_t window_generation_ = 0;
  bool window_moved_ = false;                         // with it; chunks may go when it is packed
  std::vector<std::uint32_t> looked_into_;            // chunks of answers that are being packed, or will be
  std::uint64_t invalid_ = settings_.invalid_before;  // damaged sequences, as in Mark
  std::uint64_t tolerated_ = settings_.tolerated_before;
  std::uint64_t planned_invalid_ = invalid_, planned_tolerated_ = tolerated_;  // those the planner knows of
  bool first_plan_ = true;
  bool delivered_ = false;                            // a sequence, ever
  std::vector<std::unique_ptr<Ready>> fresh_, made_;  // to be filled; filled, on their way into the queue
  bool gave_way_ = false;                             // to the caller, for the answer that is packed next

  // Owned by the caller's side.
  Ready alone_;                               // where nothing is prefetched
  Ring<std::unique_ptr<Ready>> taken_;        // out of the queue, not handed out yet
  std::vector<std::unique_ptr<Ready>> used_;  // handed out

  // Shared.
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  Ring<std::unique_ptr<Ready>> queue_;  // in the order of the stream, whatever is packed first
  std::uint64_t queue_bytes_ = 0;
  bool small_ = false;             // the last one packed was
  std::atomic<bool> stop_{false};  // written with the lock held; read without it between two chunks
  bool waiting_at_end_ = false;
  int caller_cpu_ = -1;        // on which he asked last
  bool finishing_ = false;     // finish_all() waits for the caller
  std::exception_ptr broken_;  // ended thread_, behind what is in the queue
  std::thread thread_;
};

}  // namespace batchfeed::reader
