// SPDX-License-Identifier: MIT
#include "order/pool.h"

#include <algorithm>
#include <string>

#include "base/saturate.h"
#include "order/block_timeline.h"

namespace batchfeed::order {

void PoolTimeline::begin_epoch(std::uint64_t begin, std::uint64_t size, std::uint64_t /*index*/) {
  check_epoch(size);
  end_ = add_sat(begin, size);
  restore(begin);
}

void PoolTimeline::restore(std::uint64_t position) {
  pool_ = find(position);
  at_ = 0;
  position_ = pool_->begin;
  while (position_ < position && at_ < pool_->items.size()) position_ += pool_->items[at_++].samples;
}

void PoolTimeline::set_workers(std::uint64_t workers, std::uint64_t rank) {
  check_workers(workers, rank);
  if (workers == 1) return;
  throw Error(
      Fault{.kind = FaultKind::usage,
            .id = "order.pool-workers",
            .what = "bucketing by length and mixing of corpora are for one worker, or for shard = even, not for " +
                    std::to_string(workers) + " workers that share by chunk",
            .hint = "use shard = even"});
}

void PoolTimeline::next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) {
  check_limits(global_limit, local_limit);
  const std::uint64_t limit = std::min(global_limit, local_limit);
  const bool has_sweeps = sweep_samples_ != 0;
  out.items.clear();
  std::uint64_t taken = 0;
  std::shared_ptr<const Pool> first;
  while (position_ < end_) {
    if (at_ == pool_->items.size()) {
      if (has_sweeps && !out.items.empty()) break;
      pool_ = find(position_);
      at_ = 0;
      position_ = pool_->begin;
    }
    const Item& item = pool_->items[at_];
    const std::uint64_t block = pool_->block.empty() ? 0 : pool_->block[at_];
    if (!out.items.empty() && std::max<std::uint64_t>(item.samples, block) > limit - std::min(limit, taken)) break;
    if (at_ == 0) entered(*pool_);
    if (!first) first = pool_;
    out.items.push_back(item);
    taken += item.samples;
    position_ += item.samples;
    ++at_;
  }
  out.position = position_;
  out.end_of_epoch = position_ >= end_;
  out.end_of_sweep =
      has_sweeps && position_ != 0 && position_ % sweep_samples_ == 0 && (taken != 0 || out.end_of_epoch);
  if (!first) first = pool_;
  const bool one = first == pool_;
  const std::uint64_t number =
      one ? pool_->window_generation : mix64(first->window_generation + mix64(pool_->window_generation)) | 1;
  if (out.window_generation == number) return;
  out.window_generation = number;
  out.window = first->window;
  if (one) return;
  for (const std::uint32_t chunk : pool_->window) {
    if (std::find(first->window.begin(), first->window.end(), chunk) == first->window.end())
      out.window.push_back(chunk);
  }
}

}  // namespace batchfeed::order
