// SPDX-License-Identifier: MIT
#include "formats/cbf/nearby.h"

#include <algorithm>
#include <utility>

#include "base/fork_safe.h"

namespace batchfeed::cbf {

namespace {

std::mutex files_mutex;

// Those that keep blocks, the one with the latest first.
std::vector<const Nearby*>& files() {
  static auto* const all = new std::vector<const Nearby*>;  // never destroyed: sources may outlive static objects
  return *all;
}

}  // namespace

Nearby::~Nearby() {
  const auto lock = hold<files_mutex>();
  std::erase(files(), this);
}

// Without a lock of its own, which others wait for while they hold that of all files.
void Nearby::enter_files() const {
  const auto lock = hold<files_mutex>();
  std::vector<const Nearby*>& all = files();
  all.reserve(kFiles + 1);
  std::erase(all, this);
  all.insert(all.begin(), this);
  if (all.size() <= kFiles) return;
  const Nearby& idle = *all.back();
  all.pop_back();
  // In a forked child, a thread of the parent may hold it for good.
  const std::unique_lock its(idle.mutex_, std::try_to_lock);
  if (!its) return;
  idle.blocks_.clear();
  idle.reads_.clear();
}

Nearby::Lease::~Lease() {
  if (!block_) return;
  const std::lock_guard lock(owner_->mutex_);  // orders the last read of this memory before its next use
  block_.reset();
}

Feed Nearby::Lease::feed() const {
  if (!block_) {
    owner_->file_->will_read(begin_, end_);
    return Feed(*owner_->file_, begin_, end_, **scratch_);
  }
  const auto size = static_cast<std::size_t>(end_ - begin_);
  return Feed(block_->bytes.span().subspan(static_cast<std::size_t>(begin_ - block_->begin), size), begin_);
}

Nearby::Lease Nearby::prefix(std::uint64_t begin, std::uint64_t end, std::uint64_t wanted) const {
  // A long chunk of which little is wanted is cheaper read by itself.
  const bool near = end - begin <= kTiny && (wanted == end - begin || end - begin <= kTiny / 16);
  if (!near) return part(begin, begin + wanted);
  Lease lease(this, begin, end);
  lease.block_ = block(begin, end);
  return lease;
}

Nearby::Lease Nearby::part(std::uint64_t begin, std::uint64_t end) const {
  Lease lease(this, begin, end);
  lease.scratch_.emplace();
  return lease;
}

std::shared_ptr<Nearby::Lease::Block> Nearby::block(std::uint64_t begin, std::uint64_t end) const {
  std::uint64_t stop = end;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& b = blocks_[i];
      if (b->begin > begin || end > b->begin + b->bytes.size()) continue;
      std::rotate(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(i),
                  blocks_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return blocks_.front();
    }
    for (const Read& before : reads_) {  // does this chunk follow one lately read?
      if (before.end > begin || begin - before.end > kTiny) continue;
      const std::uint64_t more = std::clamp(before.bytes * kGrowth, kFirstBlock, kBlock);
      stop = std::max(stop, std::min(begin + more, file_->size()));
    }
    reads_.insert(reads_.begin(), {stop, stop - begin});
    if (reads_.size() > 2 * kBlocks) reads_.pop_back();
  }
  const bool forward = stop != end;
  auto fresh = forward ? unused_block() : std::make_shared<Lease::Block>();
  fresh->begin = begin;
  fresh->bytes.resize(static_cast<std::size_t>(stop - begin));
  file_->read(begin, {fresh->bytes.data(), fresh->bytes.size()});
  if (!forward) return fresh;
  enter_files();
  const std::lock_guard lock(mutex_);
  blocks_.insert(blocks_.begin(), fresh);
  if (blocks_.size() > kBlocks) blocks_.pop_back();
  return fresh;
}

// The oldest block, if there are kBlocks and no lease holds it, else a new one.
std::shared_ptr<Nearby::Lease::Block> Nearby::unused_block() const {
  {
    const std::lock_guard lock(mutex_);
    if (blocks_.size() == kBlocks && blocks_.back().use_count() == 1) {
      std::shared_ptr<Lease::Block> oldest = std::move(blocks_.back());
      blocks_.pop_back();
      return oldest;
    }
  }
  return std::make_shared<Lease::Block>();
}

}  // namespace batchfeed::cbf
