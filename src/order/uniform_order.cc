// SPDX-License-Identifier: MIT
#include "order/uniform_order.h"

#include <algorithm>

#include "base/rng.h"

namespace batchfeed::order {
namespace {

constexpr std::uint32_t kGroupsPerWindow = 128;

enum Purpose : std::uint64_t { kChunks = 1, kSlabOfSequence = 2, kShuffleOfSlab = 3 };

// Uniform in [0, n), exactly.
std::uint64_t below(CounterRng& rng, std::uint64_t n) {
  if (n > 0xFFFFFFFFu) return rng.below(n);
  std::uint64_t product = (rng.next() >> 32) * n;
  if ((product & 0xFFFFFFFFu) < n) {
    const std::uint64_t floor = ((std::uint64_t{1} << 32) - n) % n;
    while ((product & 0xFFFFFFFFu) < floor) product = (rng.next() >> 32) * n;
  }
  return product >> 32;
}

template <class T>
void shuffle(std::vector<T>& values, CounterRng rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(rng, i)]);
}

}  // namespace

std::uint64_t UniformSweep::key(std::uint64_t purpose, std::uint64_t number) const noexcept {
  std::uint64_t key = mix64(options_.seed + 0x9E3779B97F4A7C15ull);
  key = mix64(key + 0xD1B54A32D192ED03ull * (sweep_ + 1));
  key = mix64(key + 0x8CB92BA72F3D8DD7ull * purpose);
  return mix64(key + 0xA0761D6478BD642Full * (number + 1));
}

void UniformSweep::begin(std::uint64_t sweep) {
  sweep_ = sweep;
  auto plan = std::make_shared<Plan>();
  const std::uint32_t chunks = corpus_->chunks();
  plan->chunks.resize(chunks);
  for (std::uint32_t c = 0; c < chunks; ++c) plan->chunks[c] = c;
  shuffle(plan->chunks, CounterRng(key(kChunks, 0)));

  const std::uint64_t in_chunks = std::clamp<std::uint64_t>(options_.window, 1, chunks);
  const auto chunks_per_group = static_cast<std::uint32_t>((in_chunks + kGroupsPerWindow - 1) / kGroupsPerWindow);
  const std::uint64_t samples_per_group = std::min(options_.window, corpus_->total_samples()) / kGroupsPerWindow;
  std::uint64_t samples = 0;
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t c = 0; c < chunks; ++c) {
    if (plan->group_first.empty() || (options_.window_in_samples ? sizes.back() >= samples_per_group
                                                                 : c - plan->group_first.back() >= chunks_per_group)) {
      plan->group_first.push_back(c);
      plan->group_samples.push_back(samples);
      sizes.push_back(0);
    }
    sizes.back() += corpus_->samples(plan->chunks[c]);
    samples += corpus_->samples(plan->chunks[c]);
  }
  plan->group_first.push_back(chunks);
  plan->group_samples.push_back(samples);
  if (options_.window_in_samples) {
    plan->windows = windows_centred(sizes, options_.window);
  } else {
    plan->windows =
        windows_in_chunks(plan->groups(), in_chunks == chunks ? plan->groups() : in_chunks / chunks_per_group);
  }
  plan_ = std::move(plan);

  held_.clear();
  tables_.clear();
  held_first_ = tables_first_ = 0;
  slab_at_ = kBefore;
  slab_.reset();
  slab_begin_ = slab_end_ = sample_ = 0;
  slot_ = slab_size_ = 0;
}

std::shared_ptr<const UniformSweep::Group> UniformSweep::make_group(std::uint32_t group) const {
  const Windows& windows = plan_->windows;
  auto made = std::make_shared<Group>(bits_);
  // The slabs that draw from this group: the first whose window reaches it, up to
  // the first whose window has left it behind.
  made->first_slab =
      static_cast<std::uint32_t>(std::upper_bound(windows.hi.begin(), windows.hi.end(), group) - windows.hi.begin());
  const auto end_slab =
      static_cast<std::uint32_t>(std::upper_bound(windows.lo.begin(), windows.lo.end(), group) - windows.lo.begin());
  const std::uint32_t slabs = end_slab - made->first_slab;

  std::size_t sequences = 0;
  for (std::uint32_t place = plan_->group_first[group]; place < plan_->group_first[group + 1]; ++place) {
    made->tables.push_back(std::make_shared<const Table>(*corpus_, plan_->chunks[place]));
    sequences += made->tables.back()->size();
  }
  std::vector<std::uint32_t> slab_of(sequences);
  made->begin.assign(slabs + 1, 0);
  made->samples.assign(slabs + 1, 0);
  CounterRng rng(key(kSlabOfSequence, group));
  std::size_t at = 0;
  for (const auto& table : made->tables) {
    for (std::uint32_t i = 0; i < table->size(); ++i) {
      const std::uint64_t slab = below(rng, slabs);
      slab_of[at++] = static_cast<std::uint32_t>(slab);
      ++made->begin[slab + 1];
      made->samples[slab + 1] += table->samples(i);
    }
  }
  for (std::uint32_t s = 0; s < slabs; ++s) {
    made->begin[s + 1] += made->begin[s];
    made->samples[s + 1] += made->samples[s];
  }
  std::vector<std::size_t> to(made->begin.begin(), made->begin.end() - 1);
  made->entries.visit([&]<class Word>(std::vector<Word>& words) {
    words.resize(sequences);
    at = 0;
    for (std::uint32_t t = 0; t < made->tables.size(); ++t) {
      for (std::uint32_t i = 0; i < made->tables[t]->size(); ++i) {
        words[to[slab_of[at++]]++] = static_cast<Word>(bits_.word({plan_->group_first[group] + t, i}));
      }
    }
  });
  return made;
}

