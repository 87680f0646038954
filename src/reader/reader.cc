// SPDX-License-Identifier: MIT
#include <batchfeed/reader.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/saturate.h"
#include "order/timeline.h"
#include "reader/check_options.h"
#include "reader/chunk_store.h"
#include "reader/corpora.h"
#include "reader/dealt_planner.h"
#include "reader/legacy_speech.h"
#include "reader/pipeline.h"
#include "reader/sequence_planner.h"
#include "reader/state.h"
#include "reader/truncated_planner.h"

namespace batchfeed {

using namespace reader;

struct Reader::Impl {
  Impl(std::vector<std::shared_ptr<const Source>> parts, const ReaderOptions& given, const Limits& given_limits,
       Report given_report)
      : options(given),
        limits(given_limits),
        report(std::move(given_report)),
        corpora(checked(std::move(parts), options), options.pack.kind,
                options.order.kind == OrderKind::file && !options.keep_in_memory && !options.legacy_speech),
        source(corpora.source()),
        read(corpora.read()),
        corpus(corpora.whole()),
        frames(corpora.split_frames()),
        threads(options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency())),
        pid(::getpid()) {
    streams = source->streams();
    if (options.legacy_speech) {
      options = legacy_options(options, corpus.total_samples());
      for (StreamInfo& s : streams) s.storage = Storage::dense;
    }
    mark.epoch = options.driver == ReaderOptions::Driver::timeline ? 0 : options.start_epoch;
    tell();
  }
  void tell() const {
    if (!report) return;
    if (const auto notice = warn_of_starving(options, corpus.total_sequences(), corpus.total_samples()))
      report(*notice);
    const std::uint64_t needed = memory_needed();
    if (needed == 0) return;  // chunks do not say how large they are
    report({.severity = Severity::info,
            .fault = {.kind = FaultKind::usage,
                      .id = "reader.memory",
                      .what = "the window needs up to " + std::to_string(needed) + " bytes of chunks" +
                              (options.memory_limit == 0
                                   ? std::string()
                                   : ", memory_limit is " + std::to_string(options.memory_limit) + " bytes"),
                      .hint = ""}});
  }
  // Once a reader, when the first minibatch of such an epoch is handed out.
  void tell_of_reordering() {
    if (!mark.past.reordered || told_of_reordering) return;
    told_of_reordering = true;
    if (!report) return;
    report(
        {.severity = Severity::warning,
         .fault = {
             .kind = FaultKind::usage,
             .id = "reader.reordered",
             .what = "epoch " + std::to_string(mark.epoch) +
                     " begins before the end of the last sequence of the one before; as in the reference, the "
                     "rest of the sweep comes in another order, so sequences come twice and others do not",
             .hint = "order = uniform, randomizationSeed = 0, a larger window or epochs of whole sweeps lose none"}});
  }
  static std::vector<std::shared_ptr<const Source>> checked(std::vector<std::shared_ptr<const Source>> parts,
                                                            const ReaderOptions& options) {
    check_options(options, parts.size());
    return parts;
  }
  ~Impl() {
    if (pid == ::getpid()) return;
    // In a forked child the threads do not exist: nothing to wait for.
    static_cast<void>(pipeline.release());
    static_cast<void>(memory.release());
    static_cast<void>(store.release());
  }

  std::unique_ptr<Planner> make_planner(bool with_data) {
    std::unique_ptr<Planner> all = make_whole_planner(with_data);
    if (options.stride == 1) return all;
    return std::make_unique<DealtPlanner>(std::move(all), options.stride, options.offset);
  }

