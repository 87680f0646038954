// SPDX-License-Identifier: MIT
#include "reader/pipeline.h"

#include <algorithm>
#include <system_error>

#include "pack/pack.h"

namespace batchfeed::reader {

namespace {
// Plans made ahead at most; metadata only, some kilobytes each.
constexpr std::size_t kMostPlans = 512;

std::uint64_t bytes_of(const Minibatch& batch) {
  std::uint64_t bytes = batch.keys.size() * sizeof(batch.keys[0]);
  for (const StreamBatch& s : batch.streams) {
    bytes += s.values.size() + s.indices.size() * sizeof(std::int32_t) +
             (s.offsets.size() + s.sample_begin.size()) * sizeof(std::int64_t) +
             s.layout.entries.size() * sizeof(LayoutEntry);
  }
  return bytes;
}
}  // namespace

Pipeline::Pipeline(const Source& source, ChunkStore& store, Planner& planner, const Settings& settings)
    : store_(store), planner_(planner), settings_(settings) {
  planned_uses_.resize(source.chunks().size());
  in_window_.resize(source.chunks().size());
  held_.resize(source.chunks().size());
  seen_.resize(source.chunks().size());
  if (!settings_.prefetch) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    settings_.prefetch = false;  // no thread to be had: pack in the caller's
  }
}

Pipeline::~Pipeline() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Pipeline::pop(Minibatch& out, Mark& mark) {
  if (!settings_.prefetch) {
    Ready ready;
    std::swap(ready.batch, out);
    produce(ready);
    if (ready.error) {
      planning_error_ = ready.error;
      std::rethrow_exception(ready.error);
    }
    std::swap(ready.batch, out);
    mark = std::move(ready.mark);
    return;
  }
  std::unique_lock lock(mutex_);
  wake_producer();
  ready_.wait(lock, [&] { return !queue_.empty(); });
  if (queue_.front()->error) std::rethrow_exception(queue_.front()->error);  // stays: every later call fails alike
  std::unique_ptr<Ready> front = std::move(queue_.front());
  queue_.pop_front();
  queue_bytes_ -= front->bytes;
  std::swap(front->batch, out);
  mark = std::move(front->mark);
  spare_.push_back(std::move(front));
  lock.unlock();
  room_.notify_one();
}

bool Pipeline::wait(std::chrono::milliseconds most) {
  if (!settings_.prefetch) return true;
  std::unique_lock lock(mutex_);
  wake_producer();
  return ready_.wait_for(lock, most, [&] { return !queue_.empty(); });
}

// With mutex_ held, when the next answer is asked for.
void Pipeline::wake_producer() {
  if (!queue_.empty() || !waiting_at_end_) return;
  waiting_at_end_ = false;
  room_.notify_one();
}

void Pipeline::run() {
  for (;;) {
    std::unique_ptr<Ready> next;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stop_ || (!waiting_at_end_ && has_room()); });
      if (stop_) return;
      if (!spare_.empty()) {
        next = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    if (!next) next = std::make_unique<Ready>();
    produce(*next);
    const bool failed = next->error != nullptr;
    {
      const std::lock_guard lock(mutex_);
      waiting_at_end_ = settings_.stop_at_epoch_end && next->end_of_epoch;
      next->bytes = bytes_of(next->batch);
      queue_bytes_ += next->bytes;
      queue_.push_back(std::move(next));
    }
    ready_.notify_one();
    if (failed) return;
  }
}

void Pipeline::produce(Ready& out) {
  out.error = nullptr;
  try {
    look_ahead();
    if (planned_.empty()) std::rethrow_exception(planning_error_);
    const std::unique_ptr<Plan> plan = std::move(planned_.front());
    planned_.pop_front();
    ahead_ -= plan->chunks_ahead;
    pack(*plan, out);
    let_go(*plan);
    out.end_of_epoch = plan->end_of_epoch;
    if (planned_.empty()) paused_ = false;
    spare_plans_.push_back(std::make_unique<Plan>(std::move(*plan)));
  } catch (...) {
    out.error = std::current_exception();
  }
}

// Plans on until enough chunks are asked for ahead of the window to keep the loaders busy.
void Pipeline::look_ahead() {
  const std::size_t busy = settings_.prefetch ? settings_.threads + 1 : 0;
  const std::size_t most = planner_.draws_ahead() ? 1 : kMostPlans;
  while (!planning_error_ && !paused_ && (planned_.empty() || (planned_.size() < most && ahead_ < busy))) {
    std::unique_ptr<Plan> plan;
    if (spare_plans_.empty()) {
      plan = std::make_unique<Plan>();
    } else {
      plan = std::move(spare_plans_.back());
      spare_plans_.pop_back();
    }
    try {
      planner_.next(*plan);
    } catch (...) {
      planning_error_ = std::current_exception();
      return;
    }
    want_chunks(*plan);
    paused_ = settings_.stop_at_epoch_end && plan->end_of_epoch;
    planned_.push_back(std::move(plan));
  }
}

void Pipeline::want_chunks(Plan& plan) {
  ++plan_number_;
  plan.chunks_ahead = 0;
  for (const PlanItem& item : plan.items) {
    if (seen_[item.chunk] == plan_number_) continue;
    seen_[item.chunk] = plan_number_;
    if (planned_uses_[item.chunk]++ == 0 && in_window_[item.chunk] == 0) ++plan.chunks_ahead;
    store_.want(item.chunk);
  }
  ahead_ += plan.chunks_ahead;
}

