// SPDX-License-Identifier: MIT
#include <batchfeed/reader.h>

#include <algorithm>
#include <utility>

#include "base/saturate.h"
#include "reader/check_options.h"
#include "reader/damaged.h"
#include "reader/impl.h"
#include "reader/state.h"

namespace batchfeed {

using namespace reader;

Reader::Reader(std::shared_ptr<const Source> source, const ReaderOptions& options, const Limits& limits,
               const Report& report)
    : Reader(std::vector<std::shared_ptr<const Source>>{std::move(source)}, options, limits, report) {}
Reader::Reader(std::vector<std::shared_ptr<const Source>> corpora, const ReaderOptions& options, const Limits& limits,
               const Report& report)
    : impl_(std::make_unique<Impl>(std::move(corpora), options, limits, report)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&& other) noexcept {
  if (this == &other) return *this;
  Impl::end(impl_);
  impl_ = std::move(other.impl_);
  return *this;
}
Reader::~Reader() { Impl::end(impl_); }

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
  impl_->handed_out = false;
  impl_->start();
  impl_->pipeline->pop(out, impl_->before);
  std::swap(impl_->mark, impl_->before);
  impl_->handed_out = true;
  try {
    impl_->tell_of_reordering();
  } catch (...) {  // whoever is told ended the call, so nobody gets this answer
    take_back();
    throw;
  }
  // An empty answer that only says that the run is over does not count.
  return !(impl_->options.driver == ReaderOptions::Driver::timeline && out.end_of_epoch && out.empty() &&
           out.invalid == 0);
}

namespace {

// Throws if `empty` samples of the timeline, none of them this worker's, mean that its share is empty: it may have no
// end.
void expect_share(std::uint64_t empty, const ReaderOptions& options, std::uint64_t sweep) {
  constexpr std::uint64_t kSweeps = 10;  // fewer may be chance, as minibatches differ
  if (empty <= mul_sat(kSweeps, sweep)) return;
  // Where minibatches are dropped that a sweep does not fill, larger ones are no cure.
  const bool drops = options.last_minibatch == LastMinibatch::drop;
  throw Error(
      Fault{.kind = FaultKind::usage,
            .id = "reader.no-share",
            .what = "no sequence for worker " + std::to_string(options.rank) + " of " +
                    std::to_string(options.workers) + " in " + std::to_string(kSweeps) + " sweeps",
            .hint = drops ? "`last_minibatch = drop` leaves out minibatches that a sweep does not fill: use smaller "
                            "ones, or fewer workers, or keep them"
                          : "use fewer workers or larger minibatches"});
}

}  // namespace

bool Reader::next(Minibatch& out) {
  if (impl_->mark.ended) return false;
  const ReaderOptions& options = impl_->options;
  bool any = true, first = true;
  std::uint64_t behind = 0, passed = 0, damaged = 0;
  do {
    any = read(out);
    damaged += out.invalid;
    // Answers of other offsets are those of readers that load for the same worker.
    if (!first && out.index % options.stride == options.offset) passed += out.position - behind;
    first = false;
    behind = out.position;
    if (!out.empty()) continue;
    if (damaged == 0)
      expect_share(passed, options, num_samples());
    else if (passed > impl_->most_damaged())
      all_damaged();
  } while (any && out.empty() && !out.end_of_epoch);
  if (any && !out.empty()) return true;
  expect_within(impl_->mark.invalid, impl_->options.max_invalid);  // an epoch may have held damaged sequences only
  return false;
}

std::optional<Minibatch> Reader::next() {
  Minibatch batch;
  if (!next(batch)) return std::nullopt;
  return batch;
}

bool Reader::wait(std::chrono::milliseconds most, Minibatch& out, bool all) {
  impl_->expect_same_process();
  if (impl_->mark.ended && !(all && impl_->options.driver == ReaderOptions::Driver::epochs)) return true;
  impl_->start();
  return impl_->pipeline->wait(most, out);
}

bool Reader::at_hand() const noexcept { return impl_->pipeline && impl_->pipeline->at_hand(); }

void Reader::take_back() {
  impl_->expect_same_process();
  if (!impl_->handed_out) return;
  impl_->stop();
  std::swap(impl_->mark, impl_->before);
}

void Reader::begin_epoch(std::uint64_t epoch) {
  impl_->expect_same_process();
  Mark& mark = impl_->mark;
  if (mark.follows && mark.epoch == epoch) return;
  static_cast<void>(impl_->epochs().begin(epoch));  // throws if there is no such epoch
  if (mark.ended && epoch == mark.epoch + 1 && impl_->options.driver == ReaderOptions::Driver::epochs) {
    mark.epoch = epoch;  // the planner goes on to it by itself
    mark.index = 0;
    mark.begun = mark.ended = false;
    mark.follows = true;
    impl_->handed_out = false;
    return;
  }
  impl_->stop();
  Mark fresh;
  fresh.epoch = epoch;
  fresh.none_yet = mark.none_yet;
  fresh.invalid = mark.invalid;
  fresh.tolerated = mark.tolerated;
  fresh.skipped = mark.skipped;
  fresh.padding = mark.padding;
  mark = fresh;
}

void Reader::set_workers(std::uint64_t workers, std::uint64_t rank) {
  impl_->expect_same_process();
  ReaderOptions changed = impl_->options;
  if (workers == changed.workers && rank == changed.rank) return;
  changed.workers = workers;
  changed.rank = rank;
  check_options(changed, impl_->corpora.parts());
  impl_->stop();
  impl_->options = changed;
  // Sequences that wait in this worker's rows are given up, as in the reference
  // (minibatch.md 11); with Shard::even rows are those of all workers and stay.
  if (changed.shard == Shard::chunk) impl_->give_up_waiting();
  impl_->number_anew();
}

void Reader::set_minibatch_size(std::uint64_t size) {
  impl_->expect_same_process();
  ReaderOptions changed = impl_->options;
  if (changed.minibatch_size == std::vector{size}) return;
  changed.minibatch_size = {size};
  check_options(changed, impl_->corpora.parts());
  check_gaps(changed, impl_->corpus.total_samples(), impl_->limits);
  if (changed.bucket_minibatches != 0 && size != impl_->options.minibatch_size.front()) {
    throw Error(
        Fault{.kind = FaultKind::usage,
              .id = "reader.bucket-sizes",
              .what = "the minibatch size cannot change under way with bucket_minibatches, whose pools are cut by it",
              .hint = "open another reader"});
  }
  impl_->stop();
  impl_->options = changed;
  impl_->give_up_waiting();
  impl_->number_anew();
}

std::string Reader::state() const { return write_state(impl_->mark, impl_->fingerprint(), impl_->options); }

void Reader::restore(std::string_view state) {
  impl_->expect_same_process();
  const Mark mark = read_state(state, impl_->fingerprint(), impl_->options, impl_->limits);
  check_place(mark, impl_->epochs(), impl_->corpus.total_samples(), impl_->options);
  impl_->stop();
  impl_->mark = mark;
}

std::uint64_t Reader::skipped() const noexcept { return impl_->mark.skipped; }
std::uint64_t Reader::invalid() const noexcept { return impl_->mark.invalid + impl_->mark.tolerated; }
Padding Reader::padding() const noexcept { return impl_->mark.padding; }

std::uint64_t Reader::memory_held() const noexcept { return impl_->store ? impl_->store->memory() : 0; }

std::uint64_t Reader::memory_peak() const noexcept { return impl_->store ? impl_->store->peak() : 0; }

std::uint64_t Reader::memory_needed() const noexcept { return impl_->memory_needed(); }

}  // namespace batchfeed