  std::unique_ptr<Planner> make_whole_planner(bool with_data) {
    auto timeline = corpora.make_timeline(options);
    const bool rows = options.legacy_speech && options.pack.kind != Packing::frames;
    if (options.pack.kind != Packing::truncated && !rows)
      return std::make_unique<SequencePlanner>(std::move(timeline), corpus.total_samples(), options);
    Draws::Data hooks;
    if (with_data) {
      hooks.inspect = [this](const order::Item& item, Mark& place) -> std::optional<std::uint32_t> {
        const Chunk& chunk = store->get(item.chunk).chunk;
        if (chunk.is_invalid(item.row)) {
          if (chunk.invalid[item.row] == Chunk::kUnpaid) ++place.invalid;
          return std::nullopt;
        }
        return chunk.columns[0].samples(item.row);
      };
      hooks.want = [this](std::uint32_t chunk) { store->want(chunk); };
      hooks.chunks_ahead = options.prefetch ? threads + 1 : 0;
    }
    Draws draws(std::move(timeline), std::move(hooks));
    if (rows) return std::make_unique<LegacyPlanner>(std::move(draws), corpus.total_samples(), options);
    return std::make_unique<TruncatedPlanner>(std::move(draws), corpus.total_samples(), options);
  }

  // Of chunks: those of the window, and those being read ahead.
  std::uint64_t memory_needed() const noexcept {
    const std::vector<ChunkInfo>& chunks = read->chunks();
    std::uint64_t largest = 0, all = 0;
    for (const ChunkInfo& c : chunks) {
      largest = std::max(largest, c.bytes);
      all += c.bytes;
    }
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

  bool small_chunks() const noexcept { return corpora.in_pieces() && options.memory_limit == 0; }
  // As many as are read at once. Small ones are read in less time than a thread may wait for its turn of a CPU, so as
  // many again wait to be read, and one waits to be packed.
  std::size_t chunks_ahead() const noexcept {
    if (threads == 0 || !options.prefetch) return 0;
    return small_chunks() ? 2 * std::max(threads, 2u) + 1 : std::max(threads, 2u);
  }

  // A planner that goes on behind `place`.
  static void enter(Planner& planner, const Mark& place) {
    if (place.begun) {
      planner.restore(place);  // behind an epoch's end the next answer begins the next one
    } else if (place.follows) {
      Mark end = place;
      --end.epoch;
      end.begun = end.ended = true;
      end.follows = false;
      planner.restore(end);
    } else {
      planner.count_on(place);
      planner.begin_epoch(place.epoch);
    }
  }

  void expect_same_process() const {
    if (pid == ::getpid()) return;
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.forked",
                      .what = "the reader was opened in another process",
                      .hint = "open it in this one, and restore(state) to go on"});
  }

  void start() {
    if (pipeline) return;
    if (!store) {
      store = std::make_unique<ChunkStore>(*read, ChunkStore::Settings{.frames = frames,
                                                                       .threads = options.prefetch ? threads : 0,
                                                                       .spares = chunks_ahead() + 1,
                                                                       .memory_limit = options.memory_limit});
    }
    planner = make_planner(true);
    enter(*planner, mark);
    pipeline = std::make_unique<Pipeline>(*read, *store, *planner, *memory,
                                          Pipeline::Settings{.streams = streams,
                                                             .max_invalid = options.max_invalid,
                                                             .memory_limit = options.memory_limit,
                                                             .keep_in_memory = options.keep_in_memory,
                                                             .frames = options.pack.kind == Packing::frames,
                                                             .small_chunks = small_chunks(),
                                                             .prefetch = options.prefetch,
                                                             .stop_at_epoch_end = true,
                                                             .chunks_ahead = chunks_ahead(),
                                                             .depth = options.prefetch_depth});
  }
  // What is under way is given up; the next call goes on behind `mark`.
  void stop() {
    pipeline.reset();
    planner.reset();
  }

  std::uint64_t fingerprint() const {
    if (!data) data = source->fingerprint();
    return *data;
  }

  ReaderOptions options;
  Limits limits;
  Report report;
  Corpora corpora;
  std::shared_ptr<const Source> source;  // all of it
  std::shared_ptr<const Source> read;    // the same, in the chunks that are read
  const order::Corpus& corpus;
  bool frames;                      // frames are drawn one by one
  std::vector<StreamInfo> streams;  // as delivered
  unsigned threads;
  pid_t pid;
  Mark mark;  // behind the minibatch last handed out
  bool told_of_reordering = false;
  mutable std::optional<std::uint64_t> data;
  std::unique_ptr<ChunkStore> store;
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Pipeline::Memory> memory = std::make_unique<Pipeline::Memory>();
  std::unique_ptr<Pipeline> pipeline;
};

