// SPDX-License-Identifier: MIT
#include "reader/impl.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/counted.h"
#include "base/hash.h"
#include "base/saturate.h"
#include "base/threads.h"
#include "model/total.h"
#include "reader/check_options.h"
#include "reader/dealt_planner.h"
#include "reader/legacy_speech.h"
#include "reader/sequence_planner.h"
#include "reader/state.h"
#include "reader/truncated_planner.h"

namespace batchfeed {

using namespace reader;

namespace {

std::vector<std::shared_ptr<const Source>> accepted(std::vector<std::shared_ptr<const Source>> parts,
                                                    const ReaderOptions& options) {
  if (parts.empty() || std::count(parts.begin(), parts.end(), nullptr) != 0) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.no-corpus",
                      .what = parts.empty() ? "a reader of no corpus" : "a reader of a corpus that is null",
                      .hint = "give at least one"});
  }
  check_options(options, parts.size());
  return parts;
}

// Threads that read chunks: no more than there are chunks.
unsigned loaders(unsigned wanted, std::size_t chunks) {
  return static_cast<unsigned>(std::clamp<std::size_t>(chunks, 1, threads_of(wanted)));
}

}  // namespace

Reader::Impl::Impl(std::vector<std::shared_ptr<const Source>> parts, const ReaderOptions& given,
                   const Limits& given_limits, Report given_report)
    : options(given),
      limits(given_limits),
      report(std::move(given_report)),
      corpora(accepted(std::move(parts), options), options),
      source(corpora.source()),
      as_read(corpora.as_read()),
      corpus(corpora.whole()),
      frames(corpora.split_frames()),
      threads(loaders(options.threads, as_read->chunks().size())),
      pid(::getpid()) {
  streams = source->streams();
  if (options.legacy_speech) check_legacy(options);
  if (options.legacy_speech || options.pack.kind == Packing::truncated)
    for (StreamInfo& s : streams) s.storage = Storage::dense;
  check_gaps(options, corpus.total_samples(), limits);
  mark.epoch = options.driver == ReaderOptions::Driver::timeline ? 0 : options.start_epoch;
  static_cast<void>(epochs().begin(mark.epoch));  // throws if there is no such epoch
  // For the minibatches that wait, two that are being packed and two that the caller has.
  memory = std::make_unique<RunMemory>(add_sat(options.prefetch ? options.prefetch_depth : 0, 4));
  tell();
}

void Reader::Impl::tell() const {
  if (!report) return;
  if (const auto notice = warn_of_starving(options, corpus.chunks(), corpus.total_sequences(), corpus.total_samples()))
    report(*notice);
  const std::uint64_t needed = memory_needed();
  if (needed == 0) return;  // chunks do not say how large they are
  report({.severity = Severity::info,
          .fault = {.kind = FaultKind::usage,
                    .id = "reader.memory",
                    .what = "the window needs up to " + counted(needed, "byte") + " of chunks" +
                            (options.memory_limit == 0 ? std::string()
                                                       : ", memory_limit is " + counted(options.memory_limit, "byte")),
                    .hint = ""}});
}

void Reader::Impl::tell_of_reordering() {
  if (!mark.past.reordered || told_of_reordering) return;
  told_of_reordering = true;
  if (!report) return;
  report(
      {.severity = Severity::warning,
       .fault = {
           .kind = FaultKind::usage,
           .id = "reader.reordered",
           .what = "epoch " + std::to_string(mark.epoch) +
                   " begins before the end of the last sequence of the one before; as in CNTK, the "
                   "rest of the sweep comes in another order, so sequences come twice and others do not",
           .hint = "order = uniform, `randomizationSeed = 0`, a larger window or epochs of whole sweeps lose none"}});
}

void Reader::Impl::give_up_waiting() {
  if (options.pack.kind == Packing::truncated && !options.legacy_speech) mark.skipped += waiting(mark.queue);
  mark.queue.clear();
}

void Reader::Impl::number_anew() { reader::number_anew(options, corpus.total_samples(), mark); }

// In a forked child there is no thread to wait for, and what one of them was changing may be half changed: the Impl is
// not destroyed there.
void Reader::Impl::end(std::unique_ptr<Impl>& impl) noexcept {
  if (impl && impl->pid != ::getpid()) static_cast<void>(impl.release());
  if (impl && impl->store) impl->store->stop();
  impl.reset();
}

std::unique_ptr<Planner> Reader::Impl::make_planner(bool with_data) {
  std::unique_ptr<Planner> all = make_whole_planner(with_data);
  if (options.stride == 1) return all;
  return std::make_unique<DealtPlanner>(std::move(all), options.stride, options.offset);
}

