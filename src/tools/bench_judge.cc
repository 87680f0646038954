// SPDX-License-Identifier: MIT
//
// What the times of an epoch mean: its bound.
#include <batchfeed/bench.h>

#include <algorithm>

namespace batchfeed {

namespace {

constexpr double kTooShort = 0.02;         // seconds; of a shorter epoch nothing is said
constexpr double kMost = 0.5;              // of the epoch's time or of reading's: what takes more is the bound
constexpr double kFilling = 0.25;          // of the epoch's time: shorter waits are no bound
constexpr double kGot = 0.7;               // of the cores the threads could use: with fewer they are starved
constexpr double kHandling = 0.3;          // of the processor time: more for handling chunks makes them the bound
constexpr double kNearFastest = 0.7;       // of the files' fastest rate: as fast as files can be read
constexpr std::uint64_t kEnough = 8;       // minibatches: with fewer, the time of the first says nothing
constexpr std::uint64_t kSome = 4u << 20;  // bytes: of fewer, a rate says nothing

// Whether other programs hold the cores, so that our threads get fewer than they could use. Where only our own
// threads compete for the cores, they keep these busy and are not starved.
bool starved(const EpochTimes& t) {
  const double got = t.cpu / t.seconds;
  const double wanted = std::min(static_cast<double>(t.cores), (t.cpu + t.core_wait) / t.seconds);
  return got < kGot * wanted && t.core_wait > kFilling * t.seconds;
}

}  // namespace

double packing_cpu(const EpochTimes& t) noexcept { return std::max(0.0, t.cpu - t.reading_cpu - t.consuming_cpu); }

Bound judge(const EpochTimes& t) noexcept {
  if (t.seconds < kTooShort || t.minibatches == 0) return Bound::unknown;
  // Reading and consuming could overlap, but each waits for the other.
  const bool whole = t.window > kMost && t.chunks > 1 && t.minibatches >= kEnough;
  if (whole && t.first > kFilling * t.seconds && t.consuming > kFilling * t.seconds) return Bound::window;
  if (t.consuming > kMost * t.seconds) return Bound::consumer;

  // The number of threads that can read at the same time, among which the time of reading is shared.
  const auto readers = static_cast<double>(std::clamp<std::uint64_t>(t.parts(), 1, std::max(1u, t.threads)));
  const bool always_reading = t.reading > kMost * readers * t.seconds;
  const bool idle = t.cpu + t.core_wait + t.consuming < kMost * t.seconds && t.disk_wait > kMost * t.seconds;
  if ((always_reading || idle) && t.disk_wait > kMost * t.reading) return Bound::disk;
  if (starved(t)) return Bound::machine;
  if (t.bytes >= kSome && t.fastest_read > 0 &&
      static_cast<double>(t.bytes) > kNearFastest * t.fastest_read * t.seconds)
    return Bound::disk;

  if (t.small_chunks_cpu + t.small_chunks_read_cpu > kHandling * t.cpu) return Bound::chunk;
  // Compared by processor time, which other programs on the machine do not lengthen.
  const double parsing = t.reading_cpu / std::min(readers, static_cast<double>(std::max(1u, t.cores)));
  return parsing >= packing_cpu(t) ? Bound::parse : Bound::pack;
}

}  // namespace batchfeed
