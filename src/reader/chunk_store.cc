// SPDX-License-Identifier: MIT
#include "reader/chunk_store.h"

#include <algorithm>

#include "base/counted.h"

namespace batchfeed::reader {
namespace {

// Beyond Settings::spares, memory of tiny chunks is kept while spare chunks are no more than so many, and take no more
// bytes than this: a minibatch lets go of as many tiny chunks at once as it has sequences.
constexpr std::size_t kMostSmallSpares = 512;
constexpr std::uint64_t kSmallSpares = 1 << 20;

}  // namespace

ChunkStore::ChunkStore(const Source& source, const Settings& settings)
    : source_(source), compactor_(source, settings.memory_limit == 0), settings_(settings) {
  free_.reserve(std::max(settings.spares, kMostSmallSpares));  // so that drop() cannot fail
  start_threads(threads_, settings.threads, [this](std::size_t) { run(); });
}

ChunkStore::~ChunkStore() {
  stop();
  for (std::thread& thread : threads_) thread.join();
  for (const auto& [id, errors] : errors_) errors.forget();
}

void ChunkStore::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
}

// What a chunk will take, as far as can be told before it is read.
std::uint64_t ChunkStore::expected(std::uint32_t id) const {
  constexpr double kMost = 0x1p56;  // a source of the caller's own may say anything
  const double bytes = std::max(expansion_, 1.0) * static_cast<double>(source_.chunks()[id].bytes);
  return static_cast<std::uint64_t>(std::min(bytes, kMost));
}

bool ChunkStore::has_room(std::uint32_t id) const {
  return settings_.memory_limit == 0 || memory() + coming_ + expected(id) <= settings_.memory_limit;
}

// Lets go of chunks that were asked for and that nobody has got yet.
void ChunkStore::make_room(std::uint32_t id, std::unique_lock<std::mutex>& lock) {
  while (!has_room(id)) {
    bool under_way = false;
    for (auto at = slots_.begin(); at != slots_.end() && !has_room(id);) {
      const Slot& slot = *at->second;
      under_way = under_way || slot.state == State::loading;
      const bool waits = at->first != id && !slot.got && slot.state != State::loading;
      at = waits ? drop(at) : std::next(at);
    }
    if (!under_way) return;
    if (!has_room(id)) done_.wait(lock);
  }
}

void ChunkStore::begin(std::uint32_t id, Slot& slot) {
  slot.expected = expected(id);
  coming_ += slot.expected;
}

void ChunkStore::want(std::uint32_t id) {
  if (threads_.empty()) return;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    // Before the first chunk was read, it is unknown how much memory chunks take.
    if (stop_ || slots_.count(id) != 0 || (settings_.memory_limit != 0 && expansion_ == 0) || !has_room(id)) return;
    queue_.push_back(id);
    try {
      const auto slot = slots_.emplace(id, std::make_unique<Slot>()).first;
      begin(id, *slot->second);
    } catch (...) {
      queue_.pop_back();
      throw;
    }
    wake = worth_waking();
  }
  if (wake) work_.notify_one();
}

const LoadedChunk& ChunkStore::get(std::uint32_t id) {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto at = slots_.find(id);
    const bool fresh = at == slots_.end();
    if (fresh) at = slots_.emplace(id, std::make_unique<Slot>()).first;
    Slot& slot = *at->second;
    if (slot.state == State::queued) {
      if (stop_) throw Stopped();
      if (fresh) {
        make_room(id, lock);
        begin(id, slot);
      } else {
        queue_.erase(std::find(queue_.begin(), queue_.end(), id));
      }
      load(id, slot, lock);
    } else {
      done_.wait(lock, [&] { return slot.state == State::ready || slot.state == State::failed; });
    }
    if (!slot.got) settle(id, lock);
    if (slot.state == State::ready) {
      take(slot);
      return *slot.data;
    }
    if (!slot.of_before) std::rethrow_exception(slot.error);
    drop(slots_.find(id));
  }
}

// Errors count in the order of get(), whichever chunk was read first; the chunk that exceeds the budget fails for good.
void ChunkStore::settle(std::uint32_t id, std::unique_lock<std::mutex>& lock) {
  const auto found = errors_.find(id);
  if (found == errors_.end()) return;
  const ErrorsAhead errors = std::move(found->second);
  errors_.erase(found);
  lock.unlock();
  std::exception_ptr error;
  try {
    errors.settle();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (!error) return;
  Slot& slot = *slots_.at(id);
  slot.state = State::failed;
  slot.error = error;
  slot.of_before = false;
}

void ChunkStore::take(Slot& slot) {
  if (!slot.got) {
    slot.got = true;
    got_ += slot.data->memory;
  }
  if (settings_.memory_limit == 0 || got_ <= settings_.memory_limit) return;
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.memory",
                    .what = "the chunks needed at once take " + counted(got_, "byte") + ", memory_limit is " +
                            std::to_string(settings_.memory_limit),
                    .hint = "lower the window, `randomizationWindow`, or the chunk size, or raise "
                            "`memory_limit`"});
}

void ChunkStore::add_memory(std::uint64_t before, std::uint64_t now) noexcept {
  const std::uint64_t memory = memory_.fetch_add(now - before, std::memory_order_relaxed) + now - before;
  if (memory > peak_.load(std::memory_order_relaxed)) peak_.store(memory, std::memory_order_relaxed);
}

