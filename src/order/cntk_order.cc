// SPDX-License-Identifier: MIT
#include "order/cntk_order.h"

#include <algorithm>

namespace batchfeed::order {
namespace {

// x % n by one multiplication: exact, for the same n many times.
class Remainder {
 public:
  explicit Remainder(std::uint64_t n) : n_(n), inverse_(~0ull / n) {}
  std::uint64_t operator()(std::uint64_t x) const noexcept {
    // The quotient comes out right or up to two too small, which no CPU can predict: no branches.
    std::uint64_t rest = x - high_half(x, inverse_) * n_;
    rest -= n_ & (0 - static_cast<std::uint64_t>(rest >= n_));
    rest -= n_ & (0 - static_cast<std::uint64_t>(rest >= n_));
    return rest;
  }

 private:
  static std::uint64_t high_half(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
#else
    const std::uint64_t al = a & 0xFFFFFFFFu, ah = a >> 32, bl = b & 0xFFFFFFFFu, bh = b >> 32;
    const std::uint64_t middle = ah * bl + ((al * bl) >> 32);
    return ah * bh + (middle >> 32) + ((al * bh + (middle & 0xFFFFFFFFu)) >> 32);
#endif
  }

  std::uint64_t n_, inverse_;
};

}  // namespace

std::vector<std::uint32_t> cntk_chunk_order(std::uint32_t count, std::uint64_t seed) {
  CntkRng rng;
  rng.seed(seed);
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::uint32_t i = 0; i < count; ++i) std::swap(order[i], order[rng.draw(0, count)]);
  return order;
}

std::uint32_t CntkSweep::Plan::chunk_of(std::uint64_t place) const noexcept {
  const auto block = static_cast<std::size_t>(place >> block_shift);
  const std::uint32_t from = block_chunk[block];
  const std::uint32_t to = block_chunk[block + 1];
  if (from == to) return from;
  const auto begin = first.begin();
  return static_cast<std::uint32_t>(std::upper_bound(begin + from + 1, begin + to + 1, place) - begin) - 1;
}

CntkSweep::CntkSweep(const Corpus& corpus, const OrderOptions& options)
    : corpus_(&corpus), options_(options), entries_(EntryBits(corpus)) {}

void CntkSweep::begin(std::uint64_t sweep) {
  const std::uint64_t seed = options_.seed + sweep;
  auto plan = std::make_shared<Plan>();
  plan->chunks = cntk_chunk_order(corpus_->chunks(), seed);
  if (options_.window_in_samples) {
    std::vector<std::uint64_t> sizes;
    sizes.reserve(plan->chunks.size());
    for (const std::uint32_t chunk : plan->chunks) sizes.push_back(corpus_->samples(chunk));
    plan->windows = windows_in_samples(sizes, options_.window);
  } else {
    plan->windows = windows_in_chunks(corpus_->chunks(), options_.window);
  }
  plan->whole = plan->windows.whole();
  plan->first.reserve(plan->chunks.size() + 1);
  plan->first.push_back(0);
  for (const std::uint32_t chunk : plan->chunks) plan->first.push_back(plan->first.back() + corpus_->sequences(chunk));

  // About sixteen blocks a chunk: most lie inside one. The row behind the last block closes the search.
  const std::uint64_t places = plan->first.back();
  while ((places >> plan->block_shift) > 16 * plan->chunks.size()) ++plan->block_shift;
  const auto blocks = static_cast<std::size_t>(places >> plan->block_shift) + 2;
  plan->block_chunk.reserve(blocks);
  std::uint32_t chunk = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::uint64_t place = static_cast<std::uint64_t>(block) << plan->block_shift;
    while (chunk + 1 < plan->chunks.size() && plan->first[chunk + 1] <= place) ++chunk;
    plan->block_chunk.push_back(chunk);
  }

  plan_ = std::move(plan);
  sweep_ = sweep;
  reordered_ = false;
  let_go_ = 0;
  rewind();
}

void CntkSweep::set_past(const Past& past) {
  const bool ahead = past.reordered != reordered_ || past.let_go < let_go_;
  reordered_ = past.reordered;
  let_go_ = past.let_go;
  if (ahead) rewind();
}

void CntkSweep::seek_again(std::uint64_t offset) {
  settle();  // going beyond the last sequence of a chunk may let go of chunks
  if (offset < let_go_ && options_.seed != 0) {
    reordered_ = true;
    let_go_ = 0;
    rewind();
  }
  seek(offset);
}

void CntkSweep::rewind() {
  rng_.seed(reordered_ ? sweep_ : options_.seed + sweep_);
  for (std::uint64_t& raw : raw_) raw = rng_.next();
  raw_at_ = 0;
  kept_ = loaded_ = placed_ = 0;
  tables_.clear();
  entries_.clear();
  entries_begin_ = 0;
  chunk_ = 0;
  slot_ = chunk_end_ = sample_ = 0;
  begins_.clear();
}

