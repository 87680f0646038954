// SPDX-License-Identifier: MIT
//
// Shard::even: one global minibatch, cut among the workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace batchfeed::order {

// The part [first, second) of a global minibatch that is `rank`'s, given the
// nominal lengths of its sequences. Contiguous, in order, complete and disjoint
// over the ranks, each cut where whole sequences come nearest to equal samples; no
// rank is without one if there are at least as many sequences as workers.
std::pair<std::size_t, std::size_t> even_share(std::span<const std::uint32_t> lengths, std::uint64_t workers,
                                               std::uint64_t rank);

}  // namespace batchfeed::order
