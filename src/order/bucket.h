// SPDX-License-Identifier: MIT
//
// Bucketing by length: the sequences of a pool (those that start in `pool_samples`
// consecutive samples of the order) are sorted by length and cut into blocks of a
// minibatch each; blocks come in random order. Cuts padding; a sweep still gives
// every sequence once, and a sequence moves by less than two pools.
#pragma once

#include "order/pool.h"

namespace batchfeed::order {

// Cells of the rectangles sequences x longest, over the pools entered so far.
struct Padding {
  std::uint64_t samples = 0;   // cells in use
  std::uint64_t plain = 0;     // cells of minibatches in the order's own sequence
  std::uint64_t bucketed = 0;  // cells of the blocks

  // Of the padding, the part that is gone; 0 if there was none.
  double saved() const noexcept {
    return plain <= samples ? 0.0 : static_cast<double>(plain - bucketed) / static_cast<double>(plain - samples);
  }
};

class BucketTimeline final : public PoolTimeline {
 public:
  // `inner`: of one worker, not crossing sweeps. `block_samples`: the minibatch size.
  BucketTimeline(std::unique_ptr<Timeline> inner, std::uint64_t sweep_samples, std::uint64_t pool_samples,
                 std::uint64_t block_samples, std::uint64_t seed);

  std::unique_ptr<Timeline> clone() const override;
  const Padding& padding() const noexcept { return padding_; }

 protected:
  std::shared_ptr<const Pool> find(std::uint64_t position) override;
  void entered(const Pool& pool) override;

 private:
  BucketTimeline(const BucketTimeline& other);

  std::unique_ptr<Timeline> inner_;
  std::uint64_t sweep_samples_, pool_samples_, block_samples_, seed_;
  Batch batch_;
  Padding padding_;
};

}  // namespace batchfeed::order