std::unique_ptr<Planner> Reader::Impl::make_whole_planner(bool with_data) {
  check_gaps(options, corpus.total_samples(), limits);
  auto timeline = corpora.make_timeline(options);
  const bool rows = options.legacy_speech && options.pack.kind != Packing::frames;
  if (options.pack.kind != Packing::truncated && !rows) {
    std::function<void()> expect_running;
    if (with_data) expect_running = [this] { producer->expect_running(); };
    return std::make_unique<SequencePlanner>(std::move(timeline), corpus.total_samples(), options,
                                             std::move(expect_running));
  }
  Draws::Data hooks;
  if (with_data) {
    hooks.inspect = [this](const order::Item& item, Mark& place) -> std::optional<std::uint32_t> {
      producer->expect_running();
      const Chunk& chunk = store->get(item.chunk).chunk;
      if (chunk.is_invalid(item.row)) {
        ++(chunk.invalid[item.row] == Chunk::kUnpaid ? place.invalid : place.tolerated);
        return std::nullopt;
      }
      // Where the first stream has none, the packer is to see that another has some, and to report it.
      std::uint32_t samples = 0;
      for (std::size_t s = 0; s < chunk.columns.size() && samples == 0; ++s)
        samples = chunk.columns[s].samples(item.row);
      return samples;
    };
    hooks.want = [this](std::uint32_t chunk) { store->want(chunk); };
    hooks.chunks_ahead = options.prefetch ? chunks_ahead() + 1 : 0;
    hooks.most_damaged = most_damaged();
  }
  hooks.all_workers = rows && options.workers > 1 && options.order.kind != OrderKind::file;
  Draws draws(std::move(timeline), std::move(hooks));
  if (rows) return std::make_unique<LegacyPlanner>(std::move(draws), corpus.total_samples(), options);
  return std::make_unique<TruncatedPlanner>(std::move(draws), corpus.total_samples(), options);
}

// Two sweeps of samples hold a whole sweep. But one of several workers, or of a mixture's corpora, may give the damaged
// part again and again.
std::uint64_t Reader::Impl::most_damaged() const noexcept {
  const bool gets_all = options.workers == 1 && options.mix_weights.empty();
  return mul_sat(gets_all ? 2 : 1000, corpus.total_samples());
}

std::uint64_t Reader::Impl::memory_needed() const noexcept {
  const std::vector<ChunkInfo>& chunks = as_read->chunks();
  const std::uint64_t all = total(chunks).bytes;
  std::uint64_t largest = 0;
  for (const ChunkInfo& c : chunks) largest = std::max(largest, c.bytes);
  if (options.keep_in_memory) return all;
  const OrderOptions& order = options.order;
  const std::uint64_t mean = std::max<std::uint64_t>(1, corpus.total_samples() / chunks.size());  // of a chunk
  std::uint64_t window = 1;
  if (order.kind != OrderKind::file) window = order.window_in_samples ? order.window / mean + 2 : order.window;
  window = mul_sat(std::min<std::uint64_t>(window, chunks.size()), corpora.parts());
  if (options.bucket_minibatches != 0) {
    const std::uint64_t sequence = std::max<std::uint64_t>(1, corpus.total_samples() / corpus.total_sequences());
    const std::uint64_t minibatch =
        mul_sat(options.minibatch_size.front(), options.size_unit == SizeUnit::sequences ? sequence : 1);
    window = add_sat(window, mul_sat(minibatch, options.bucket_minibatches) / mean + 1);
  }
  return std::min(all, mul_sat(std::min<std::uint64_t>(add_sat(window, chunks_ahead() + 1), chunks.size()), largest));
}

std::size_t Reader::Impl::chunks_ahead() const noexcept {
  if (!options.prefetch) return 0;
  return small_chunks() ? 2 * std::max(threads, 2u) + 1 : std::max(threads, 2u);
}

void Reader::Impl::expect_same_process() const {
  if (pid == ::getpid()) return;
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = "reader.forked",
                    .what = "the reader was opened in another process",
                    .hint = "open it in this one, and restore(state) to go on"});
}

void Reader::Impl::start() {
  if (pipeline) return;
  if (!store) {
    // Where no damaged sequence is tolerated, packing reports the first one instead.
    const bool equal = options.pack.kind == Packing::truncated && !options.legacy_speech && options.max_invalid != 0;
    store = std::make_unique<ChunkStore>(*as_read, ChunkStore::Settings{.frames = frames,
                                                                        .equal = equal,
                                                                        .threads = options.prefetch ? threads : 0,
                                                                        .spares = chunks_ahead() + 1,
                                                                        .memory_limit = options.memory_limit});
  }
  planner = make_planner(true);
  producer = std::make_unique<Producer>(*as_read, *store, *planner, *memory,
                                        Producer::Settings{.place = mark,
                                                           .streams = streams,
                                                           .max_invalid = options.max_invalid,
                                                           .at_once = options.legacy_speech,
                                                           .keep_in_memory = options.keep_in_memory,
                                                           .frames = options.pack.kind == Packing::frames,
                                                           .hands_over = small_chunks(),
                                                           .chunks_ahead = options.prefetch ? chunks_ahead() : 0});
  pipeline = std::make_unique<Pipeline>(*producer, *store, *memory,
                                        Pipeline::Settings{.memory_limit = options.memory_limit,
                                                           .small_chunks = small_chunks(),
                                                           .prefetch = options.prefetch,
                                                           .depth = options.prefetch_depth});
}

void Reader::Impl::stop() {
  handed_out = false;
  pipeline.reset();
  producer.reset();
  planner.reset();
  if (store) store->give_back();
}

std::uint64_t Reader::Impl::fingerprint() const {
  if (!known_fingerprint) known_fingerprint = source->fingerprint();
  // Where chunks are shuffled it matters how the data are cut into them; in the files' order it does not.
  if (options.order.kind == OrderKind::file) return *known_fingerprint;
  if (!known_cuts) {
    Fingerprint cuts;
    cuts.add(*known_fingerprint);
    for (std::uint32_t c = 0; c < corpus.chunks(); ++c) cuts.add(corpus.sequences(c));
    known_cuts = cuts.value();
  }
  return *known_cuts;
}

}  // namespace batchfeed
