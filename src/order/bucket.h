// SPDX-License-Identifier: MIT
//
// Bucketing by length: the sequences of a pool (those that start in `pool_samples`
// consecutive samples of the order) are sorted by length and cut into blocks of a
// minibatch each, of which a last small one takes from the one before it; blocks
// come in random order. Cuts padding; a sweep still gives every sequence once, and a
// sequence moves by less than two pools.
#pragma once

#include <cstdint>
#include <memory>

#include "order/pool.h"

namespace batchfeed::order {

class BucketTimeline final : public PoolTimeline {
 public:
  // How large a minibatch, hence a block, is.
  struct Size {
    SizeUnit unit = SizeUnit::samples;
    std::uint64_t size = 1;
  };

  // `inner`: of one worker, not crossing sweeps. sweep_samples = 0: it has none (a mixture).
  BucketTimeline(std::unique_ptr<Timeline> inner, std::uint64_t sweep_samples, std::uint64_t pool_samples,
                 const Size& block, std::uint64_t seed);

  const Padding* padding() const override { return &padding_; }

 protected:
  std::shared_ptr<Pool> find(std::uint64_t position) override;
  void entered(const Pool& pool) override;

 private:
  std::unique_ptr<Timeline> inner_;
  std::uint64_t sweep_samples_;  // kWholeSet where there are no sweeps
  std::uint64_t pool_samples_;
  Size block_;
  std::uint64_t seed_;
  Batch batch_;
  Padding padding_;
};

}  // namespace batchfeed::order