// Holds exactly the groups that slab `slab` draws from.
void UniformSweep::hold(std::uint32_t slab) {
  const std::uint32_t lo = plan_->windows.lo[slab];
  const std::uint32_t hi = plan_->windows.hi[slab];
  if (lo < held_first_ || lo >= held_first_ + held_.size()) {
    held_.clear();
    tables_.clear();
    held_first_ = lo;
    tables_first_ = plan_->group_first[lo];
  }
  for (; held_first_ < lo; ++held_first_) {
    for (std::size_t i = held_.front()->tables.size(); i > 0; --i, ++tables_first_) tables_.pop_front();
    held_.pop_front();
  }
  while (held_first_ + held_.size() > hi) {
    for (std::size_t i = held_.back()->tables.size(); i > 0; --i) tables_.pop_back();
    held_.pop_back();
  }
  while (held_first_ + held_.size() < hi) {
    held_.push_back(make_group(held_first_ + static_cast<std::uint32_t>(held_.size())));
    tables_.insert(tables_.end(), held_.back()->tables.begin(), held_.back()->tables.end());
  }
}

// Samples that the held groups put into slabs before `slab`.
std::uint64_t UniformSweep::held_samples(std::uint32_t slab) const noexcept {
  std::uint64_t samples = 0;
  for (const auto& group : held_) {
    if (slab > group->first_slab)
      samples += group->samples[std::min<std::size_t>(slab - group->first_slab, group->samples.size() - 1)];
  }
  return samples;
}

void UniformSweep::enter(std::uint32_t slab, std::uint64_t begin) {
  hold(slab);
  auto entries = std::make_shared<Entries>(bits_);
  std::uint64_t end = begin;
  for (const auto& group : held_) {
    const std::size_t s = slab - group->first_slab;
    entries->append(group->entries, group->begin[s], group->begin[s + 1]);
    end += group->samples[s + 1] - group->samples[s];
  }
  entries->visit([&](auto& words) { shuffle(words, CounterRng(key(kShuffleOfSlab, slab))); });
  slab_at_ = slab;
  slab_size_ = entries->size();
  slab_ = std::move(entries);
  slab_begin_ = sample_ = begin;
  slab_end_ = end;
  slot_ = 0;
}

bool UniformSweep::enter_next() {
  while (slot_ == slab_size_) {
    if (slab_at_ != kBefore && slab_at_ + 1 == plan_->groups()) return false;
    enter(slab_at_ == kBefore ? 0 : slab_at_ + 1, sample_);
  }
  return true;
}

void UniformSweep::seek(std::uint64_t offset) {
  if (slab_at_ == kBefore && offset == 0) return;
  const bool inside = slab_at_ != kBefore && slab_begin_ <= offset && offset < slab_end_;
  if (!inside) {
    // All samples of the groups before slab s's window come before slab s, and none
    // of the groups behind it; so the slab is near the first whose window could
    // hold the offset, and only held groups have to be counted.
    const std::vector<std::uint32_t>& hi = plan_->windows.hi;
    std::uint32_t slab = static_cast<std::uint32_t>(
        std::partition_point(hi.begin(), hi.end() - 1,
                             [&](std::uint32_t h) { return plan_->group_samples[h] <= offset; }) -
        hi.begin());
    hold(slab);
    std::uint64_t begin = plan_->group_samples[plan_->windows.lo[slab]] + held_samples(slab);
    for (;;) {
      const std::uint64_t end = plan_->group_samples[plan_->windows.lo[slab]] + held_samples(slab + 1);
      if (offset < end || slab + 1 == plan_->groups()) break;
      begin = end;
      hold(++slab);
    }
    enter(slab, begin);
  } else if (offset < sample_) {
    slot_ = 0;
    sample_ = slab_begin_;
  }
  while (sample_ < offset && settle()) advance();
}

}  // namespace batchfeed::order
