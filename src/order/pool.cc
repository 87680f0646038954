// SPDX-License-Identifier: MIT
#include "order/pool.h"

#include <algorithm>
#include <unordered_set>

#include "base/counted.h"
#include "base/saturate.h"
#include "order/block_timeline.h"

namespace batchfeed::order {

void PoolTimeline::begin_epoch(std::uint64_t begin, std::uint64_t size) {
  check_epoch(size);
  end_ = add_sat(begin, size);
  restore(begin);
}

void PoolTimeline::restore(std::uint64_t position) {
  if (!pool_ || position < pool_->begin || position - pool_->begin >= pool_->samples) pool_ = find_pool(position);
  at_ = 0;
  position_ = pool_->begin;
  while (position_ < position && at_ < pool_->items.size()) position_ += pool_->items[at_++].samples;
}

std::shared_ptr<const Pool> PoolTimeline::find_pool(std::uint64_t position) {
  const std::shared_ptr<Pool> pool = find(position);
  for (const Item& item : pool->items) pool->samples += item.samples;
  return pool;
}

void PoolTimeline::set_workers(std::uint64_t workers, std::uint64_t rank) {
  check_workers(workers, rank);
  if (workers == 1) return;
  throw Error(
      Fault{.kind = FaultKind::usage,
            .id = "order.pool-workers",
            .what = "bucketing by length and mixing of corpora are for one worker, or for shard = even, not for " +
                    counted(workers, "worker") + " that share by chunk",
            .hint = "use `shard = even`"});
}

void PoolTimeline::next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) {
  check_limits(global_limit, local_limit);
  const std::uint64_t limit = std::min(global_limit, local_limit);
  const bool has_sweeps = sweep_samples_ != 0;
  out.items.clear();
  out.begins_block = false;
  std::uint64_t taken = 0;
  pools_.clear();
  while (position_ < end_) {
    if (at_ == pool_->items.size()) {
      if (has_sweeps && !out.items.empty()) break;
      pool_ = find_pool(position_);
      at_ = 0;
      position_ = pool_->begin;
    }
    const Item& item = pool_->items[at_];
    const std::uint64_t block = pool_->block.empty() ? 0 : pool_->block[at_];
    if (!out.items.empty() && std::max<std::uint64_t>(item.samples, block) > limit - std::min(limit, taken)) break;
    if (at_ == 0) entered(*pool_);
    if (out.items.empty()) out.begins_block = block != 0;
    if (pools_.empty() || pools_.back() != pool_) pools_.push_back(pool_);
    out.items.push_back(item);
    taken += item.samples;
    position_ += item.samples;
    ++at_;
  }
  out.position = position_;
  out.end_of_epoch = position_ >= end_;
  out.end_of_sweep =
      has_sweeps && position_ != 0 && position_ % sweep_samples_ == 0 && (taken != 0 || out.end_of_epoch);
  if (pools_.empty()) pools_.push_back(pool_);
  report_window(out);
  pools_.clear();
}

// The windows of all pools that the batch took from.
void PoolTimeline::report_window(Batch& out) const {
  std::uint64_t number = pools_.front()->window_generation;
  for (std::size_t i = 1; i < pools_.size(); ++i) number = mix64(number + mix64(pools_[i]->window_generation)) | 1;
  if (out.window_generation == number) return;
  out.window_generation = number;
  out.window = pools_.front()->window;
  if (pools_.size() == 1) return;
  std::unordered_set<std::uint32_t> seen(out.window.begin(), out.window.end());
  for (std::size_t i = 1; i < pools_.size(); ++i) {
    for (const std::uint32_t chunk : pools_[i]->window) {
      if (seen.insert(chunk).second) out.window.push_back(chunk);
    }
  }
}

}  // namespace batchfeed::order
