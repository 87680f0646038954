// SPDX-License-Identifier: MIT
//
// What `batchfeed plan` measures on planned minibatches.
#pragma once

#include <batchfeed/reader.h>

#include <cstdint>
#include <optional>
#include <tuple>
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

// One minibatch after the other, as they are planned. Memory: 20 bytes an item of the first sweep for the shuffle, a
// bit a chunk for the load.
class LoadMeasure {
 public:
  void add(const BatchPlan& plan);
  const RankLoad& load() const noexcept { return load_; }

 private:
  RankLoad load_;
  std::vector<bool> seen_;  // by chunk
};

class ShuffleMeasure {
 public:
  void add(const BatchPlan& plan);
  ShuffleQuality quality() const;

 private:
  struct Place {
    std::uint32_t chunk, row, frame;
    bool operator<(const Place& other) const {
      return std::tie(chunk, row, frame) < std::tie(other.chunk, other.row, other.frame);
    }
  };
  std::vector<Place> places_;  // by place in the epoch
  bool swept_ = false;
};

class CellsMeasure {
 public:
  void add(const BatchPlan& plan);
  const Cells& cells() const noexcept { return cells_; }

 private:
  Cells cells_;
  std::vector<std::uint32_t> lengths_;
};

Cells cells_of(const Reader& reader);
// What the busiest rank has beyond a fair share, as a part of that.
double unevenness(const std::vector<RankLoad>& loads);

}  // namespace batchfeed::cli
