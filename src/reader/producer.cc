// SPDX-License-Identifier: MIT
#include "reader/producer.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "reader/damaged.h"

namespace batchfeed::reader {

namespace {
// Plans made ahead at most; metadata only, some kilobytes each.
constexpr std::size_t kMostPlans = 512;
// Chunks listed in their windows at most; each plan has a list of its own.
constexpr std::size_t kMostListed = 1 << 20;
// Chunks that together take more bytes are not in the caches (pack::Scratch::far).
constexpr std::uint64_t kFar = 64 << 20;

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

Producer::Producer(const Source& source, ChunkStore& store, Planner& planner, RunMemory& memory,
                   const Settings& settings)
    : source_(source), store_(store), planner_(planner), memory_(memory), settings_(settings) {
  planned_uses_.resize(source.chunks().size());
  in_window_.resize(source.chunks().size());
  held_.resize(source.chunks().size());
  seen_.resize(source.chunks().size());
}

Producer::~Producer() {
  // Plans that there is no memory to keep are freed.
  try {
    while (!planned_.empty()) memory_.plans.push_back(planned_.pop_front());
  } catch (const std::bad_alloc&) {
  }
}

void Producer::expect_running() const {
  if (stop_.load(std::memory_order_relaxed)) throw Stopped();
}

// In the thread that makes answers, as a planner that restores a queue of rows looks into chunks.
void Producer::enter() {
  if (entered_) return;
  planner_.enter(settings_.place);
  entered_ = true;
}

void Producer::ask_for_first_chunks() {
  enter();
  for (const std::uint32_t chunk : planner_.first_chunks(settings_.chunks_ahead)) store_.want(chunk);
}

void Producer::resolve_next(Answer& out) {
  out.error = nullptr;
  out.stage = Answer::Stage::resolved;
  out.bytes = 0;
  out.whole.reset();
  if (out.plan) memory_.plans.push_back(std::move(out.plan));
  try {
    enter();
    look_ahead();
    if (planned_.empty()) std::rethrow_exception(planning_error_);
    out.plan = planned_.pop_front();
    ahead_ -= out.plan->chunks_ahead;
    resolve(*out.plan, out);
    count_down(*out.plan);
    out.end_of_epoch = out.plan->end_of_epoch;
    if (planned_.empty()) paused_ = false;
  } catch (...) {
    out.error = std::current_exception();
    out.stage = Answer::Stage::done;
  }
}

// How many plans to make ahead, when there is one.
std::size_t Producer::most_plans() {
  if (planner_.draws_ahead()) return 1;
  // Where every chunk is in memory, more plans would only have left the cache by the time they are used.
  if (holds_ == held_.size()) return 2;
  return std::clamp<std::size_t>(kMostListed / (planned_.back()->window.size() + 1), 2, kMostPlans);
}

// Plans ahead until `chunks_ahead` chunks outside the window are asked for.
void Producer::look_ahead() {
  while (!planning_error_ && !paused_ &&
         (planned_.empty() || (planned_.size() < most_plans() && ahead_ < settings_.chunks_ahead))) {
    std::unique_ptr<Plan> plan;
    if (memory_.plans.empty()) {
      plan = std::make_unique<Plan>();
    } else {
      plan = std::move(memory_.plans.back());
      memory_.plans.pop_back();
    }
    try {
      planner_.next(*plan);
    } catch (const TooLong& sequence) {
      planning_error_ = reader::located(sequence, source_);
      return;
    } catch (...) {
      planning_error_ = std::current_exception();
      return;
    }
    want_chunks(*plan);
    paused_ = plan->end_of_epoch;
    planned_.push_back(std::move(plan));
  }
}

void Producer::want_chunks(Plan& plan) {
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

// How many samples a part of a sequence has, the same in each stream. Parts are cut by the nominal length: a sequence
// with tolerated damaged samples has fewer, and one whose file states too small a length has more, which come with the
// last part, as they would with a whole sequence.
std::uint32_t Producer::samples_of_part(const PlanItem& item, const LoadedChunk& chunk) const {
  const std::vector<Column>& columns = chunk.chunk.columns;
  const std::uint32_t samples = columns[0].samples(item.row);
  for (std::size_t s = 1; s < columns.size(); ++s) {
    if (columns[s].samples(item.row) == samples) continue;
    throw Error(Fault{.kind = FaultKind::config,
                      .id = "reader.split-lengths",
                      .at = source_.place(item.chunk, item.row).position(),
                      .what = "sequence '" + source_.key_text(chunk.keys[item.row]) +
                              "' is too long and cannot be split: it has " + counted(samples, "sample") +
                              " in stream '" + settings_.streams[0].name + "' and " +
                              std::to_string(columns[s].samples(item.row)) + " in '" + settings_.streams[s].name + "'",
                      .hint = "let long sequences come alone or be skipped, or raise the minibatch size",
                      .stream = settings_.streams[s].name});
  }
  return samples <= item.first ? 0 : std::min(item.count, samples - item.first);
}

void Producer::resolve(const Plan& plan, Answer& out) {
  Minibatch& batch = out.batch;
  memory_.pool->lend(batch.keys);
  batch.keys.clear();
  batch.epoch = plan.epoch;
  batch.index = plan.index;
  batch.end_of_epoch = plan.end_of_epoch;
  batch.end_of_sweep = plan.end_of_sweep;
  batch.position = plan.after.position;
  out.mark = plan.after;
  // A chunk that was got before may be looked into by answers that wait to be packed.
  const bool fresh = !plan.items.empty() && held_[plan.items[0].chunk] == nullptr;
  const Lost lost = find_rows(plan, out);
  count_damaged(plan, lost, out);
  if (fresh) take_whole(plan, out);
  out.pieces.clear();
  for (std::size_t i = 0; i < plan.parts.size() && !out.slices.empty(); ++i) {
    const Plan::Part& part = plan.parts[i];
    out.pieces.push_back({.slice = out.slices[part.item],
                          .sequence = static_cast<std::uint32_t>(i),
                          .row = part.row,
                          .step = part.step,
                          .first = part.first,
                          .count = part.count,
                          .length = part.length});
  }
}

// Finds the sound rows of the plan, with their keys; returns how many damaged sequences there were.
Producer::Lost Producer::find_rows(const Plan& plan, Answer& out) {
  Minibatch& batch = out.batch;
  batch.num_samples = 0;
  out.slices.clear();
  Lost lost;
  // Keys of rows lie anywhere in memory, and are prefetched; the frames of a sequence share its key.
  constexpr std::size_t kAhead = 16;
  const std::size_t asked = settings_.frames ? 0 : plan.items.size();
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const PlanItem& item = plan.items[i];
    if (i + kAhead < asked) {
      const PlanItem& later = plan.items[i + kAhead];
      if (held_[later.chunk] != nullptr) __builtin_prefetch(held_[later.chunk]->keys.data() + later.row);
    }
    const LoadedChunk*& chunk = held_[item.chunk];
    if (chunk == nullptr) {
      expect_running();
      chunk = &store_.get(item.chunk);
      ++holds_;
    }
    if (chunk->chunk.is_invalid(item.row)) {
      const std::uint64_t sequences = settings_.frames ? item.samples : 1;  // each frame is a sequence
      (chunk->chunk.invalid[item.row] == Chunk::kUnpaid ? lost.unpaid : lost.paid) += sequences;
      continue;
    }
    std::uint32_t count = item.count, samples = item.samples;
    if (item.is_part() && !settings_.frames) {
      count = samples = samples_of_part(item, *chunk);
      if (count == 0) continue;
    }
    out.slices.push_back({&chunk->chunk, item.row, item.first, count, chunk->plain.data()});
    batch.keys.push_back(chunk->keys[item.row]);
    batch.num_samples += samples;
  }
  batch.num_sequences = out.slices.size();
  return lost;
}

// Takes a chunk out of the store if this answer is all of it, as with pieces in the files' order: packing may hand over
// its buffers, and need not copy them. Not if another plan asks for the chunk, or it is the only one of the corpus.
void Producer::take_whole(const Plan& plan, Answer& out) {
  if (!settings_.hands_over || plan.rectangular || out.slices.empty() || held_.size() == 1) return;
  const std::uint32_t id = plan.items[0].chunk;
  if (out.slices[0].chunk != &held_[id]->chunk) return;  // all rows of the first item's chunk are damaged
  if (!out.slices[0].is_whole() || out.slices[0].row != 0) return;
  if (out.slices.size() != held_[id]->keys.size() || planned_uses_[id] != 1) return;
  if (pack::following(out.slices) != out.slices.size()) return;
  out.whole = store_.take_out(id);
  held_[id] = nullptr;
  --holds_;
}

void Producer::count_damaged(const Plan& plan, Lost lost, Answer& out) {
  // Truncated planning has counted damaged sequences itself, where it first met them.
  lost.unpaid += plan.after.invalid - planned_invalid_;
  lost.paid += plan.after.tolerated - planned_tolerated_;
  planned_invalid_ = plan.after.invalid;
  planned_tolerated_ = plan.after.tolerated;
  out.batch.invalid = lost.unpaid + lost.paid;
  out.mark.invalid = invalid_ += lost.unpaid;
  out.mark.tolerated = tolerated_ += lost.paid;
  // Before the first sound sequence the answers are empty and nothing is checked, as in the reference (minibatch.md 9),
  // which does not check later empty answers either. HTKMLFReader checks all before it begins.
  delivered_ = delivered_ || !out.slices.empty();
  out.mark.none_yet = !delivered_;
  if (delivered_ || settings_.at_once) expect_within(invalid_, settings_.max_invalid);
}

std::exception_ptr Producer::located(const pack::Misfit& misfit, const Answer& job) const noexcept {
  try {
    const std::size_t i = misfit.sequence();
    const bool pieces = !job.pieces.empty();
    const pack::Slice& slice = pieces ? job.pieces[i].slice : job.slices[i];
    const std::uint64_t key = job.batch.keys[pieces ? job.pieces[i].sequence : i];
    Fault fault = misfit.fault();
    fault.what = "sequence '" + source_.key_text(key) + "' " + fault.what;
    const auto id = job.whole ? std::optional(job.plan->items[0].chunk) : store_.id_of(*slice.chunk);
    if (id) fault.at = source_.place(*id, slice.row).position();
    return std::make_exception_ptr(Error(std::move(fault)));
  } catch (...) {
    return std::current_exception();
  }
}

// Looks into the chunks, and changes nothing but the job: two threads may do it at once.
void Producer::pack(Answer& job) const noexcept {
  try {
    job.scratch.far = store_.memory() > kFar;
    job.scratch.whole = job.whole ? &job.whole->chunk : nullptr;
    if (job.plan->rectangular) {
      if (job.pieces.empty()) {
        job.batch.streams.clear();
      } else {
        pack::truncated(settings_.streams, job.plan->rows, job.plan->steps, job.pieces, job.scratch, job.batch);
        join_entries(*job.plan, job.batch);
      }
    } else if (settings_.frames) {
      pack::frames(settings_.streams, job.slices, job.scratch, job.batch);
    } else {
      pack::sequences(settings_.streams, job.slices, job.scratch, job.batch);
    }
    job.bytes = bytes_of(job.batch);
  } catch (const pack::Misfit& misfit) {
    job.error = located(misfit, job);
  } catch (...) {
    job.error = std::current_exception();
  }
  job.whole.reset();
}

// A plan that was resolved no longer asks for its chunks; its window holds from now on.
void Producer::count_down(const Plan& plan) {
  ++plan_number_;
  for (const PlanItem& item : plan.items) {
    if (seen_[item.chunk] == plan_number_) continue;
    seen_[item.chunk] = plan_number_;
    --planned_uses_[item.chunk];
    if (!settings_.keep_in_memory && !is_wanted(item.chunk)) leaving_.push_back(item.chunk);
  }
  if (settings_.keep_in_memory) return;
  if (plan.window_generation != 0 ? plan.window_generation == window_generation_ : plan.window == window_) return;
  for (const std::uint32_t id : window_) in_window_[id] = 0;
  for (const std::uint32_t id : plan.window) in_window_[id] = 1;
  for (const std::uint32_t id : window_) {
    if (!is_wanted(id)) leaving_.push_back(id);
  }
  window_ = plan.window;
  window_generation_ = plan.window_generation;
  window_moved_ = true;
}

// A window may have a million chunks: only those that left it are looked at.
void Producer::let_go(std::span<const std::uint32_t> looked_into) {
  window_moved_ = false;
  // Chunks that were held before the first plan, and those that planning itself asks for, need not be in any window or
  // plan seen here.
  if (!knows_all_ || planner_.draws_ahead()) store_.list(leaving_);
  knows_all_ = true;
  std::erase_if(leaving_, [&](std::uint32_t id) { return is_wanted(id); });
  store_.drop(leaving_, [&](std::uint32_t id) {
    if (std::ranges::find(looked_into, id) != looked_into.end()) return false;
    if (held_[id] != nullptr) --holds_;
    held_[id] = nullptr;
    return true;
  });
}

bool Producer::next_is_loaded() const {
  return !planned_.empty() && std::all_of(planned_.front()->items.begin(), planned_.front()->items.end(),
                                          [&](const PlanItem& item) { return held_[item.chunk] != nullptr; });
}

}  // namespace batchfeed::reader
