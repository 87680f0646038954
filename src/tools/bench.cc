// SPDX-License-Identifier: MIT
//
// Runs an epoch and measures its times, which bench_judge.cc interprets.
#include <batchfeed/bench.h>
#include <batchfeed/reader.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "assemble/open.h"
#include "model/open_context.h"
#include "model/total.h"
#include "tools/clocks.h"
#include "tools/timed_source.h"

namespace batchfeed {

namespace {

using Corpora = std::vector<std::shared_ptr<const Source>>;

constexpr std::uint64_t kManyChunks = 64;
constexpr std::uint64_t kSmallChunk = 1u << 20;   // bytes; the overhead of larger chunks is negligible
constexpr std::uint64_t kLargeChunk = 32u << 20;  // bytes of the chunks that small ones are compared with
constexpr std::size_t kReread = 1000;             // about the most chunks of each corpus that are read again

double of(const std::atomic<std::uint64_t>& nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// The part of the corpus, 0 to 1, that the shuffle's window holds.
double window_of(const OrderOptions& order, const EpochTimes& times) {
  if (order.kind == OrderKind::file) return 0;
  const auto all = static_cast<double>(order.window_in_samples ? times.samples : times.chunks);
  return all > 0 ? std::min(1.0, static_cast<double>(order.window) / all) : 0;
}

// Processor seconds of an epoch over the sequences of the corpora with hardly any data, each `merge` chunks
// taken as one.
double hollow_cpu(const Corpora& corpora, ReaderOptions options, std::size_t merge, const EpochHooks& hooks) {
  Corpora hollow;
  for (const auto& corpus : corpora) hollow.push_back(std::make_shared<HollowSource>(corpus, merge));
  if (!options.order.window_in_samples) options.order.window = std::max<std::uint64_t>(1, options.order.window / merge);
  options.memory_limit = 0;
  Reader reader(std::move(hollow), options);
  Minibatch batch;
  const double begin = clocks::process_cpu();
  while (reader.next(batch)) {
    if (hooks.pulse) hooks.pulse();
  }
  return clocks::process_cpu() - begin;
}

// Processor seconds per byte when chunks are read one after the other into the same memory.
double reread_cpu(const Corpora& corpora, const EpochHooks& hooks) {
  std::uint64_t bytes = 0;
  double cpu = 0;
  Chunk chunk;
  for (const auto& corpus : corpora) {
    const std::size_t chunks = corpus->chunks().size(), step = 1 + chunks / kReread;
    for (std::size_t c = 0; c < chunks; c += step) {
      if (hooks.pulse) hooks.pulse();
      const double begin = clocks::thread_cpu();
      corpus->read(static_cast<std::uint32_t>(c), chunk);
      cpu += clocks::thread_cpu() - begin;
      bytes += corpus->chunks()[c].bytes;
    }
  }
  return bytes == 0 ? 0 : cpu / static_cast<double>(bytes);
}

void measure_small_chunks(const Corpora& corpora, const Setup& setup, const EpochHooks& hooks, EpochTimes& times) {
  if (times.chunks < kManyChunks || times.bytes / times.chunks >= kSmallChunk || setup.reader.legacy_speech) return;
  const std::uint64_t merge =
      std::max<std::uint64_t>(2, kLargeChunk * times.chunks / std::max<std::uint64_t>(1, times.bytes));
  const double large = hollow_cpu(corpora, setup.reader, merge, hooks);
  times.small_chunks_cpu = std::max(0.0, hollow_cpu(corpora, setup.reader, 1, hooks) - large);
  times.small_chunks_read_cpu =
      std::max(0.0, times.reading_cpu - reread_cpu(corpora, hooks) * static_cast<double>(times.bytes));
}

// Processor seconds of planning the epoch, measured by planning it once more without reading data.
double order_cpu(const Reader& reader, const ReaderOptions& options) {
  const double begin = clocks::thread_cpu();
  try {
    static_cast<void>(reader.num_minibatches(options.start_epoch));
  } catch (const Error&) {
    return 0;  // an endless epoch has no number of minibatches
  }
  return clocks::thread_cpu() - begin;
}

Corpora time_open(const Setup& setup, const OpenContext& context, EpochTimes& out) {
  const std::uint64_t read = clocks::process_read();
  const double cpu = clocks::process_cpu(), begin = clocks::wall();
  Corpora corpora = assemble::open_corpora(setup, context);
  out.index = clocks::wall() - begin;
  out.index_cpu = clocks::process_cpu() - cpu;
  out.index_read = clocks::process_read() - read;
  for (const auto& corpus : corpora) {
    out.chunks += corpus->chunks().size();
    const ChunkInfo all = total(corpus->chunks());
    out.bytes += all.bytes;
    out.corpus_bytes += all.bytes;
    out.samples += all.samples;
    out.sequences += all.sequences;
  }
  return corpora;
}

// For an epoch that is no sweep: scales chunks and bytes from the whole corpus to the epoch, by its samples.
void count_epoch(std::uint64_t sequences, std::uint64_t samples, EpochTimes& out) {
  const double part = out.samples == 0 ? 1 : static_cast<double>(samples) / static_cast<double>(out.samples);
  const auto of_all = [part](std::uint64_t all) {
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(part * static_cast<double>(all))));
  };
  out.chunks = of_all(out.chunks);
  out.bytes = of_all(out.bytes);
  out.sequences = sequences;
  out.samples = samples;
}

void time_minibatches(Reader& reader, const EpochHooks& hooks, EpochTimes& out) {
  const double queued = clocks::process_core_wait(), cpu = clocks::process_cpu(), begin = clocks::wall();
  std::uint64_t sequences = 0, samples = 0;
  Minibatch batch;
  while (reader.next(batch)) {
    sequences += batch.num_sequences;
    samples += batch.num_samples;
    const double got = clocks::wall(), got_cpu = clocks::thread_cpu();
    if (out.minibatches++ == 0) out.first = got - begin;
    if (hooks.pulse) hooks.pulse();
    if (!hooks.consume) continue;
    hooks.consume(batch);
    out.consuming += clocks::wall() - got;
    out.consuming_cpu += clocks::thread_cpu() - got_cpu;
  }
  out.seconds = clocks::wall() - begin;
  out.cpu = clocks::process_cpu() - cpu;
  out.core_wait = std::max(0.0, clocks::process_core_wait() - queued);
  const ReaderOptions& options = reader.options();
  if (options.epoch_samples != 0 && options.epoch_samples != kWholeSet) count_epoch(sequences, samples, out);
}

}  // namespace

