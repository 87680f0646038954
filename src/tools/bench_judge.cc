// SPDX-License-Identifier: MIT
//
// What the times of an epoch mean.
#include <batchfeed/bench.h>

#include <algorithm>

namespace batchfeed {

namespace {

constexpr double kTooShort = 0.02;         // seconds of an epoch that tell nothing
constexpr double kMost = 0.5;              // of the epoch, or of reading
constexpr double kFilling = 0.25;          // of the epoch on either side of the first minibatch
constexpr double kGot = 0.7;               // of the cores wanted
constexpr double kHandling = 0.3;          // of the processor time
constexpr double kNearFastest = 0.7;       // of what the files give
constexpr std::uint64_t kEnough = 8;       // minibatches, for the first to tell anything
constexpr std::uint64_t kSome = 4u << 20;  // bytes, for a rate to tell anything

// Others have the cores: the threads could use more than they get. Threads of ours that
// stand in each other's way keep the cores busy.
bool starved(const EpochTimes& t) {
  const double got = t.cpu / t.seconds;
  const double wanted = std::min(static_cast<double>(t.cores), (t.cpu + t.core_wait) / t.seconds);
  return got < kGot * wanted && t.core_wait > kFilling * t.seconds;
}

}  // namespace

double packing_cpu(const EpochTimes& t) noexcept { return std::max(0.0, t.cpu - t.reading_cpu - t.consuming_cpu); }

Bound judge(const EpochTimes& t) noexcept {
  if (t.seconds < kTooShort || t.minibatches == 0) return Bound::unknown;
  // Reading and consuming could go on side by side, and do not.
  const bool whole = t.window > kMost && t.chunks > 1 && t.minibatches >= kEnough;
  if (whole && t.first > kFilling * t.seconds && t.consuming > kFilling * t.seconds) return Bound::window;
  if (t.consuming > kMost * t.seconds) return Bound::consumer;

  // What reading takes, shared by as many threads as have something to read.
  const auto readers = static_cast<double>(std::clamp<std::uint64_t>(t.parts(), 1, std::max(1u, t.threads)));
  const bool always_reading = t.reading > kMost * readers * t.seconds;
  const bool idle = t.cpu + t.core_wait + t.consuming < kMost * t.seconds && t.disk_wait > kMost * t.seconds;
  if ((always_reading || idle) && t.disk_wait > kMost * t.reading) return Bound::disk;
  if (starved(t)) return Bound::machine;
  if (t.bytes >= kSome && t.fastest_read > 0 &&
      static_cast<double>(t.bytes) > kNearFastest * t.fastest_read * t.seconds)
    return Bound::disk;

  if (t.small_chunks_cpu + t.small_chunks_read_cpu > kHandling * t.cpu) return Bound::chunk;
  // Processor time, which does not grow where others use the machine.
  const double parsing = t.reading_cpu / std::min(readers, static_cast<double>(std::max(1u, t.cores)));
  return parsing >= packing_cpu(t) ? Bound::parse : Bound::pack;
}

}  // namespace batchfeed
