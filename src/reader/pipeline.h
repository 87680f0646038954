// SPDX-License-Identifier: MIT
//
// From the producer to the caller: minibatches are packed on one thread and wait in
// a short queue. A caller who would have to wait packs too, so that two cores are
// busy. The stream does not depend on threads or depth; an error arrives at its
// place in it.
#pragma once

#include <batchfeed/minibatch.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/ring.h"
#include "reader/answer.h"
#include "reader/chunk_store.h"
#include "reader/plan.h"
#include "reader/producer.h"

namespace batchfeed::reader {

class Pipeline {
 public:
  struct Settings {
    std::uint64_t memory_limit = 0;
    bool small_chunks = false;  // these may stay longer than needed, so that packing need not be waited for
    bool prefetch = true;
    std::size_t depth = 4;  // minibatches that wait
  };

  // Uses the memory of a run that is over; nobody else may touch `memory` while the pipeline lives.
  Pipeline(Producer& producer, const ChunkStore& store, RunMemory& memory, const Settings& settings);
  ~Pipeline();  // waits for the minibatch being packed
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // The next answer; `mark` becomes the place behind it. Swaps buffers with
  // `out`, whose memory is used again. Throws at the place of the fault, and again
  // each time after.
  void pop(Minibatch& out, Mark& mark);
  // Waits for at most `most`, and tells whether pop() then has an answer ready that is not empty or is the last of an
  // epoch, or many empty ones. Without prefetch it makes an answer, however long that takes, and returns true. Reuses
  // the memory of `out`, as pop() does.
  bool wait(std::chrono::milliseconds most, Minibatch& out);
  // Whether the next answer of pop() is out of the queue already, and is not empty or is the last of an epoch.
  bool at_hand() const noexcept {
    return !taken_.empty() && (!taken_.front()->batch.empty() || taken_.front()->batch.end_of_epoch);
  }

 private:
  // The caller's side.
  void produce_alone(Minibatch& out);
  bool take(Minibatch& out, const std::chrono::steady_clock::time_point* until);
  bool took_one_to_look_at() const noexcept;
  bool await_front(std::unique_lock<std::mutex>& lock, const std::chrono::steady_clock::time_point* until);
  void give_back();
  void wake_producer();

  // The producing side.
  void run();
  void produce_all();
  void take_answers(bool together);
  std::size_t most_at_once(bool together) const;
  void make_answers(bool together, std::size_t most);
  void finish_all(std::unique_lock<std::mutex>& lock);
  void note_looked_into();
  bool shares_cpu() const;
  bool give_way(std::unique_lock<std::mutex>& lock);
  void tell_caller(std::unique_lock<std::mutex>& lock);
  bool has_room() const;

  // Both.
  Answer* first_resolved() const;
  void pack_unlocked(Answer& job, std::unique_lock<std::mutex>& lock);
  void put_away(std::unique_ptr<Answer> answer);
  std::size_t count(Answer::Stage stage) const;
  bool all_done() const;
  static bool is_small(const Answer& answer);

  Producer& producer_;
  const ChunkStore& store_;
  RunMemory& memory_;
  Settings settings_;

  // Owned by the producing side.
  std::vector<std::unique_ptr<Answer>> fresh_, made_;  // to be filled; filled, on their way into the queue
  std::vector<std::uint32_t> looked_into_;             // chunks of answers that are being packed, or will be
  bool gave_way_ = false;                              // to the caller, for the answer that is packed next

  // Owned by the caller's side.
  Answer alone_;                               // where nothing is prefetched
  bool alone_made_ = false;                    // alone_ is made and not handed out yet
  Ring<std::unique_ptr<Answer>> taken_;        // out of the queue, not handed out yet
  std::vector<std::unique_ptr<Answer>> used_;  // handed out

  // Shared.
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  Ring<std::unique_ptr<Answer>> queue_;  // in the order of the stream, whatever is packed first
  std::uint64_t queue_bytes_ = 0;
  bool small_ = false;  // the last answer packed was small
  bool stop_ = false;
  bool waiting_at_end_ = false;  // behind the end of an epoch, until the caller asks for more
  int caller_cpu_ = -1;          // on which the caller asked last
  bool finishing_ = false;       // finish_all() waits for the caller
  std::exception_ptr broken_;    // what ended thread_; thrown behind the answers in the queue
  std::thread thread_;
};

}  // namespace batchfeed::reader
