// SPDX-License-Identifier: MIT
#include "formats/cbf/nearby.h"

#include <algorithm>

namespace batchfeed::cbf {

Nearby::Lease::~Lease() {
  if (!scratch_) return;
  const std::lock_guard lock(owner_->mutex_);
  owner_->scratch_.push_back(std::move(scratch_));
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
  Lease lease(this, begin, end);
  // A long chunk of which little is wanted is cheaper read by itself.
  if (end - begin <= kTiny && (wanted == end - begin || end - begin <= kTiny / 16)) {
    lease.block_ = block(begin, end);
    return lease;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!scratch_.empty()) {
      lease.scratch_ = std::move(scratch_.back());
      scratch_.pop_back();
    }
  }
  lease.end_ = begin + wanted;
  if (!lease.scratch_) lease.scratch_ = std::make_unique<Buffer<std::byte>>();
  return lease;
}

std::shared_ptr<Nearby::Lease::Block> Nearby::block(std::uint64_t begin, std::uint64_t end) const {
  bool forward = false;  // does this chunk follow one lately read?
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& b = blocks_[i];
      if (b->begin > begin || end > b->begin + b->bytes.size()) continue;
      std::rotate(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(i),
                  blocks_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return blocks_.front();
    }
    for (const std::uint64_t e : ends_) forward |= e <= begin && begin - e <= kTiny;
    ends_.insert(ends_.begin(), end);
    if (ends_.size() > 2 * kBlocks) ends_.pop_back();
  }
  const std::uint64_t stop = forward ? std::max(end, std::min(begin + kBlock, file_->size())) : end;
  auto fresh = std::make_shared<Lease::Block>();
  fresh->begin = begin;
  fresh->bytes.resize(static_cast<std::size_t>(stop - begin));
  file_->read(begin, {fresh->bytes.data(), fresh->bytes.size()});
  if (!forward) return fresh;
  const std::lock_guard lock(mutex_);
  ends_.front() = stop;
  blocks_.insert(blocks_.begin(), fresh);
  if (blocks_.size() > kBlocks) blocks_.pop_back();
  return fresh;
}

}  // namespace batchfeed::cbf
