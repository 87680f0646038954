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

// One epoch, in seconds. Fields named `cpu` are processor time of all threads: what work
// costs, whatever else the machine does. Waiting is split by what was waited for.
struct EpochTimes {
  double index = 0, index_cpu = 0;  // opening the corpus: indexing it, or loading a valid index cache
  // Bytes read from files while opening, compressed where they are. 0 where the system does not tell.
  std::uint64_t index_read = 0;

  double seconds = 0;    // from the first call of next() to the last
  double cpu = 0;        // processor time in it
  double first = 0;      // until the first minibatch was there
  double core_wait = 0;  // threads that could work and had no core, all threads; 0 where the system does not tell

  double consuming = 0, consuming_cpu = 0;  // between minibatches, in the caller's hands

  // Reading chunks, all threads: elapsed time, processor time, and the time that threads
  // slept in it waiting for files (not for a core).
  double reading = 0, reading_cpu = 0, disk_wait = 0;
  double join_cpu = 0;   // of reading_cpu: putting sources together by key
  double order_cpu = 0;  // planning the minibatches, measured by doing it again without data
  // What small chunks cost, measured in further runs; 0 where chunks are few or large: the part of packing_cpu() that
  // the same sequences in large chunks would not need, and the part of reading_cpu spent on new memory for each chunk.
  double small_chunks_cpu = 0, small_chunks_read_cpu = 0;

  unsigned cores = 1, threads = 1;  // of the machine; that may read
  double window = 0;                // part of the corpus, 0 to 1, that the shuffle's window holds
  double fastest_read = 0;          // bytes a second that the files give at most; 0: not known
  std::uint64_t corpus_bytes = 0;
  // Of the epoch. If it is not one sweep, chunks and bytes are estimated from its part of the corpus' samples.
  std::uint64_t chunks = 0, bytes = 0, sequences = 0, samples = 0, minibatches = 0;
  std::uint64_t reads = 0;  // of chunks; in the files' own order, of parts of large chunks

  // How many chunks, or parts of them, there are for threads to read in parallel.
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