EpochTimes time_epoch(const Setup& setup, const EpochHooks& hooks) {
  EpochTimes out;
  const auto inner = std::make_shared<ReadTimes>(), outer = std::make_shared<ReadTimes>();
  OpenContext context = assemble::context_of(setup);
  const std::vector<Setup> setups = assemble::corpora_of(setup);
  const bool joined =
      std::any_of(setups.begin(), setups.end(), [](const Setup& one) { return one.sources.size() > 1; });
  if (joined)
    context.around = [&inner](std::unique_ptr<Source> source) -> std::unique_ptr<Source> {
      return std::make_unique<TimedSource>(std::move(source), inner);
    };
  out.cores = std::max(1u, std::thread::hardware_concurrency());
  out.threads = setup.reader.threads != 0 ? setup.reader.threads : out.cores;
  const Corpora opened = time_open(setup, context, out);
  Corpora corpora;
  for (const auto& corpus : opened) corpora.push_back(std::make_shared<TimedSource>(corpus, outer));
  out.window = window_of(setup.reader.order, out);

  Reader reader(std::move(corpora), setup.reader, setup.limits, setup.report);
  out.order_cpu = order_cpu(reader, setup.reader);
  time_minibatches(reader, hooks, out);
  out.reads = outer->calls;
  out.reading = of(outer->wall);
  out.reading_cpu = of(outer->cpu);
  out.disk_wait = of((joined ? inner : outer)->disk_wait);
  if (joined) out.join_cpu = std::max(0.0, of(outer->cpu) - of(inner->cpu));
  measure_small_chunks(opened, setup, hooks, out);
  return out;
}

}  // namespace batchfeed
