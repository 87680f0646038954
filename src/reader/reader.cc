// SPDX-License-Identifier: MIT
#include <batchfeed/reader.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "order/timeline.h"
#include "reader/chunk_store.h"
#include "reader/legacy_speech.h"
#include "reader/pipeline.h"
#include "reader/sequence_planner.h"
#include "reader/state.h"
#include "reader/truncated_planner.h"

namespace batchfeed {

using namespace reader;

namespace {

[[noreturn]] void usage(std::string id, std::string what, std::string hint) {
  throw Error(Fault{
      .kind = FaultKind::usage, .id = "reader." + std::move(id), .what = std::move(what), .hint = std::move(hint)});
}

void check(const ReaderOptions& o) {
  if (o.workers == 0) usage("workers", "workers is 0, must be at least 1", "");
  if (o.rank >= o.workers)
    usage("rank", "rank is " + std::to_string(o.rank) + ", must be below workers (" + std::to_string(o.workers) + ')',
          "ranks count from 0");
  if (o.minibatch_size.empty() || std::count(o.minibatch_size.begin(), o.minibatch_size.end(), 0u) != 0) {
    usage("minibatch-size", "the minibatch size is 0, must be at least 1", "");
  }
  if (o.epoch_samples != 0 && o.epoch_sweeps != 0)
    usage("epoch-size", "epoch_samples and epoch_sweeps are both set", "give one of them");
  if (o.pack.kind == Packing::truncated && !o.legacy_speech) {
    if (o.pack.truncation_length == 0 && o.rows_per_epoch.empty())
      usage("truncation-length", "truncation_length is 0, must be at least 1", "");
    if (o.pack.right_splice >= o.pack.truncation_length && o.pack.right_splice != 0) {
      usage("right-splice",
            "right_splice is " + std::to_string(o.pack.right_splice) + ", must be below truncation_length (" +
                std::to_string(o.pack.truncation_length) + ')',
            "a minibatch must bring at least one new sample a row");
    }
    if (o.size_unit != SizeUnit::samples) usage("size-unit", "truncated packing counts minibatches in samples", "");
  }
}

}  // namespace

struct Reader::Impl {
  Impl(std::shared_ptr<const Source> from, const ReaderOptions& given, const Limits& given_limits, Report given_report)
      : source(std::move(from)),
        options(given),
        limits(given_limits),
        report(std::move(given_report)),
        frames(options.pack.kind == Packing::frames && source->splits_frames()),
        corpus(*source, frames),
        threads(options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency())),
        pid(::getpid()) {
    check(options);
    if (corpus.total_samples() == 0) {
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "reader.no-samples",
                        .what = "the corpus has no samples",
                        .hint = "batchfeed check says what is wrong with it"});
    }
    streams = source->streams();
    if (options.legacy_speech) {
      options = legacy_options(options, corpus.total_samples());
      for (StreamInfo& s : streams) s.storage = Storage::dense;
    }
    mark.epoch = options.driver == ReaderOptions::Driver::timeline ? 0 : options.start_epoch;
  }
  ~Impl() {
    if (pid == ::getpid()) return;
    // In a forked child the threads do not exist: nothing to wait for.
    static_cast<void>(pipeline.release());
    static_cast<void>(store.release());
  }

  std::unique_ptr<Planner> make_planner(bool with_data) {
    const bool cross = options.cross_sweeps.value_or(options.driver == ReaderOptions::Driver::timeline);
    const bool even = options.shard == Shard::even;
    auto timeline =
        order::make_timeline(corpus, options.order, cross, even ? 1 : options.workers, even ? 0 : options.rank);
    const bool rows = options.legacy_speech && options.pack.kind != Packing::frames;
    if (options.pack.kind != Packing::truncated && !rows)
      return std::make_unique<SequencePlanner>(std::move(timeline), corpus.total_samples(), options);
    TruncatedPlanner::Inspect inspect;  // LegacyPlanner's is the same
    if (with_data) {
      inspect = [this](const order::Item& item, Mark& place) -> std::optional<std::uint32_t> {
        const Chunk& chunk = store->get(item.chunk).chunk;
        if (chunk.is_invalid(item.row)) {
          if (chunk.invalid[item.row] == Chunk::kUnpaid) ++place.invalid;
          return std::nullopt;
        }
        return chunk.columns[0].samples(item.row);
      };
    }
    if (rows)
      return std::make_unique<LegacyPlanner>(std::move(timeline), corpus.total_samples(), options, std::move(inspect));
    return std::make_unique<TruncatedPlanner>(std::move(timeline), corpus.total_samples(), options, std::move(inspect));
  }

  // A planner that goes on behind `place`.
  static void enter(Planner& planner, const Mark& place) {
    if (place.begun) {
      planner.restore(place);  // behind an epoch's end the next answer begins the next one
    } else {
      planner.begin_epoch(place.epoch);
    }
  }

  void expect_same_process() const {
    if (pid == ::getpid()) return;
    usage("forked", "the reader was opened in another process", "open it in this one, and restore(state) to go on");
  }

  void start() {
    if (pipeline) return;
    if (!store) store = std::make_unique<ChunkStore>(*source, frames, options.prefetch ? threads : 0);
    planner = make_planner(true);
    enter(*planner, mark);
    pipeline = std::make_unique<Pipeline>(*source, *store, *planner,
                                          Pipeline::Settings{.streams = streams,
                                                             .max_invalid = options.max_invalid,
                                                             .memory_limit = options.memory_limit,
                                                             .keep_in_memory = options.keep_in_memory,
                                                             .frames = options.pack.kind == Packing::frames,
                                                             .prefetch = options.prefetch,
                                                             .stop_at_epoch_end = true,
                                                             .threads = threads});
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

  std::shared_ptr<const Source> source;
  ReaderOptions options;
  Limits limits;
  Report report;
  std::vector<StreamInfo> streams;  // as delivered
  bool frames;                      // frames are drawn one by one
  order::Corpus corpus;
  unsigned threads;
  pid_t pid;
  Mark mark;  // behind the minibatch last handed out
  mutable std::optional<std::uint64_t> data;
  std::unique_ptr<ChunkStore> store;
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Pipeline> pipeline;
};