namespace {

// Parts that are to be seen as one sequence become one entry of the layout. They
// lie one behind the other in the packed values.
void join_entries(const Plan& plan, Minibatch& batch) {
  if (plan.parts.empty() || plan.parts[0].joined_length == 0) return;
  for (StreamBatch& stream : batch.streams) {
    auto& entries = stream.layout.entries;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
      const Plan::Part& part = plan.parts[i];
      if (part.joins) {
        stream.offsets[kept] = stream.offsets[i + 1];
        continue;
      }
      entries[kept] = {static_cast<std::uint32_t>(kept), part.row, part.joined_begin,
                       part.joined_begin + part.joined_length};
      stream.offsets[++kept] = stream.offsets[i + 1];
    }
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(kept),
                  entries.begin() + static_cast<std::ptrdiff_t>(plan.parts.size()));
    stream.layout.sequences = kept;
    stream.offsets.resize(kept + 1);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    if (!plan.parts[i].joins) batch.keys[kept++] = batch.keys[i];
  }
  batch.keys.resize(kept);
  batch.num_sequences = kept;
}

}  // namespace

void Pipeline::pack(const Plan& plan, Ready& out) {
  thread_local std::vector<pack::Slice> slices;
  thread_local std::vector<pack::Piece> pieces;
  slices.clear();
  pieces.clear();
  Minibatch& batch = out.batch;
  batch.keys.clear();
  batch.epoch = plan.epoch;
  batch.index = plan.index;
  batch.end_of_epoch = plan.end_of_epoch;
  batch.end_of_sweep = plan.end_of_sweep;
  batch.position = plan.after.position;
  batch.num_samples = 0;
  batch.invalid = 0;

  std::uint64_t unpaid = 0;
  for (const PlanItem& item : plan.items) {
    const LoadedChunk*& chunk = held_[item.chunk];
    if (chunk == nullptr) chunk = &store_.get(item.chunk);
    if (chunk->chunk.is_invalid(item.row)) {
      ++batch.invalid;
      if (chunk->chunk.invalid[item.row] == Chunk::kUnpaid) ++unpaid;
      continue;
    }
    slices.push_back({&chunk->chunk, item.row, item.first, item.count});
    batch.keys.push_back(chunk->keys[item.row]);
    batch.num_samples += item.samples;
  }
  batch.num_sequences = slices.size();
  out.mark = plan.after;
  if (first_plan_) {
    first_plan_ = false;
    invalid_ = plan.after.invalid;
    invalid_before_ = plan.after.invalid;
  }
  // Truncated planning has counted damaged sequences itself.
  invalid_ += unpaid + (plan.after.invalid - invalid_before_);
  invalid_before_ = plan.after.invalid;
  out.mark.invalid = invalid_;
  // Not where every sequence of the answer is damaged, as in the reference
  // (minibatch.md 9): what is left is the empty answer.
  if (invalid_ > settings_.max_invalid && invalid_ > 0 && !slices.empty()) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "reader.too-many-invalid",
                      .what = std::to_string(invalid_) + " damaged sequences, maxErrors tolerates " +
                              std::to_string(settings_.max_invalid),
                      .hint = "batchfeed check lists them; raise maxErrors of the reader to leave them out"});
  }
  if (plan.rectangular) {
    for (std::size_t i = 0; i < plan.parts.size() && !slices.empty(); ++i) {
      const Plan::Part& part = plan.parts[i];
      pieces.push_back({.slice = slices[part.item],
                        .sequence = static_cast<std::uint32_t>(i),
                        .row = part.row,
                        .step = part.step,
                        .first = part.first,
                        .count = part.count,
                        .length = part.length});
    }
    if (pieces.empty()) {
      batch.streams.clear();
    } else {
      pack::truncated(settings_.streams, plan.rows, plan.steps, pieces, batch);
      join_entries(plan, batch);
    }
  } else if (settings_.frames) {
    pack::frames(settings_.streams, slices, batch);
  } else {
    pack::sequences(settings_.streams, slices, batch);
  }
}

// Drops the chunks that neither the window nor a plan wants.
void Pipeline::let_go(const Plan& plan) {
  ++plan_number_;
  for (const PlanItem& item : plan.items) {
    if (seen_[item.chunk] == plan_number_) continue;
    seen_[item.chunk] = plan_number_;
    --planned_uses_[item.chunk];
  }
  if (settings_.keep_in_memory) return;
  if (plan.window_generation != 0 ? plan.window_generation == window_generation_ : plan.window == window_) return;
  for (const std::uint32_t id : window_) in_window_[id] = 0;
  window_ = plan.window;
  window_generation_ = plan.window_generation;
  for (const std::uint32_t id : window_) in_window_[id] = 1;
  store_.drop_unless([&](std::uint32_t id) {
    const bool keep = in_window_[id] != 0 || planned_uses_[id] != 0;
    if (!keep) held_[id] = nullptr;
    return keep;
  });
}

// Whether one more minibatch may wait; the first may always.
bool Pipeline::has_room() const {
  if (queue_.empty()) return true;
  if (queue_.size() >= settings_.depth) return false;
  return settings_.memory_limit == 0 || store_.memory() + queue_bytes_ <= settings_.memory_limit;
}

}  // namespace batchfeed::reader
