// SPDX-License-Identifier: MIT
//
// How the endless line of samples is cut: epochs, minibatch sizes, a worker's part.
#pragma once

#include <batchfeed/options.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reader/plan.h"

namespace batchfeed::reader {

// The entry of a list for an epoch; the last one repeats.
template <class T>
const T& by_epoch(const std::vector<T>& list, std::uint64_t epoch) noexcept {
  return list[static_cast<std::size_t>(std::min<std::uint64_t>(epoch, list.size() - 1))];
}

// Where epochs begin and how long they are, in samples (minibatch.md 3).
class EpochTable {
 public:
  EpochTable(const ReaderOptions& options, std::uint64_t sweep_samples);
  // Throws Error(usage) for an epoch that ends beyond the last position there is.
  std::uint64_t begin(std::uint64_t epoch) const;
  std::uint64_t size(std::uint64_t epoch) const noexcept { return by_epoch(sizes_, epoch); }
  bool reaches(std::uint64_t epoch) const noexcept { return size(epoch) == 0 || epoch < kEndless / size(epoch); }

  static constexpr std::uint64_t kEndless = (1ull << 63) - 1;  // the last position

 private:
  std::vector<std::uint64_t> sizes_;  // by epoch where they differ; the last repeats
};

// The minibatch size of an answer: a list by epoch, or by call on the timeline.
std::uint64_t minibatch_size(const ReaderOptions& options, std::uint64_t epoch, std::uint64_t index);

// Whether a list of sizes by call gives the next answer another size than the last answer had: the reference configures
// its reader anew then (minibatch.md 13).
bool is_resized(const ReaderOptions& options, const Mark& mark);
// For the files' own order, where workers share by sequence number: numbers count from the begin of the mark's sweep
// again, as in a reader that is configured anew.
void number_anew(const ReaderOptions& options, std::uint64_t sweep_samples, Mark& mark);

// Whether sequences may be lost and repeated between two epochs as in the reference
// (Timeline::next_epoch). Not for HTKMLFReader, which does not do that, and not for
// Shard::even, which the reference does not have.
constexpr bool reorders_between_epochs(const ReaderOptions& options) noexcept {
  return options.shard == Shard::chunk && !options.legacy_speech;
}

// A worker's part of a number (minibatch.md 10.1): 10 for 4 workers is 3 3 2 2.
constexpr std::uint64_t share(std::uint64_t n, std::uint64_t workers, std::uint64_t rank) noexcept {
  return n / workers + (n % workers > rank ? 1 : 0);
}

}  // namespace batchfeed::reader
