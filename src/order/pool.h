// SPDX-License-Identifier: MIT
//
// A timeline that takes the items of another by the poolful and rearranges each
// pool. Which pool holds a position is computed, so it is restored like any other.
// Positions count the samples of the rearranged line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "order/timeline.h"

namespace batchfeed::order {

struct Pool {
  std::uint64_t begin = 0;    // position of the first item
  std::vector<Item> items;    // as rearranged
  std::uint64_t samples = 0;  // of all items; find() leaves it 0
  // Samples of the block that starts with item i, 0 inside a block; empty: no
  // blocks. A batch ends before a block that does not fit.
  std::vector<std::uint64_t> block;
  std::vector<std::uint32_t> window;
  std::uint64_t window_generation = 0;
};

// For one worker; Shard::even shares what it gives.
class PoolTimeline : public Timeline {
 public:
  void begin_epoch(std::uint64_t begin, std::uint64_t size) override;
  void restore(std::uint64_t position) override;
  void set_workers(std::uint64_t workers, std::uint64_t rank) override;
  void next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) override;
  std::uint64_t position() const override { return position_; }

 protected:
  // sweep_samples = 0: the line has no sweeps, and batches may span pools.
  explicit PoolTimeline(std::uint64_t sweep_samples) : sweep_samples_(sweep_samples) {}

  // The pool that holds `position`, with at least one item.
  virtual std::shared_ptr<Pool> find(std::uint64_t position) = 0;
  virtual void entered(const Pool& /*pool*/) {}

 private:
  std::shared_ptr<const Pool> find_pool(std::uint64_t position);
  void report_window(Batch& out) const;

  std::uint64_t sweep_samples_;
  std::shared_ptr<const Pool> pool_;
  std::vector<std::shared_ptr<const Pool>> pools_;  // of the batch being made
  std::size_t at_ = 0;
  std::uint64_t position_ = 0, end_ = 0;
};

}  // namespace batchfeed::order
