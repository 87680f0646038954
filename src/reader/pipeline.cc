// SPDX-License-Identifier: MIT
#include "reader/pipeline.h"

#include <algorithm>
#include <new>
#include <system_error>

#include "base/threads.h"

namespace batchfeed::reader {

namespace {
// Waking a thread costs tens of microseconds. Answers that cost far less (kSmall) are
// handed over together, up to kTogether bytes of them.
constexpr std::uint64_t kSmall = 48 << 10, kTogether = 256 << 10;
constexpr std::size_t kSmallItems = 200, kMostTogether = 32;

}  // namespace

Pipeline::Pipeline(Producer& producer, const ChunkStore& store, RunMemory& memory, const Settings& settings)
    : producer_(producer), store_(store), memory_(memory), settings_(settings) {
  if (!settings_.prefetch) return;
  // No thread to be had: pack in the caller's.
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    settings_.prefetch = false;
  } catch (const std::bad_alloc&) {
    settings_.prefetch = false;
  }
}

Pipeline::~Pipeline() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  producer_.stop();
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Answers that there is no memory to keep are freed.
  try {
    for (auto* const all : {&fresh_, &made_, &used_}) {
      for (auto& answer : *all) put_away(std::move(answer));
    }
    for (auto* const all : {&queue_, &taken_}) {
      while (!all->empty()) put_away(all->pop_front());
    }
  } catch (const std::bad_alloc&) {
  }
}

// Keeps the memory of an answer that nobody waits for any more.
void Pipeline::put_away(std::unique_ptr<Answer> answer) {
  if (!answer) return;
  memory_.pool->keep(answer->batch.streams);
  if (answer->plan) memory_.plans.push_back(std::move(answer->plan));
  answer->whole.reset();
  answer->error = nullptr;
  memory_.answers.push_back(std::move(answer));
}

void Pipeline::pop(Minibatch& out, Mark& mark) {
  if (!settings_.prefetch) {
    produce_alone(out);
    if (alone_.error) std::rethrow_exception(alone_.error);
    alone_made_ = false;
    alone_.batch.swap(out);
    detail::MinibatchPool::own(memory_.pool, out);
    std::swap(mark, alone_.mark);
    return;
  }
  if (taken_.empty()) take(out, nullptr);
  used_.emplace_back();  // asks for memory while the answer is still in its place
  used_.back() = taken_.pop_front();
  used_.back()->batch.swap(out);
  detail::MinibatchPool::own(memory_.pool, out);
  std::swap(mark, used_.back()->mark);
}

// Makes the next answer in this thread, unless it is made already. Reuses the memory of `out`.
void Pipeline::produce_alone(Minibatch& out) {
  if (alone_made_) return;
  alone_.batch.swap(out);
  memory_.pool->keep(alone_.batch.streams);
  if (producer_.window_moved()) producer_.let_go({});
  producer_.resolve_next(alone_);
  if (!alone_.error) {
    if (!alone_.slices.empty()) memory_.pool->lend(alone_.batch.streams);
    producer_.pack(alone_);
  }
  alone_made_ = true;  // also if it failed: every later call fails alike
}

// Waits for the next answer, and takes it out of the queue with the small ones behind it. Reuses the memory of
// `out`. False if it did not come until `until` (null: no limit).
bool Pipeline::take(Minibatch& out, const std::chrono::steady_clock::time_point* until) {
  std::unique_lock lock(mutex_);
  caller_cpu_ = current_cpu();
  memory_.pool->keep(out.streams);
  give_back();
  wake_producer();
  if (!await_front(lock, until)) return false;
  if (queue_.front()->error) {  // stays: every later call of pop() fails alike
    if (until != nullptr) return true;
    std::rethrow_exception(queue_.front()->error);
  }
  std::uint64_t bytes = 0;
  do {
    const std::uint64_t of_this = queue_.front()->bytes;
    taken_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    bytes += of_this;
    queue_bytes_ -= of_this;
  } while (!queue_.empty() && queue_.front()->stage == Answer::Stage::done && !queue_.front()->error &&
           bytes + queue_.front()->bytes <= kTogether);
  // The producer is woken when there is room for several answers.
  const bool low = queue_.size() <= settings_.depth / 2 || settings_.memory_limit != 0;
  lock.unlock();
  if (low) room_.notify_one();
  return true;
}

