// SPDX-License-Identifier: MIT
//
// Answers made of whole sequences or single frames.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "order/timeline.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// Where epochs begin and how long they are (minibatch.md 3).
struct EpochTable {
  explicit EpochTable(const ReaderOptions& options, std::uint64_t sweep_samples);
  std::uint64_t begin(std::uint64_t epoch) const noexcept { return epoch * size; }
  std::uint64_t size = 0;
};

// The minibatch size of an answer: a list by epoch, or by call on the timeline.
std::uint64_t minibatch_size(const ReaderOptions& options, std::uint64_t epoch, std::uint64_t index);

// A worker's part of a number (minibatch.md 10.1): 10 for 4 workers is 3 3 2 2.
constexpr std::uint64_t share(std::uint64_t n, std::uint64_t workers, std::uint64_t rank) noexcept {
  return n / workers + (n % workers > rank ? 1 : 0);
}

class SequencePlanner final : public Planner {
 public:
  // The timeline counts all workers' samples; with Shard::even it is that of one worker.
  SequencePlanner(std::unique_ptr<order::Timeline> timeline, std::uint64_t sweep_samples, const ReaderOptions& options);

  void begin_epoch(std::uint64_t epoch) override;
  void restore(const Mark& mark) override;
  void next(Plan& out) override;

 private:
  void draw(std::uint64_t size);
  void draw_one_by_one(std::uint64_t size);
  bool fits(const order::Item& item, std::uint64_t size) const noexcept;
  void emit(const order::Item& item, std::uint64_t size, Plan& out);
  void keep_own(Plan& out);
  void drop_partial(std::uint64_t size, Plan& out);

  std::unique_ptr<order::Timeline> timeline_;
  ReaderOptions options_;
  EpochTable epochs_;
  Mark mark_;
  order::Batch batch_, one_, pending_;
  bool has_pending_ = false;
  std::uint64_t longest_ = 0;  // of the answer being drawn one by one
};

}  // namespace batchfeed::reader
