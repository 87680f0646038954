// SPDX-License-Identifier: MIT
//
// order = uniform: chunks in a uniformly random order; every sequence falls into
// a slab chosen uniformly among those its window reaches, and slabs are shuffled.
// Windows slide, so there are no borders that a sequence cannot cross.
//
// All draws come from counters named by (seed, sweep, purpose, number): sweeps and
// seeds are independent, and any slab, hence any position, is computed from the
// tables of its own window alone. Statistics: docs/explanation/randomization.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "order/entries.h"
#include "order/table.h"
#include "order/windows.h"

namespace batchfeed::order {

// A cursor over one sweep, with the functions that block_timeline.h needs.
class UniformSweep {
 public:
  UniformSweep(const Corpus& corpus, const OrderOptions& options)
      : corpus_(&corpus), options_(options), bits_(corpus) {}

  const Corpus& corpus() const noexcept { return *corpus_; }
  void begin(std::uint64_t sweep);
  std::uint64_t sweep() const noexcept { return sweep_; }
  void seek(std::uint64_t offset);
  // Any place is found from the position alone: there is no past.
  void seek_again(std::uint64_t offset) { seek(offset); }
  static Past past() noexcept { return {}; }
  void set_past(const Past& /*past*/) noexcept {}

  bool settle() {
    if (slot_ < slab_size_) return true;
    return enter_next();
  }
  std::uint32_t home() const noexcept { return (*slab_)[slot_].home; }
  std::uint32_t samples() const noexcept {
    const Entry e = (*slab_)[slot_];
    return table(e.home).samples(e.index);
  }
  Item item() const noexcept {
    const Entry e = (*slab_)[slot_];
    return table(e.home).item(e.index);
  }
  void advance() noexcept {
    sample_ += samples();
    ++slot_;
  }
  std::uint64_t sample() const noexcept { return sample_; }

  std::pair<std::uint32_t, std::uint32_t> interval() const noexcept {
    const std::uint32_t s = slab_at_ == kBefore ? 0 : slab_at_;
    return {plan_->group_first[plan_->windows.lo[s]], plan_->group_first[plan_->windows.hi[s]]};
  }
  std::uint32_t chunk_at(std::uint32_t place) const noexcept { return plan_->chunks[place]; }

  std::uint64_t tables_held() const noexcept { return tables_.size(); }

 private:
  static constexpr std::uint32_t kBefore = 0xFFFFFFFFu;  // the cursor has not entered the first slab

  // Chunks, by place in the shuffled order, form groups of neighbours, so that a
  // window is a hundred groups or so at most. There are as many slabs as groups;
  // slab s draws from groups windows.lo[s] .. windows.hi[s].
  struct Plan {
    std::vector<std::uint32_t> chunks;
    std::vector<std::uint32_t> group_first;    // chunk place; one more than groups
    std::vector<std::uint64_t> group_samples;  // running sums of the groups' samples; one more than groups
    Windows windows;

    std::uint32_t groups() const noexcept { return static_cast<std::uint32_t>(group_first.size() - 1); }
  };

  // The sequences of a group, sorted by the slab they fall into.
  struct Group {
    explicit Group(const EntryBits& bits) : entries(bits) {}

    std::vector<std::shared_ptr<const Table>> tables;
    std::uint32_t first_slab = 0;
    Entries entries;
    std::vector<std::size_t> begin;      // of the entries of slab first_slab + i; one more than slabs
    std::vector<std::uint64_t> samples;  // running sums over the slabs; one more than slabs
  };

  const Table& table(std::uint32_t place) const noexcept { return *tables_[place - tables_first_]; }
  std::uint64_t key(std::uint64_t purpose, std::uint64_t number) const noexcept;
  std::shared_ptr<const Group> make_group(std::uint32_t group) const;
  void hold(std::uint32_t slab);
  std::uint64_t held_samples(std::uint32_t slab) const noexcept;
  void enter(std::uint32_t slab, std::uint64_t begin);
  bool enter_next();

  const Corpus* corpus_;
  OrderOptions options_;
  EntryBits bits_;
  std::uint64_t sweep_ = 0;
  std::shared_ptr<const Plan> plan_;

  std::uint32_t held_first_ = 0;                     // group
  std::deque<std::shared_ptr<const Group>> held_;    // groups of the current slab's window
  std::uint32_t tables_first_ = 0;                   // chunk place
  std::deque<std::shared_ptr<const Table>> tables_;  // their tables

  std::uint32_t slab_at_ = kBefore;
  std::shared_ptr<const Entries> slab_;
  std::uint64_t slab_begin_ = 0, slab_end_ = 0;  // in samples
  std::size_t slot_ = 0, slab_size_ = 0;
  std::uint64_t sample_ = 0;
};

}  // namespace batchfeed::order