bool Pipeline::wait(std::chrono::milliseconds most, Minibatch& out) {
  if (!settings_.prefetch) produce_alone(out);
  if (!settings_.prefetch) return true;
  constexpr std::chrono::hours kLong(24 * 365);  // so that now + most does not overflow
  using std::chrono::milliseconds;
  const auto until = std::chrono::steady_clock::now() + std::clamp<milliseconds>(most, milliseconds(0), kLong);
  while (!took_one_to_look_at()) {
    const std::size_t before = taken_.size();
    if (!take(out, &until)) return false;
    if (taken_.size() == before) return true;  // a fault
  }
  return true;
}

// Empty answers (those of other loaders or workers) do not count: the next with data may be far.
bool Pipeline::took_one_to_look_at() const noexcept {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i]->batch.empty() || taken_[i]->batch.end_of_epoch) return true;
  }
  return taken_.size() >= kMostTogether;
}

// With mutex_ held: the memory of answers handed out becomes that of answers to come.
void Pipeline::give_back() {
  while (!used_.empty()) {
    memory_.pool->keep(used_.back()->batch.streams);
    memory_.answers.push_back(std::move(used_.back()));
    used_.pop_back();
  }
}

// With mutex_ held, when the next answer is asked for.
void Pipeline::wake_producer() {
  if (!queue_.empty() || !waiting_at_end_) return;
  waiting_at_end_ = false;
  room_.notify_one();
}

// Waits until the next answer is done, or until `until`, and packs meanwhile what nobody packs. Whether it is done.
bool Pipeline::await_front(std::unique_lock<std::mutex>& lock, const std::chrono::steady_clock::time_point* until) {
  for (;;) {
    if (!queue_.empty() && queue_.front()->stage == Answer::Stage::done) return true;
    if (Answer* const job = first_resolved(); job != nullptr) {
      pack_unlocked(*job, lock);
      if (finishing_) room_.notify_one();
    } else if (broken_ && queue_.empty()) {
      std::rethrow_exception(broken_);
    } else if (until == nullptr) {
      ready_.wait(lock);
    } else if (ready_.wait_until(lock, *until) == std::cv_status::timeout) {
      return !queue_.empty() && queue_.front()->stage == Answer::Stage::done;
    }
  }
}

Answer* Pipeline::first_resolved() const {
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    if (queue_[i]->stage == Answer::Stage::resolved) return queue_[i].get();
  }
  return nullptr;
}

void Pipeline::pack_unlocked(Answer& job, std::unique_lock<std::mutex>& lock) {
  job.stage = Answer::Stage::packing;
  if (!job.slices.empty()) memory_.pool->lend(job.batch.streams);
  lock.unlock();
  producer_.pack(job);
  lock.lock();
  queue_bytes_ += job.bytes;
  job.stage = Answer::Stage::done;
  small_ = is_small(job);
}

// That there is an answer to take or to pack; without the lock, on which the caller would only wait again.
void Pipeline::tell_caller(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  ready_.notify_one();
  lock.lock();
}

// With mutex_ held.
bool Pipeline::shares_cpu() const { return caller_cpu_ >= 0 && caller_cpu_ == current_cpu(); }

// Where this thread and the caller share a CPU, packing ahead gains nothing while the caller has something to do: it
// packs itself, from memory that is still in the cache and without a switch of threads. But where threads cannot keep
// up with reading chunks, they would take its turn. Once for each answer; false if there is nobody to make way for.
bool Pipeline::give_way(std::unique_lock<std::mutex>& lock) {
  gave_way_ = !gave_way_ && shares_cpu() && store_.keeps_up();
  if (!gave_way_) return false;
  lock.unlock();
  std::this_thread::yield();
  lock.lock();
  return true;
}

// Packs, or waits, until no answer of the queue looks into chunks any more.
void Pipeline::finish_all(std::unique_lock<std::mutex>& lock) {
  finishing_ = true;
  while (!stop_) {
    if (Answer* const job = first_resolved(); job != nullptr) {
      pack_unlocked(*job, lock);
      tell_caller(lock);
    } else if (all_done()) {
      break;
    } else {
      room_.wait(lock);
    }
  }
  finishing_ = false;
}

// The chunks of answers that are not packed yet: they stay, so that nobody waits, and are dropped with the next ones.
void Pipeline::note_looked_into() {
  looked_into_.clear();
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const Answer& answer = *queue_[i];
    if (answer.stage == Answer::Stage::done) continue;
    for (const PlanItem& item : answer.plan->items) {
      if (looked_into_.empty() || looked_into_.back() != item.chunk) looked_into_.push_back(item.chunk);
    }
  }
}