ChunkStore::Slots::iterator ChunkStore::drop(Slots::iterator at) {
  Slot& slot = *at->second;
  if (slot.state == State::queued) {
    coming_ -= slot.expected;
    queue_.erase(std::find(queue_.begin(), queue_.end(), at->first));
  }
  if (slot.got) got_ -= slot.data->memory;
  if (slot.data != nullptr) spare(std::move(slot.data));
  return slots_.erase(at);
}

// With the lock held.
void ChunkStore::spare(std::unique_ptr<LoadedChunk> chunk) noexcept {
  const bool small = free_.size() < kMostSmallSpares && spare_bytes_ + chunk->memory <= kSmallSpares;
  if ((free_.size() < settings_.spares || small) && settings_.memory_limit == 0) {
    spare_bytes_ += chunk->memory;
    free_.push_back(std::move(chunk));
  } else {
    add_memory(chunk->memory, 0);
  }
}

ChunkStore::Taken ChunkStore::take_out(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto at = slots_.find(id);
  Taken taken(at->second->data.release(), {this});
  got_ -= taken->memory;
  slots_.erase(at);
  return taken;
}

// Its buffers may have been swapped for others since take_out(), so its memory is counted anew.
void ChunkStore::come_back(std::unique_ptr<LoadedChunk> chunk) noexcept {
  const std::lock_guard lock(mutex_);
  add_memory(chunk->memory, chunk->bytes());
  chunk->memory = chunk->bytes();
  spare(std::move(chunk));
}

void ChunkStore::give_back() {
  const std::lock_guard lock(mutex_);
  for (auto at = slots_.begin(); at != slots_.end();) {
    at->second->got = false;
    at->second->of_before = at->second->state == State::loading;
    at = at->second->state == State::failed ? drop(at) : std::next(at);
  }
  got_ = 0;
}

// Called with the lock held, which is given up while the chunk is read.
void ChunkStore::load(std::uint32_t id, Slot& slot, std::unique_lock<std::mutex>& lock) {
  slot.state = State::loading;
  if (!free_.empty()) {
    slot.data = std::move(free_.back());
    free_.pop_back();
    spare_bytes_ -= slot.data->memory;
  }
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  std::exception_ptr error;
  ErrorsAhead errors;
  try {
    if (slot.data == nullptr) slot.data = std::make_unique<LoadedChunk>();
    const ErrorsAhead::Scope scope(errors);
    read(id, *slot.data);
  } catch (...) {
    error = std::current_exception();
  }
  std::uint64_t before = 0, memory = 0;
  if (slot.data != nullptr) {
    before = slot.data->memory;
    memory = slot.data->bytes();
    slot.data->memory = memory;
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  lock.lock();
  took_ = took;
  try {
    if (!errors.empty()) errors_[id].add(errors);
  } catch (...) {
    error = std::current_exception();
  }
  add_memory(before, memory);
  coming_ -= slot.expected;
  if (const std::uint64_t bytes = source_.chunks()[id].bytes; bytes != 0)
    expansion_ = std::max(expansion_, static_cast<double>(memory) / static_cast<double>(bytes));
  slot.error = error;
  slot.state = error ? State::failed : State::ready;
  done_.notify_all();
  if (worth_waking()) work_.notify_one();  // want() may have expected shorter reads and woken none
}

void ChunkStore::read(std::uint32_t id, LoadedChunk& out) {
  thread_local std::vector<SequenceInfo> table;
  source_.sequences(id, table);
  std::uint32_t rows = 0;
  for (const SequenceInfo& s : table) rows = std::max(rows, s.row + 1);
  compactor_.read(id, rows, out.chunk, out.plain);
  out.keys.assign(rows, 0);
  for (const SequenceInfo& s : table) out.keys[s.row] = s.key;
  if (!settings_.frames && !settings_.equal) return;
  const std::vector<Column>& columns = out.chunk.columns;
  for (const SequenceInfo& s : table) {
    const bool fits = std::all_of(columns.begin(), columns.end(), [&](const Column& c) {
      return settings_.equal ? c.samples(s.row) == columns[0].samples(s.row) : c.samples(s.row) >= s.samples;
    });
    if (fits || out.chunk.is_invalid(s.row)) continue;
    out.chunk.invalid.resize(rows, Chunk::kValid);
    out.chunk.invalid[s.row] = Chunk::kUnpaid;
  }
}

void ChunkStore::list(std::vector<std::uint32_t>& out) const {
  const std::lock_guard lock(mutex_);
  out.clear();
  for (const auto& [id, slot] : slots_) out.push_back(id);
}

std::optional<std::uint32_t> ChunkStore::id_of(const Chunk& chunk) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, slot] : slots_) {
    if (slot->state == State::loading) continue;  // only its thread may look at its data
    if (slot->data != nullptr && &slot->data->chunk == &chunk) return id;
  }
  return std::nullopt;
}

void ChunkStore::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (stop_) return;
    const std::uint32_t id = queue_.front();
    queue_.pop_front();
    load(id, *slots_.at(id), lock);
  }
}

}  // namespace batchfeed::reader