bool CntkSweep::enter_next() {
  while (slot_ == chunk_end_) {
    if (slot_ == plan_->first.back()) {
      if (!begins_.empty() && chunk_ + 1 == chunks()) drop_behind(chunks());
      return false;
    }
    if (!begins_.empty()) {
      ++chunk_;
      drop_behind(chunk_);
    }
    if (begins_.size() == chunk_ - kept_) begins_.push_back(sample_);
    make_final(chunk_);
    chunk_end_ = plan_->first[chunk_ + 1];
  }
  return true;
}

// Shuffles so far ahead that no later place can be swapped with one of the chunk's.
void CntkSweep::make_final(std::uint32_t chunk) {
  const Windows& windows = plan_->windows;
  std::uint32_t behind = std::max(placed_, windows.hi[chunk]);
  while (behind < chunks() && windows.lo[behind] <= chunk) ++behind;
  if (behind == placed_) return;
  const std::uint32_t end = windows.hi[behind - 1];
  const EntryBits& bits = entries_.bits();
  entries_.visit([&]<class Word>(std::vector<Word>& words) {
    if (words.empty()) words.reserve(static_cast<std::size_t>(plan_->first[end] - entries_begin_));
    for (; loaded_ < end; ++loaded_) {
      tables_.push_back(std::make_shared<const Table>(*corpus_, plan_->chunks[loaded_]));
      const std::uint32_t size = tables_.back()->size();
      for (std::uint32_t i = 0; i < size; ++i) words.push_back(static_cast<Word>(bits.word({loaded_, i})));
    }
    for (; placed_ < behind; ++placed_) place_chunk(placed_, words.data());
  });
}

template <class Word>
void CntkSweep::place_chunk(std::uint32_t chunk, Word* entries) {
  const Plan& plan = *plan_;
  const EntryBits bits = entries_.bits();
  const std::uint32_t lo = plan.windows.lo[chunk];
  const std::uint32_t width = plan.windows.hi[chunk] - lo;
  const std::uint64_t from = plan.first[lo];
  const std::uint64_t places = plan.first[plan.windows.hi[chunk]] - from;
  if (plan.first[chunk] == plan.first[chunk + 1]) return;
  const Remainder remainder(places);
  for (std::uint64_t t = plan.first[chunk]; t < plan.first[chunk + 1]; ++t) {
    Word& here = entries[t - entries_begin_];
    for (;;) {
      const std::uint64_t j = from + remainder(raw_[raw_at_]);
      raw_[raw_at_] = rng_.next();
#ifdef __GNUC__
      __builtin_prefetch(entries + (from + remainder(raw_[raw_at_]) - entries_begin_), 1);
#endif
      raw_at_ = (raw_at_ + 1) % kAhead;
      Word& there = entries[j - entries_begin_];
      if (!plan.whole) {
        const std::uint32_t other = plan.chunk_of(j);
        const std::uint32_t other_lo = plan.windows.lo[other];
        // Unsigned: also false for what lies before the interval.
        const bool may_come = bits.home(there) - lo < width;
        const bool may_go = bits.home(here) - other_lo < plan.windows.hi[other] - other_lo;
        if (!(static_cast<unsigned>(may_come) & static_cast<unsigned>(may_go))) continue;
      }
      std::swap(here, there);
      break;
    }
  }
}

// The cursor has left for `chunk` (which may be the end): tables out of its reach go.
void CntkSweep::drop_behind(std::uint32_t chunk) {
  const Windows& windows = plan_->windows;
  const std::uint32_t lo = windows.lo[std::min(chunk, chunks() - 1)];
  while (kept_ < lo && windows.hi[kept_] <= chunk) {
    tables_.pop_front();
    begins_.pop_front();
    ++kept_;
  }
  let_go_ = std::max(let_go_, begins_.empty() ? sample_ : begins_.front());
  const auto dead = static_cast<std::size_t>(plan_->first[kept_] - entries_begin_);
  if (dead == 0 || dead < entries_.size() / 2) return;
  entries_.erase_front(dead);
  entries_begin_ = plan_->first[kept_];
}

void CntkSweep::seek(std::uint64_t offset) {
  if (begins_.empty() ? kept_ > 0 : offset < begins_.front()) rewind();
  std::uint32_t back = 0;
  if (offset < sample_) {
    const auto at = std::upper_bound(begins_.begin(), begins_.end(), offset);
    back = static_cast<std::uint32_t>(at - begins_.begin()) - 1;
    // Sequences that lie there may come from chunks whose tables are gone.
    if (plan_->windows.lo[kept_ + back] < kept_) rewind();
  }
  if (offset < sample_) {  // back to a chunk that is still held
    chunk_ = kept_ + back;
    slot_ = plan_->first[chunk_];
    chunk_end_ = plan_->first[chunk_ + 1];
    sample_ = begins_[back];
  }
  const bool unit = corpus_->total_samples() == corpus_->total_sequences();
  while (sample_ < offset && settle()) {
    if (unit) {  // every sequence is one sample: no need to look at each
      const std::uint64_t steps = std::min(offset - sample_, chunk_end_ - slot_);
      sample_ += steps;
      slot_ += steps;
      continue;
    }
    while (slot_ < chunk_end_ && sample_ < offset) advance();
  }
}

}  // namespace batchfeed::order
