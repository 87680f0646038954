// SPDX-License-Identifier: MIT
//
// Plans become answers: asks for the chunks of what is planned ahead, finds the
// rows of the next answer in them, and packs it. Knows of no queue and no caller.
#pragma once

#include <batchfeed/source.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/ring.h"
#include "reader/answer.h"
#include "reader/chunk_store.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// One per run, used by one thread; but pack() may be called by two, and stop() by any.
class Producer {
 public:
  struct Settings {
    Mark place;                       // the first answer is the one behind it
    std::vector<StreamInfo> streams;  // as delivered
    std::uint64_t max_invalid = 0;
    bool at_once = false;  // more than max_invalid are an error even before a sound sequence was delivered
    bool keep_in_memory = false;
    bool frames = false;           // frame packing
    bool hands_over = false;       // an answer that takes all of a chunk may own it; without a memory limit
    std::size_t chunks_ahead = 0;  // asked for in front of the window, to keep the loaders busy
  };

  // The store is shared with the planner (truncated packing looks into chunks)
  // and outlives restarts, with what it holds.
  Producer(const Source& source, ChunkStore& store, Planner& planner, RunMemory& memory, const Settings& settings);
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Asks for what the first answers will need, if the planner knows before it plans.
  void ask_for_first_chunks();

  // Makes the next answer without its data, or with an error; an error of planning is that of each later call, too.
  // The chunks that pack() needs are in memory then, and stay until let_go().
  void resolve_next(Answer& out);
  // Packs what was resolved. Changes nothing but the answer, and a chunk that is its own.
  void pack(Answer& out) const noexcept;

  // Whether let_go() may drop chunks, once the answers resolved so far are packed.
  bool window_moved() const noexcept { return window_moved_; }
  // Drops the chunks that neither the window nor a plan wants, except `looked_into`.
  void let_go(std::span<const std::uint32_t> looked_into);

  // Whether the next answer is planned and its chunks are there.
  bool next_is_loaded() const;
  // Whether planning itself looks into chunks, and so may take long.
  bool draws_ahead() const { return planner_.draws_ahead(); }

  // Gives up the work under way, as nobody waits for answers any more.
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  // Throws Stopped after stop(): an answer, and its plan, may need hundreds of slow chunks.
  void expect_running() const;

 private:
  struct Lost {
    std::uint64_t unpaid = 0, paid = 0;  // damaged sequences: what counts against max_invalid, and what does not
  };
  void enter();
  std::size_t most_plans();
  void look_ahead();
  void want_chunks(Plan& plan);
  void resolve(const Plan& plan, Answer& out);
  Lost find_rows(const Plan& plan, Answer& out);
  std::uint32_t samples_of_part(const PlanItem& item, const LoadedChunk& chunk) const;
  void take_whole(const Plan& plan, Answer& out);
  void count_damaged(const Plan& plan, Lost lost, Answer& out);
  void count_down(const Plan& plan);
  bool is_wanted(std::uint32_t chunk) const { return in_window_[chunk] != 0 || planned_uses_[chunk] != 0; }
  std::exception_ptr located(const pack::Misfit& misfit, const Answer& job) const noexcept;

  const Source& source_;
  ChunkStore& store_;
  Planner& planner_;
  RunMemory& memory_;
  const Settings settings_;
  std::atomic<bool> stop_{false};  // read between two chunks

  Ring<std::unique_ptr<Plan>> planned_;
  bool entered_ = false;                     // the planner is at settings_.place, or behind it
  std::exception_ptr planning_error_;        // found while looking ahead; its place is behind planned_
  bool paused_ = false;                      // the last plan ended an epoch
  std::vector<std::uint32_t> planned_uses_;  // per chunk: plans in planned_ that need it
  std::vector<const LoadedChunk*> held_;     // per chunk: got from the store and not dropped since
  std::size_t holds_ = 0;                    // how many of held_ are set
  std::vector<std::uint8_t> in_window_;      // per chunk: in window_
  std::uint64_t ahead_ = 0;                  // chunks outside window_ that planned_ asked for
  std::vector<std::uint64_t> seen_;          // per chunk: number of the plan that saw it last
  std::uint64_t plan_number_ = 0;
  std::vector<std::uint32_t> window_;  // of the last answer resolved
  std::uint64_t window_generation_ = 0;
  bool window_moved_ = false;
  std::vector<std::uint32_t> leaving_;               // chunks that were wanted, until they are dropped or wanted again
  bool knows_all_ = false;                           // no other chunk in the store is unwanted
  std::uint64_t invalid_ = settings_.place.invalid;  // damaged sequences, as in Mark
  std::uint64_t tolerated_ = settings_.place.tolerated;
  std::uint64_t planned_invalid_ = invalid_, planned_tolerated_ = tolerated_;  // those the planner knows of
  // Whether any sequence was delivered, up to here or before settings_.place.
  bool delivered_ = (settings_.place.begun || settings_.place.follows) && !settings_.place.none_yet;
};

}  // namespace batchfeed::reader