Reader::Reader(std::shared_ptr<const Source> source, const ReaderOptions& options, const Limits& limits,
               const Report& report)
    : impl_(std::make_unique<Impl>(std::move(source), options, limits, report)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

const std::vector<StreamInfo>& Reader::streams() const noexcept { return impl_->streams; }
std::uint64_t Reader::num_samples() const noexcept { return impl_->corpus.total_samples(); }
std::uint64_t Reader::num_sequences() const noexcept { return impl_->corpus.total_sequences(); }
const Source& Reader::source() const noexcept { return *impl_->source; }
const ReaderOptions& Reader::options() const noexcept { return impl_->options; }
std::string Reader::key_text(std::uint64_t key) const { return impl_->source->key_text(key); }

bool Reader::read(Minibatch& out) {
  impl_->expect_same_process();
  if (impl_->options.driver == ReaderOptions::Driver::timeline && impl_->mark.ended) return false;
  impl_->start();
  impl_->pipeline->pop(out, impl_->mark);
  // The empty answer that only says the run is over is not one.
  return !(impl_->options.driver == ReaderOptions::Driver::timeline && out.end_of_epoch && out.empty() &&
           out.invalid == 0);
}

std::optional<Minibatch> Reader::next() {
  if (impl_->mark.ended) return std::nullopt;
  Minibatch batch;
  do {
    if (!read(batch)) return std::nullopt;
  } while (batch.empty() && !batch.end_of_epoch);
  if (batch.empty()) return std::nullopt;
  return batch;
}

void Reader::begin_epoch(std::uint64_t epoch) {
  impl_->expect_same_process();
  impl_->stop();
  const std::uint64_t invalid = impl_->mark.invalid;
  impl_->mark = Mark{};
  impl_->mark.epoch = epoch;
  impl_->mark.invalid = invalid;
}

void Reader::set_workers(std::uint64_t workers, std::uint64_t rank) {
  impl_->expect_same_process();
  ReaderOptions changed = impl_->options;
  changed.workers = workers;
  changed.rank = rank;
  check(changed);
  impl_->stop();
  impl_->options = changed;
}

void Reader::set_minibatch_size(std::uint64_t size) {
  impl_->expect_same_process();
  ReaderOptions changed = impl_->options;
  changed.minibatch_size = {size};
  check(changed);
  impl_->stop();
  impl_->options = changed;
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
        impl_->source->sequences(item.chunk, table);
        for (const SequenceInfo& sequence : table) {
          if (sequence.row >= found->second.size()) found->second.resize(sequence.row + 1);
          found->second[sequence.row] = sequence.key;
        }
      }
      BatchPlan::Item& to = batch.items.emplace_back();
      to.chunk = item.chunk;
      to.row = item.row;
      to.key = item.row < found->second.size() ? found->second[item.row] : 0;
      to.samples = item.samples;
      if (impl_->frames) to.frame = item.first;
    }
    if (plan.end_of_epoch) break;
  }
  return out;
}

std::uint64_t Reader::memory_held() const noexcept { return impl_->store ? impl_->store->memory() : 0; }

std::uint64_t Reader::memory_needed() const noexcept {
  const std::vector<ChunkInfo>& chunks = impl_->source->chunks();
  std::uint64_t largest = 0, all = 0;
  for (const ChunkInfo& c : chunks) {
    largest = std::max(largest, c.bytes);
    all += c.bytes;
  }
  if (impl_->options.keep_in_memory) return all;
  const OrderOptions& order = impl_->options.order;
  std::uint64_t window = 1;
  if (order.kind != OrderKind::file) {
    window = order.window;
    if (order.window_in_samples) {
      const std::uint64_t mean =
          std::max<std::uint64_t>(1, impl_->corpus.total_samples() / std::max<std::size_t>(1, chunks.size()));
      window = std::min<std::uint64_t>(chunks.size(), order.window / mean + 2);
    }
  }
  return std::min(all, std::min<std::uint64_t>(window + impl_->threads + 1, chunks.size()) * largest);
}

}  // namespace batchfeed
