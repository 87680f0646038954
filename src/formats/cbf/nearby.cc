// SPDX-License-Identifier: MIT
#include "formats/cbf/nearby.h"

#include <algorithm>
#include <new>

namespace batchfeed::cbf {

Nearby::Lease::~Lease() {
  if (!scratch_ && !block_) return;
  const std::lock_guard lock(owner_->mutex_);  // orders the last read of this memory before its next use
  block_.reset();
  if (!scratch_) return;
  try {
    owner_->scratch_.push_back(std::move(scratch_));
  } catch (const std::bad_alloc&) {  // the memory goes to the system
  }
}

Feed Nearby::Lease::feed() const {
  if (!block_) {
    owner_->file_->will_read(begin_, end_);
    return Feed(*owner_->file_, begin_, end_, *scratch_);
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
  {
    const std::lock_guard lock(mutex_);
    if (!scratch_.empty()) {
      lease.scratch_ = std::move(scratch_.back());
      scratch_.pop_back();
    }
  }
  if (!lease.scratch_) lease.scratch_ = std::make_unique<Buffer<std::byte>>();
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
