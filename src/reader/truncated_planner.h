// SPDX-License-Identifier: MIT
//
// Truncated BPTT (minibatch.md 11): rows of sequences laid end to end, cut every
// `truncation_length` steps.
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "order/timeline.h"
#include "reader/plan.h"
#include "reader/sequence_planner.h"

namespace batchfeed::reader {

class TruncatedPlanner final : public Planner {
 public:
  // The real length of a sequence, or nothing if it is damaged and is not to be
  // delivered. Looks into the data; without it nominal lengths are taken.
  using Inspect = std::function<std::optional<std::uint32_t>(const order::Item&, Mark&)>;

  TruncatedPlanner(std::unique_ptr<order::Timeline> timeline, std::uint64_t sweep_samples, const ReaderOptions& options,
                   Inspect inspect);

  void begin_epoch(std::uint64_t epoch) override;
  void restore(const Mark& mark) override;
  void next(Plan& out) override;

 private:
  struct Queued {
    order::Item item;
    std::uint32_t length = 0;
    bool end_of_sweep = false;
  };
  struct Row {
    std::deque<Queued> queue;
    std::uint32_t cursor = 0;  // into the first
    std::uint64_t available = 0;
  };

  std::uint64_t length() const;  // steps of a minibatch
  void resize_rows();
  void refill(Row& row);
  std::uint32_t take(Row& row, std::uint32_t index, Plan& out);
  void save_queue(std::vector<std::uint64_t>& out) const;

  std::unique_ptr<order::Timeline> timeline_;
  ReaderOptions options_;
  EpochTable epochs_;
  Inspect inspect_;
  order::Batch one_;
  std::vector<Row> rows_;
  std::uint64_t first_row_ = 0, own_rows_ = 0;  // Shard::even plans all rows and delivers these
  bool exhausted_ = false, swept_ = false;
};

}  // namespace batchfeed::reader
