// SPDX-License-Identifier: MIT
#include "order/bucket.h"

#include <algorithm>

#include "base/rng.h"
#include "order/fill.h"
#include "order/share.h"

namespace batchfeed::order {
namespace {

struct BucketPool final : Pool {
  Padding padding;
};

struct Block {
  std::size_t begin = 0, end = 0;
  std::uint64_t samples = 0, cells = 0;
};

// Minibatches as they will be cut: whole sequences while they fit.
std::vector<Block> cut(const std::vector<Item>& items, const BucketTimeline::Size& size) {
  std::vector<Block> blocks;
  Fill fill(size.unit, size.size);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (blocks.empty() || !fill.takes(items[i].samples)) {
      blocks.push_back({i, i, 0});
      fill = Fill(size.unit, size.size);
    }
    fill.add(items[i].samples);
    blocks.back().end = i + 1;
    blocks.back().samples = fill.samples();
    blocks.back().cells = fill.cells();
  }
  return blocks;
}

// A last block of less than half the size takes from the one before it.
void even_out(const std::vector<Item>& items, const BucketTimeline::Size& size, std::vector<Block>& blocks) {
  if (blocks.size() < 2) return;
  const std::size_t from = blocks[blocks.size() - 2].begin;
  Fill last(size.unit, size.size);
  for (std::size_t i = blocks.back().begin; i < items.size(); ++i) last.add(items[i].samples);
  if (last.used() >= size.size - size.size / 2) return;
  std::vector<std::uint32_t> lengths;
  for (std::size_t i = from; i < items.size(); ++i) lengths.push_back(items[i].samples);
  const std::size_t middle = from + even_share(lengths, 2, 0).second;
  if (middle >= blocks.back().begin) return;
  const std::vector<Item> first(items.begin() + static_cast<std::ptrdiff_t>(from),
                                items.begin() + static_cast<std::ptrdiff_t>(middle));
  const std::vector<Item> second(items.begin() + static_cast<std::ptrdiff_t>(middle), items.end());
  const std::vector<Block> head = cut(first, size), tail = cut(second, size);
  if (head.size() != 1 || tail.size() != 1) return;
  blocks[blocks.size() - 2] = {from, middle, head[0].samples, head[0].cells};
  blocks.back() = {middle, items.size(), tail[0].samples, tail[0].cells};
}

std::uint64_t cells(const std::vector<Block>& blocks) {
  std::uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.cells;
  return sum;
}

}  // namespace

BucketTimeline::BucketTimeline(std::unique_ptr<Timeline> inner, std::uint64_t sweep_samples, std::uint64_t pool_samples,
                               const Size& block, std::uint64_t seed)
    : PoolTimeline(sweep_samples),
      inner_(std::move(inner)),
      sweep_samples_(sweep_samples == 0 ? kWholeSet : sweep_samples),
      pool_samples_(std::max<std::uint64_t>(pool_samples, 1)),
      block_(block),
      seed_(seed) {
  begin_epoch(0, kWholeSet);
}

std::shared_ptr<Pool> BucketTimeline::find(std::uint64_t position) {
  const std::uint64_t offset = position % sweep_samples_;
  const std::uint64_t sweep_begin = position - offset;
  // The last pool of a sweep takes a remainder of less than half a pool.
  const std::uint64_t last = std::max<std::uint64_t>(1, (sweep_samples_ + pool_samples_ / 2) / pool_samples_) - 1;
  // The pool before also ends behind `position` if its last sequence does.
  std::uint64_t k = std::min(offset / pool_samples_, last);
  for (;; --k) {
    const std::uint64_t begin = k * pool_samples_;
    inner_->begin_epoch(sweep_begin + begin, k == last ? sweep_samples_ - begin : pool_samples_);
    if (inner_->position() <= position) break;
  }
  auto pool = std::make_shared<BucketPool>();
  pool->begin = inner_->position();
  inner_->next(kUnlimited, kUnlimited, batch_);
  pool->window = batch_.window;
  pool->window_generation = batch_.window_generation;

  std::vector<Item>& items = batch_.items;
  pool->padding.unbucketed = cells(cut(items, block_));
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.samples < b.samples; });
  std::vector<Block> blocks = cut(items, block_);
  even_out(items, block_, blocks);
  pool->padding.cells = cells(blocks);
  for (const Block& block : blocks) pool->padding.samples += block.samples;

  CounterRng rng(mix64(seed_ + 0x6275636B6574ull) + pool->begin);
  for (std::size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[rng.below(i)]);
  pool->items.reserve(items.size());
  pool->block.assign(items.size(), 0);
  for (const Block& block : blocks) {
    pool->block[pool->items.size()] = block.samples;
    pool->items.insert(pool->items.end(), items.begin() + static_cast<std::ptrdiff_t>(block.begin),
                       items.begin() + static_cast<std::ptrdiff_t>(block.end));
  }
  return pool;
}

void BucketTimeline::entered(const Pool& pool) {
  const Padding& more = static_cast<const BucketPool&>(pool).padding;
  padding_.samples += more.samples;
  padding_.cells += more.cells;
  padding_.unbucketed += more.unbucketed;
}

}  // namespace batchfeed::order