// What fails outside of an answer, for want of memory, ends the run behind the answers there are.
void Pipeline::run() {
  try {
    // So that the first chunks are read while the order is drawn, which takes some 20 ns a sequence.
    producer_.ask_for_first_chunks();
    produce_all();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    broken_ = std::current_exception();
  }
  ready_.notify_one();
}

// With mutex_ held: takes answers that were handed back, to be filled again; with buffers, if they are packed at once.
void Pipeline::take_answers(bool together) {
  while (!memory_.answers.empty() && fresh_.size() < kMostTogether) {
    fresh_.push_back(std::move(memory_.answers.back()));
    memory_.answers.pop_back();
  }
  if (!together) return;
  for (auto at = fresh_.rbegin(); at != fresh_.rend(); ++at) memory_.pool->lend((*at)->batch.streams);
}

// With mutex_ held: how many answers are made before the caller hears of the first.
std::size_t Pipeline::most_at_once(bool together) const {
  if (together) return kMostTogether;
  if (shares_cpu() && settings_.memory_limit == 0)
    return std::min(settings_.depth - std::min(queue_.size(), settings_.depth - 1), kMostTogether);
  return 1;
}

void Pipeline::produce_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // Decided once for each wake-up: has_room() may change at any time with what the store holds.
    bool may_resolve = false;
    Answer* job = nullptr;
    room_.wait(lock, [&] {
      may_resolve = !waiting_at_end_ && has_room();
      job = first_resolved();
      return stop_ || may_resolve || job != nullptr;
    });
    if (stop_) return;
    // One is left for the caller to pack while this thread packs the other.
    if (job != nullptr && (!may_resolve || count(Answer::Stage::resolved) > 1)) {
      if (give_way(lock)) continue;
      pack_unlocked(*job, lock);
      tell_caller(lock);
      continue;
    }
    if (producer_.window_moved()) settings_.small_chunks ? note_looked_into() : finish_all(lock);
    if (stop_) return;
    const bool together = small_ && settings_.memory_limit == 0 && !producer_.draws_ahead() && all_done();
    take_answers(together);
    const std::size_t most = most_at_once(together);
    lock.unlock();
    make_answers(together, most);
    lock.lock();
    const Answer& last = *made_.back();
    waiting_at_end_ = last.end_of_epoch;
    const bool failed = last.error != nullptr;
    for (auto& answer : made_) {
      queue_bytes_ += answer->bytes;
      queue_.push_back(std::move(answer));
    }
    made_.clear();
    tell_caller(lock);
    if (failed) return;
  }
}

// Resolves one answer, or several as long as no chunk has to be waited for; packs them, too, if `together`.
void Pipeline::make_answers(bool together, std::size_t most) {
  std::uint64_t bytes = 0;
  for (;;) {
    std::unique_ptr<Answer> next;
    if (fresh_.empty()) {
      next = std::make_unique<Answer>();
    } else {
      next = std::move(fresh_.back());
      fresh_.pop_back();
    }
    if (producer_.window_moved()) producer_.let_go(looked_into_);
    producer_.resolve_next(*next);
    const bool ends = next->error != nullptr || next->end_of_epoch;
    if (together && !next->error) {
      producer_.pack(*next);
      next->stage = Answer::Stage::done;
      bytes += next->bytes;
    }
    made_.push_back(std::move(next));
    if (ends || made_.size() >= most || bytes >= kTogether || !producer_.next_is_loaded()) return;
    if (producer_.window_moved() && !together) return;  // the answers in made_ need the chunks
  }
}

bool Pipeline::is_small(const Answer& answer) { return answer.bytes <= kSmall && answer.slices.size() <= kSmallItems; }

std::size_t Pipeline::count(Answer::Stage stage) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < queue_.size(); ++i) n += queue_[i]->stage == stage ? 1u : 0u;
  return n;
}

bool Pipeline::all_done() const { return count(Answer::Stage::done) == queue_.size(); }

// Whether one more minibatch may wait; the first may always.
bool Pipeline::has_room() const {
  if (queue_.empty()) return true;
  if (settings_.memory_limit != 0) {
    if (first_resolved() != nullptr) return false;  // its bytes are not known yet
    return queue_.size() < settings_.depth && store_.memory() + queue_bytes_ <= settings_.memory_limit;
  }
  return queue_.size() < settings_.depth || (small_ && queue_.size() < kMostTogether && queue_bytes_ < kTogether);
}

}  // namespace batchfeed::reader
