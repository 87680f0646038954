// SPDX-License-Identifier: MIT
#include "plan_measures.h"

#include <batchfeed/layout.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace batchfeed::cli {

RankLoad load_of(const std::vector<BatchPlan>& plans) {
  RankLoad load;
  std::vector<std::uint32_t> chunks;
  for (const BatchPlan& plan : plans) {
    ++load.minibatches;
    if (plan.items.empty()) ++load.empty;
    load.sequences += plan.items.size();
    for (const BatchPlan::Item& item : plan.items) {
      load.samples += item.samples;
      if (chunks.empty() || chunks.back() != item.chunk) chunks.push_back(item.chunk);
    }
  }
  std::sort(chunks.begin(), chunks.end());
  load.chunks = static_cast<std::uint64_t>(std::unique(chunks.begin(), chunks.end()) - chunks.begin());
  return load;
}

ShuffleQuality quality_of(const std::vector<BatchPlan>& plans) {
  struct Place {
    std::uint64_t file, frame;
    bool operator<(const Place& other) const { return file != other.file ? file < other.file : frame < other.frame; }
  };
  std::vector<std::pair<Place, std::uint64_t>> order;  // place in the file, place in the epoch
  for (const BatchPlan& plan : plans) {
    for (const BatchPlan::Item& item : plan.items) {
      order.push_back(
          {{static_cast<std::uint64_t>(item.chunk) << 32 | item.row, item.frame.value_or(0)}, order.size()});
    }
    if (plan.end_of_sweep) break;
  }
  const auto n = static_cast<double>(order.size());
  if (order.size() < 2) return {.displacement = 1, .spread = 1};
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::uint64_t> rank(order.size());  // in the file, by place in the epoch
  double moved = 0;
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    rank[order[i].second] = i;
    moved += std::abs(static_cast<double>(i) - static_cast<double>(order[i].second));
  }
  double apart = 0;
  for (std::size_t i = 1; i < rank.size(); ++i)
    apart += std::abs(static_cast<double>(rank[i]) - static_cast<double>(rank[i - 1]));
  // Both are n/3 on average in a full shuffle; neighbours in an unshuffled file are 1 apart.
  const double full = n / 3;
  return {.displacement = moved / n / full, .spread = std::max(0.0, (apart / (n - 1) - 1) / full)};
}

Cells cells_of(const std::vector<BatchPlan>& plans) {
  Cells out;
  std::vector<std::uint32_t> lengths;
  for (const BatchPlan& plan : plans) {
    std::uint64_t longest = 0;
    lengths.clear();
    for (const BatchPlan::Item& item : plan.items) {
      longest = std::max(longest, item.samples);
      out.samples += item.samples;
      lengths.push_back(static_cast<std::uint32_t>(item.samples));
    }
    out.cells += longest * plan.items.size();
    const Layout layout = cntk_layout(lengths);
    out.cntk += std::uint64_t{layout.rows} * layout.steps;
  }
  return out;
}

std::vector<std::uint64_t> shares_of(const std::vector<BatchPlan>& plans, std::size_t corpora) {
  std::vector<std::uint64_t> out(corpora);
  for (const BatchPlan& plan : plans) {
    for (const BatchPlan::Item& item : plan.items) out[item.corpus] += item.samples;
  }
  return out;
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