Reader::Reader(std::shared_ptr<const Source> source, const ReaderOptions& options, const Limits& limits,
               const Report& report)
    : Reader(std::vector<std::shared_ptr<const Source>>{std::move(source)}, options, limits, report) {}
Reader::Reader(std::vector<std::shared_ptr<const Source>> corpora, const ReaderOptions& options, const Limits& limits,
               const Report& report)
    : impl_(std::make_unique<Impl>(std::move(corpora), options, limits, report)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

const std::vector<StreamInfo>& Reader::streams() const noexcept { return impl_->streams; }
std::uint64_t Reader::num_samples() const noexcept { return impl_->corpus.total_samples(); }
std::uint64_t Reader::num_sequences() const noexcept { return impl_->corpus.total_sequences(); }
const Source& Reader::source() const noexcept { return *impl_->source; }
std::shared_ptr<const Source> Reader::shared_source() const noexcept { return impl_->source; }
const ReaderOptions& Reader::options() const noexcept { return impl_->options; }
std::string Reader::key_text(std::uint64_t key) const { return impl_->source->key_text(key); }

bool Reader::read(Minibatch& out) {
  impl_->expect_same_process();
  if (impl_->options.driver == ReaderOptions::Driver::timeline && impl_->mark.ended) return false;
  impl_->start();
  impl_->pipeline->pop(out, impl_->mark);
  impl_->tell_of_reordering();
  // The empty answer that only says the run is over is not one.
  return !(impl_->options.driver == ReaderOptions::Driver::timeline && out.end_of_epoch && out.empty() &&
           out.invalid == 0);
}

bool Reader::next(Minibatch& out) {
  if (impl_->mark.ended) return false;
  do {
    if (!read(out)) return false;
  } while (out.empty() && !out.end_of_epoch);
  return !out.empty();
}

std::optional<Minibatch> Reader::next() {
  Minibatch batch;
  if (!next(batch)) return std::nullopt;
  return batch;
}

bool Reader::wait(std::chrono::milliseconds most, Minibatch& out) {
  impl_->expect_same_process();
  if (impl_->mark.ended) return true;
  impl_->start();
  return impl_->pipeline->wait(most, out);
}

bool Reader::at_hand() const noexcept { return impl_->pipeline && impl_->pipeline->at_hand(); }

void Reader::begin_epoch(std::uint64_t epoch) {
  impl_->expect_same_process();
  Mark& mark = impl_->mark;
  if (mark.follows && mark.epoch == epoch) return;
  if (mark.ended && epoch == mark.epoch + 1 && impl_->options.driver == ReaderOptions::Driver::epochs) {
    mark.epoch = epoch;  // the planner goes on to it by itself
    mark.index = 0;
    mark.begun = mark.ended = false;
    mark.follows = true;
    return;
  }
  impl_->stop();
  Mark fresh;
  fresh.epoch = epoch;
  fresh.invalid = mark.invalid;
  fresh.skipped = mark.skipped;
  fresh.padding = mark.padding;
  mark = fresh;
}

void Reader::set_workers(std::uint64_t workers, std::uint64_t rank) {
  impl_->expect_same_process();
  ReaderOptions changed = impl_->options;
  changed.workers = workers;
  changed.rank = rank;
  check_options(changed, impl_->corpora.parts());
  impl_->stop();
  impl_->options = changed;
  // Sequences that wait in this worker's rows are given up, as in the reference
  // (minibatch.md 11); with Shard::even rows are those of all workers and stay.
  if (changed.shard == Shard::chunk) impl_->mark.queue.clear();
}

void Reader::set_minibatch_size(std::uint64_t size) {
  impl_->expect_same_process();
  ReaderOptions changed = impl_->options;
  changed.minibatch_size = {size};
  check_options(changed, impl_->corpora.parts());
  if (changed.bucket_minibatches != 0 && size != impl_->options.minibatch_size.front()) {
    throw Error(
        Fault{.kind = FaultKind::usage,
              .id = "reader.bucket-sizes",
              .what = "the minibatch size cannot change under way with bucket_minibatches, whose pools are cut by it",
              .hint = "open another reader"});
  }
  impl_->stop();
  impl_->options = changed;
  impl_->mark.queue.clear();
}

std::string Reader::state() const { return write_state(impl_->mark, impl_->fingerprint(), impl_->options); }

void Reader::restore(std::string_view state) {
  impl_->expect_same_process();
  const Mark mark = read_state(state, impl_->fingerprint(), impl_->options, impl_->limits);
  impl_->stop();
  impl_->mark = mark;
}

std::vector<BatchPlan> Reader::plan(std::uint64_t minibatches) const {
  const std::unique_ptr<Planner> planner = impl_->make_planner(false);
  Impl::enter(*planner, impl_->mark);
  std::vector<BatchPlan> out;
  Plan plan;
  std::vector<SequenceInfo> table;
  std::map<std::uint32_t, std::vector<std::uint64_t>> keys;  // of each chunk, by row
  while (out.size() < minibatches) {
    planner->next(plan);
    BatchPlan& batch = out.emplace_back();
    batch.position = plan.after.position;
    batch.end_of_epoch = plan.end_of_epoch;
    batch.end_of_sweep = plan.end_of_sweep;
    for (const PlanItem& item : plan.items) {
      // A shuffled order jumps between chunks, so each table is looked at once only.
      const auto [found, fresh] = keys.try_emplace(item.chunk);
      if (fresh) {
        impl_->read->sequences(item.chunk, table);
        for (const SequenceInfo& sequence : table) {
          if (sequence.row >= found->second.size()) found->second.resize(sequence.row + 1);
          found->second[sequence.row] = sequence.key;
        }
      }
      BatchPlan::Item& to = batch.items.emplace_back();
      const Pieces::Part part = impl_->corpora.in_source(item.chunk);
      to.chunk = part.chunk;
      to.row = part.rows.first + item.row;
      to.key = item.row < found->second.size() ? found->second[item.row] : 0;
      to.samples = item.samples;
      if (impl_->frames) to.frame = item.first;
      to.corpus = impl_->corpora.part_of(item.chunk);
    }
    if (plan.end_of_epoch) break;
  }
  return out;
}

namespace {

std::uint64_t count_to_end(Planner& planner, bool with_empty) {
  std::uint64_t n = 0;
  Plan plan;
  do {
    planner.next(plan);
    if (with_empty || !plan.items.empty()) ++n;
  } while (!plan.end_of_epoch);
  return n;
}

}  // namespace

std::uint64_t Reader::num_minibatches(std::uint64_t epoch) const {
  const ReaderOptions& o = impl_->options;
  if (o.driver == ReaderOptions::Driver::timeline && o.epoch_samples == ~0ull) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.endless",
                      .what = "a run without end has no number of minibatches",
                      .hint = "give epoch_samples or epoch_sweeps"});
  }
  const std::unique_ptr<Planner> planner = impl_->make_planner(false);
  if (impl_->mark.follows && impl_->mark.epoch == epoch) {
    Impl::enter(*planner, impl_->mark);
  } else {
    planner->begin_epoch(epoch);
  }
  return count_to_end(*planner, true);
}

std::uint64_t Reader::remaining() const {
  if (impl_->mark.ended) return 0;
  if (impl_->options.driver == ReaderOptions::Driver::timeline && impl_->options.epoch_samples == ~0ull) return ~0ull;
  const std::unique_ptr<Planner> planner = impl_->make_planner(false);
  Impl::enter(*planner, impl_->mark);
  return count_to_end(*planner, false);
}

std::uint64_t Reader::skipped() const noexcept { return impl_->mark.skipped; }
std::uint64_t Reader::invalid() const noexcept { return impl_->mark.invalid; }
Padding Reader::padding() const noexcept { return impl_->mark.padding; }

std::uint64_t Reader::memory_held() const noexcept { return impl_->store ? impl_->store->memory() : 0; }

std::uint64_t Reader::memory_peak() const noexcept { return impl_->store ? impl_->store->peak() : 0; }

std::uint64_t Reader::memory_needed() const noexcept { return impl_->memory_needed(); }

}  // namespace batchfeed
