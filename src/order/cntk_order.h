// SPDX-License-Identifier: MIT
//
// The reference's order of a randomised sweep (minibatch.md 5): chunks shuffled,
// then sequences among neighbouring chunks. Computed chunk by chunk as a cursor
// moves on, so that tables are held for the window only; the result is the same
// as if the whole sweep were shuffled at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "order/entries.h"
#include "order/table.h"
#include "order/windows.h"

namespace batchfeed::order {

// chunk_order[c] is the chunk at place c. The reference's shuffle: every place is
// swapped with any place, which is not quite uniform and must stay so.
std::vector<std::uint32_t> cntk_chunk_order(std::uint32_t count, std::uint64_t seed);

// A cursor over one sweep; copies share what does not change. See block_timeline.h
// for what it has to offer.
class CntkSweep {
 public:
  CntkSweep(const Corpus& corpus, const OrderOptions& options);

  const Corpus& corpus() const noexcept { return *corpus_; }
  // To the first sequence of a sweep; must be called first, as the cursor has no place before.
  void begin(std::uint64_t sweep);
  std::uint64_t sweep() const noexcept { return sweep_; }
  // To the first sequence that starts at or behind `offset` samples, or the end.
  void seek(std::uint64_t offset);
  // The same for an epoch that follows another. To go back before chunks that were let go,
  // the reference shuffles the sweep again, without its seed (minibatch.md 6.2), so that
  // some sequences come twice and others not at all. seek() never does so.
  void seek_again(std::uint64_t offset);
  Past past() const noexcept { return {reordered_, let_go_}; }
  void set_past(const Past& past);  // a seek() must follow

  // Whether there is a sequence at the cursor; makes it ready.
  bool settle() {
    if (slot_ < chunk_end_) return true;
    return enter_next();
  }
  std::uint32_t home() const noexcept { return entry().home; }
  std::uint32_t samples() const noexcept {
    const Entry e = entry();
    return table(e.home).samples(e.index);
  }
  Item item() const noexcept {
    const Entry e = entry();
    return table(e.home).item(e.index);
  }
  void advance() noexcept {
    sample_ += samples();
    ++slot_;
  }
  std::uint64_t sample() const noexcept { return sample_; }

  // The chunks, by place, that the sequences around the cursor may come from.
  std::pair<std::uint32_t, std::uint32_t> interval() const noexcept {
    return {plan_->windows.lo[chunk_], plan_->windows.hi[chunk_]};
  }
  std::uint32_t chunk_at(std::uint32_t place) const noexcept { return plan_->chunks[place]; }

  std::uint64_t tables_held() const noexcept { return tables_.size(); }

 private:
  // What one sweep's seed fixes before any table is read.
  struct Plan {
    std::vector<std::uint32_t> chunks;
    Windows windows;
    std::vector<std::uint64_t> first;  // sequence place at which chunk c begins; the total at the end
    bool whole = false;
    // The chunk of a place: places are cut into blocks of 2^block_shift, and
    // block_chunk names the chunk that holds the first place of each.
    unsigned block_shift = 0;
    std::vector<std::uint32_t> block_chunk;

    std::uint32_t chunk_of(std::uint64_t place) const noexcept;
  };

  Entry entry() const noexcept { return entries_[static_cast<std::size_t>(slot_ - entries_begin_)]; }
  const Table& table(std::uint32_t place) const noexcept { return *tables_[place - kept_]; }
  std::uint32_t chunks() const noexcept { return static_cast<std::uint32_t>(plan_->chunks.size()); }

  void rewind();
  bool enter_next();
  template <class Word>
  void place_chunk(std::uint32_t chunk, Word* entries);
  void make_final(std::uint32_t chunk);
  void drop_behind(std::uint32_t chunk);

  const Corpus* corpus_;
  OrderOptions options_;
  std::uint64_t sweep_ = 0;
  std::shared_ptr<const Plan> plan_;
  // Raw numbers are made a little ahead, so that the place each will name is
  // fetched from memory before its turn.
  static constexpr std::size_t kAhead = 16;
  CntkRng rng_;
  std::array<std::uint64_t, kAhead> raw_ = {};
  std::size_t raw_at_ = 0;

  // Chunks by place: kept_ is the first whose table is held, loaded_ the first not
  // read, placed_ the first whose places were not shuffled yet.
  std::uint32_t kept_ = 0, loaded_ = 0, placed_ = 0;
  std::deque<std::shared_ptr<const Table>> tables_;  // of chunks kept_ .. loaded_
  Entries entries_;                                  // of places entries_begin_ .. first[loaded_]
  std::uint64_t entries_begin_ = 0;

  // The cursor: place slot_ in chunk_, whose places end at chunk_end_.
  std::uint32_t chunk_ = 0;
  std::uint64_t slot_ = 0, chunk_end_ = 0, sample_ = 0;
  std::deque<std::uint64_t> begins_;  // sample positions of chunks kept_, kept_ + 1 ... as far as the cursor has been

  bool reordered_ = false;    // shuffled with the number of the sweep alone as seed
  std::uint64_t let_go_ = 0;  // samples of the sweep whose chunks were let go: the furthest begin of chunk kept_ so far
};

}  // namespace batchfeed::order
