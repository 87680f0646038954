// SPDX-License-Identifier: MIT
//
// Several corpora as one endless line, each with its share of the samples. Every
// corpus runs through its own sweeps at its own speed. In a round each gives its
// share, and counters decide, draw by draw, which corpus the next sequence is
// from; so the mixture at any position is computed and not replayed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "order/pool.h"

namespace batchfeed::order {

struct MixPart {
  std::unique_ptr<Timeline> timeline;  // of one worker
  double weight = 1;                   // > 0; shares are weight / sum of weights
  std::uint32_t first_chunk = 0;       // added to the chunks of its items
};

// Throws Error (usage) if there is none, or one that is not positive and finite.
void check_weights(std::span<const double> weights);

class MixTimeline final : public PoolTimeline {
 public:
  static constexpr std::uint64_t kRoundSamples = 1 << 16;

  // Throws what check_weights() does.
  MixTimeline(std::vector<MixPart> parts, std::uint64_t seed, std::uint64_t round_samples = kRoundSamples);

 protected:
  std::shared_ptr<Pool> find(std::uint64_t position) override;

 private:
  struct Part {
    std::unique_ptr<Timeline> timeline;
    std::uint64_t quota = 1;  // samples of a round
    std::uint32_t first_chunk = 0;
  };
  std::vector<Part> parts_;
  std::uint64_t seed_;
  std::uint64_t round_samples_ = 0;
};

}  // namespace batchfeed::order
