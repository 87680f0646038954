// SPDX-License-Identifier: MIT
//
// Where the time of an epoch goes: measured while it runs, and judged.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/names.h>
#include <batchfeed/options.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace batchfeed {

// One epoch, in seconds. Processor time is of all threads, and says what work costs
// whatever else the machine does; time waited for is told apart by what was waited for.
struct EpochTimes {
  double index = 0, index_cpu = 0;  // opening: what there is; from an index cache where one is valid
  // Bytes read in opening; of compressed files, as they lie there. 0 where the system does not tell.
  std::uint64_t index_read = 0;

  double seconds = 0;    // from the first call of next() to the last
  double cpu = 0;        // processor time in it
  double first = 0;      // until the first minibatch was there
  double core_wait = 0;  // threads that could work and had no core, all threads; 0 where the system does not tell

  double consuming = 0, consuming_cpu = 0;  // between minibatches, in the caller's hands

  // Reading chunks, all threads: what reading takes, the processor time of it, and the
  // time the threads slept in it for something that is not a core: a file.
  double reading = 0, reading_cpu = 0, disk_wait = 0;
  double join_cpu = 0;   // of reading_cpu: putting sources together by key
  double order_cpu = 0;  // planning the minibatches, once more and alone
  // What small chunks cost, in two runs beside this one; 0 where they are few or large. The part of packing_cpu() that
  // the same sequences in large chunks would not need, and the part of reading_cpu that goes into new memory for each.
  double small_chunks_cpu = 0, small_chunks_read_cpu = 0;

  unsigned cores = 1, threads = 1;  // of the machine; that may read
  double window = 0;                // part of the corpus, 0 to 1, that the shuffle's window holds
  double fastest_read = 0;          // bytes a second that the files give at most; 0: not known
  std::uint64_t corpus_bytes = 0;
  // Of the epoch; where it is no sweep, chunks and bytes as its samples are of the corpus'.
  std::uint64_t chunks = 0, bytes = 0, sequences = 0, samples = 0, minibatches = 0;
  std::uint64_t reads = 0;  // of chunks, or in the files' own order of parts of large ones

  // What threads can read side by side.
  std::uint64_t parts() const noexcept { return reads > chunks ? reads : chunks; }
};

struct EpochHooks {
  // Receives every minibatch, as a trainer does. May be empty.
  std::function<void(const Minibatch&)> consume = {};
  // Called now and then; may throw to give up. May be empty.
  std::function<void()> pulse = {};
};

// Opens the corpus as Reader does and runs epoch `start_epoch` of it. Throws Error.
EpochTimes time_epoch(const Setup& setup, const EpochHooks& hooks = {});

enum class Bound : std::uint8_t {
  unknown,   // over too soon to tell
  consumer,  // minibatches wait for whoever takes them
  machine,   // threads wait for a core that others have
  disk,      // reading waits for files
  window,    // the consumer waits while the window is filled, then reading waits for the consumer
  chunk,     // chunks are so small that handling them costs more than their data
  parse,     // turning bytes into values
  pack,      // ordering and making minibatches, which one thread does
};
template <>
struct Names<Bound> {
  static constexpr std::string_view all[] = {"unknown", "consumer", "machine", "disk",
                                             "window",  "chunk",    "parse",   "pack"};
};

// What bounds the epoch, from its times alone.
Bound judge(const EpochTimes& times) noexcept;

// The processor time of the epoch that is neither reading nor the consumer's: ordering,
// handling chunks, making minibatches.
double packing_cpu(const EpochTimes& times) noexcept;

}  // namespace batchfeed
