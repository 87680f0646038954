// SPDX-License-Identifier: MIT
#include "plan_measures.h"

#include <batchfeed/layout.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace batchfeed::cli {

void LoadMeasure::add(const BatchPlan& plan) {
  ++load_.minibatches;
  if (plan.items.empty()) ++load_.empty;
  load_.sequences += plan.items.size();
  for (const BatchPlan::Item& item : plan.items) {
    load_.samples += item.samples;
    if (item.chunk >= seen_.size()) seen_.resize(item.chunk + 1);
    if (!seen_[item.chunk]) ++load_.chunks;
    seen_[item.chunk] = true;
  }
}

void ShuffleMeasure::add(const BatchPlan& plan) {
  if (swept_) return;
  for (const BatchPlan::Item& item : plan.items) places_.push_back({item.chunk, item.row, item.frame.value_or(0)});
  swept_ = plan.end_of_sweep;
}

ShuffleQuality ShuffleMeasure::quality() const {
  if (places_.size() < 2) return {.displacement = 1, .spread = 1};
  if (places_.size() > ~std::uint32_t{0}) throw std::bad_alloc();
  const auto items = static_cast<std::uint32_t>(places_.size());
  const double n = items;
  // The places in the epoch of all items, in the order of the file.
  const std::vector<std::uint32_t> in_file = in_file_order(items, [&](std::size_t i) { return places_[i]; });
  std::vector<std::uint32_t> rank(items);  // place in the file's order, by place in the epoch
  double moved = 0;
  for (std::uint32_t i = 0; i < items; ++i) {
    rank[in_file[i]] = i;
    moved += std::abs(static_cast<double>(i) - static_cast<double>(in_file[i]));
  }
  double apart = 0;
  for (std::uint32_t i = 1; i < items; ++i)
    apart += std::abs(static_cast<double>(rank[i]) - static_cast<double>(rank[i - 1]));
  // In a full shuffle both are n/3 on average; without a shuffle consecutive items are 1 apart.
  const double full = n / 3;
  return {.displacement = moved / n / full, .spread = std::max(0.0, (apart / (n - 1) - 1) / full)};
}

void CellsMeasure::add(const BatchPlan& plan) {
  std::uint64_t longest = 0;
  lengths_.clear();
  for (const BatchPlan::Item& item : plan.items) {
    longest = std::max(longest, item.samples);
    cells_.samples += item.samples;
    lengths_.push_back(static_cast<std::uint32_t>(item.samples));
  }
  cells_.cells += longest * plan.items.size();
  const Layout layout = cntk_layout(lengths_);
  cells_.cntk += std::uint64_t{layout.rows} * layout.steps;
}

Cells cells_of(const Reader& reader) {
  CellsMeasure cells;
  reader.plan(~0ull, [&](const BatchPlan& plan) { cells.add(plan); });
  return cells.cells();
}

double unevenness(const std::vector<RankLoad>& loads) {
  std::uint64_t most = 0, all = 0;
  for (const RankLoad& load : loads) {
    most = std::max(most, load.samples);
    all += load.samples;
  }
  if (all == 0) return 0;
  return static_cast<double>(most) * static_cast<double>(loads.size()) / static_cast<double>(all) - 1;
}

}  // namespace batchfeed::cli
