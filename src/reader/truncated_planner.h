// SPDX-License-Identifier: MIT
//
// Truncated BPTT (minibatch.md 11): rows of sequences laid end to end, cut every
// `truncation_length` steps.
#pragma once

#include <batchfeed/options.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reader/draws.h"
#include "reader/epoch_table.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// How many sequences wait in the rows of a Mark::queue that TruncatedPlanner wrote.
std::uint64_t waiting(const std::vector<std::uint64_t>& queue) noexcept;

class TruncatedPlanner final : public Planner {
 public:
  TruncatedPlanner(Draws draws, std::uint64_t sweep_samples, const ReaderOptions& options);

  void begin_epoch(std::uint64_t epoch) override;
  void restore(const Mark& mark) override;
  void next(Plan& out) override;
  bool draws_ahead() const override { return true; }

 private:
  // There may be a million rows, most of them with one sequence or two, or none.
  struct Row {
    explicit Row(std::uint32_t at) : index(at) {}

    std::uint32_t index;
    std::uint32_t cursor = 0;         // the sample of the first sequence that comes next
    std::uint64_t available = 0;      // samples of the queue behind the cursor
    std::vector<Draws::Drawn> drawn;  // those from `first` on are the queue
    std::size_t first = 0;

    bool empty() const noexcept { return first == drawn.size(); }
    std::span<const Draws::Drawn> queue() const noexcept { return std::span(drawn).subspan(first); }
    void push(const Draws::Drawn& one);
    void pop() noexcept { ++first; }
  };

  std::uint64_t length() const;  // steps of a minibatch
  void enter(std::uint64_t epoch, bool behind_another);
  void resize_rows();
  void refill();
  void refill(Row& row);
  bool nothing_comes() const noexcept { return draws_.exhausted() || draws_.position() >= epoch_end_; }
  void ask_again();
  void take(Row& row, Plan& out);
  void save_queue(std::vector<std::uint64_t>& out) const;

  Draws draws_;
  ReaderOptions options_;
  EpochTable epochs_;
  std::uint64_t sweep_samples_;
  // Of `planned_rows_` rows those that hold anything, and others only as long as sequences come: rows that ran dry
  // at the end of an epoch, or never got any, cost nothing.
  std::vector<Row> rows_;
  std::uint64_t planned_rows_ = 0;
  std::uint64_t size_ = 0;                      // minibatch size that the rows were made for
  std::uint64_t first_row_ = 0, own_rows_ = 0;  // Shard::even plans all rows and delivers these
  std::uint64_t epoch_end_ = 0;
  bool asked_again_ = false;  // ask_again() has drawn behind the end of the epoch
  bool swept_ = false;
};

}  // namespace batchfeed::reader
