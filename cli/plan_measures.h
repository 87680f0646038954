// SPDX-License-Identifier: MIT
//
// What `batchfeed plan` measures on planned minibatches.
#pragma once

#include <batchfeed/reader.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace batchfeed::cli {

struct RankLoad {
  std::uint64_t minibatches = 0, empty = 0, sequences = 0, samples = 0, chunks = 0;
};

// displacement: how far items move from their place in the file; spread: how far apart in the
// file consecutive items are. Both are fractions of what a shuffle of the whole corpus gives
// (1 = as good, 0 = not shuffled).
struct ShuffleQuality {
  double displacement = 0, spread = 0;
};

// Cells of minibatches over all workers: of the rectangles sequences x longest sequence, and of
// CNTK's layout, where short sequences share a row.
struct Cells {
  std::uint64_t samples = 0, cells = 0, cntk = 0;
  std::optional<std::uint64_t> unbucketed;  // with bucketing: cells that there would be without it

  static double part(std::uint64_t samples, std::uint64_t cells) {
    return cells == 0 ? 0 : 1 - static_cast<double>(samples) / static_cast<double>(cells);
  }
  double padding() const { return part(samples, cells); }
  double saved() const {
    return Padding{.samples = samples, .cells = cells, .unbucketed = unbucketed.value_or(cells)}.saved();
  }
};

// The measures below take one planned minibatch after the other. Memory: for the shuffle 20 bytes for each item of the
// first sweep, for the load one bit for each chunk.
class LoadMeasure {
 public:
  void add(const BatchPlan& plan);
  const RankLoad& load() const noexcept { return load_; }

 private:
  RankLoad load_;
  std::vector<bool> seen_;  // by chunk
};

// Where an item of a plan stands in the data.
struct FilePlace {
  std::uint32_t chunk = 0, row = 0, frame = 0;
};
// The numbers 0 to items - 1, sorted (stably) by place_of(number), their place in the file. A counting sort by rows:
// with comparisons, sorting so many places that lie anywhere in memory takes ten times as long. Memory: 4 bytes an
// item, and meanwhile 4 bytes for each row of the data.
template <class PlaceOf>
std::vector<std::uint32_t> in_file_order(std::uint32_t items, const PlaceOf& place_of) {
  std::vector<std::uint64_t> first_row;  // of each chunk, numbered over all chunks
  bool frames = false;
  for (std::uint32_t i = 0; i < items; ++i) {
    const FilePlace place = place_of(i);
    if (place.chunk + std::size_t{1} >= first_row.size()) first_row.resize(place.chunk + std::size_t{2});
    std::uint64_t& rows = first_row[place.chunk + std::size_t{1}];
    rows = std::max(rows, std::uint64_t{place.row} + 1);
    frames = frames || place.frame != 0;
  }
  std::partial_sum(first_row.begin(), first_row.end(), first_row.begin());
  const auto row_of = [&](const FilePlace& place) { return first_row[place.chunk] + place.row; };
  std::vector<std::uint32_t> begins(items == 0 ? 0 : first_row.back());  // where each row begins in the result
  for (std::uint32_t i = 0; i < items; ++i) ++begins[row_of(place_of(i))];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());  // until all items are placed: where it ends
  std::vector<std::uint32_t> out(items);
  for (std::uint32_t i = items; i-- > 0;) out[--begins[row_of(place_of(i))]] = i;
  for (std::size_t row = 0; frames && row < begins.size(); ++row) {
    const auto end = row + 1 == begins.size() ? out.end() : out.begin() + begins[row + 1];
    std::stable_sort(out.begin() + begins[row], end,
                     [&](std::uint32_t a, std::uint32_t b) { return place_of(a).frame < place_of(b).frame; });
  }
  return out;
}

class ShuffleMeasure {
 public:
  void add(const BatchPlan& plan);
  ShuffleQuality quality() const;

 private:
  std::vector<FilePlace> places_;  // in the order of the epoch
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
// How much more than a fair share the busiest rank has, as a fraction of that share.
double unevenness(const std::vector<RankLoad>& loads);

}  // namespace batchfeed::cli
