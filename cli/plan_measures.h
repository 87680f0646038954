// SPDX-License-Identifier: MIT
//
// What `batchfeed plan` measures on planned minibatches.
#pragma once

#include <batchfeed/reader.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace batchfeed::cli {

struct RankLoad {
  std::uint64_t minibatches = 0, empty = 0, sequences = 0, samples = 0, chunks = 0;
};

// How far items move from their place in the file, and how far apart in the
// file those are that come one after the other; both as parts of what a shuffle
// of the whole corpus gives (1 = as good, 0 = not shuffled).
struct ShuffleQuality {
  double displacement = 0, spread = 0;
};

// Cells of the rectangles sequences x longest, over minibatches of all workers; and of
// those of CNTK's layout, where short sequences stand behind one another.
struct Cells {
  std::uint64_t samples = 0, cells = 0, cntk = 0;
  std::optional<std::uint64_t> unbucketed;  // with bucketing: without it

  static double part(std::uint64_t samples, std::uint64_t cells) {
    return cells == 0 ? 0 : 1 - static_cast<double>(samples) / static_cast<double>(cells);
  }
  double padding() const { return part(samples, cells); }
  double saved() const {
    return Padding{.samples = samples, .cells = cells, .unbucketed = unbucketed.value_or(cells)}.saved();
  }
};

RankLoad load_of(const std::vector<BatchPlan>& plans);
ShuffleQuality quality_of(const std::vector<BatchPlan>& plans);
Cells cells_of(const std::vector<BatchPlan>& plans);
// Samples that each corpus of a mixture gives.
std::vector<std::uint64_t> shares_of(const std::vector<BatchPlan>& plans, std::size_t corpora);
// What the busiest rank has beyond a fair share, as a part of that.
double unevenness(const std::vector<RankLoad>& loads);

}  // namespace batchfeed::cli
