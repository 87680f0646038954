// SPDX-License-Identifier: MIT
#include <batchfeed/layout.h>

#include <algorithm>
#include <bit>

#include "pack/pack.h"

namespace batchfeed::pack {
namespace {

// First fit in O(log n): a tree of maxima over the free steps of each row.
class FreeSteps {
 public:
  FreeSteps(std::size_t rows, std::vector<std::uint32_t>& memory)
      : leaves_(std::bit_ceil(std::max<std::size_t>(rows, 1))), free_(memory) {
    free_.assign(2 * leaves_, 0);
  }

  // The first row with at least `steps` free, or the number of rows if none has.
  std::size_t first_with(std::uint32_t steps) const noexcept {
    if (free_[1] < steps) return leaves_;
    std::size_t node = 1;
    while (node < leaves_) node = free_[2 * node] >= steps ? 2 * node : 2 * node + 1;
    return node - leaves_;
  }
  std::uint32_t of(std::size_t row) const noexcept { return free_[leaves_ + row]; }
  void set(std::size_t row, std::uint32_t steps) noexcept {
    std::size_t node = leaves_ + row;
    free_[node] = steps;
    for (node /= 2; node > 0; node /= 2) free_[node] = std::max(free_[2 * node], free_[2 * node + 1]);
  }

 private:
  std::size_t leaves_;
  std::vector<std::uint32_t>& free_;
};

// A row each.
void layout_rows(std::uint32_t n, std::uint32_t steps, Layout& out) {
  out.rows = n;
  out.steps = steps;
  out.sequences = n;
  out.entries.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) out.entries[i] = {i, i, 0, steps};
}

}  // namespace

void layout_sequences(std::span<const std::uint32_t> lengths, std::vector<std::uint32_t>& memory, Layout& out) {
  const auto n = static_cast<std::uint32_t>(lengths.size());
  std::uint32_t shortest = n == 0 ? 0 : lengths[0], longest = 0;
  for (const std::uint32_t length : lengths) {
    shortest = std::min(shortest, length);
    longest = std::max(longest, length);
  }
  // Also the common case of one sample a sequence. Where there is no sample at all one row has room for all of them.
  if (shortest == longest && longest != 0) return layout_rows(n, longest, out);
  out.entries.clear();
  out.sequences = n;
  out.rows = 0;
  out.steps = longest;
  FreeSteps free(n, memory);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t length = lengths[i];
    // A sequence without samples in this stream takes no room anywhere.
    std::size_t row = length == 0 ? 0 : free.first_with(length);
    if (row >= out.rows) {
      row = out.rows++;
      free.set(row, out.steps);
    }
    const std::uint32_t at = out.steps - free.of(row);
    out.entries.push_back({i, static_cast<std::uint32_t>(row), at, std::int64_t{at} + length});
    if (length != 0) free.set(row, free.of(row) - length);
  }
  for (std::uint32_t row = 0; row < out.rows; ++row) {
    if (free.of(row) > 0)
      out.entries.push_back({LayoutEntry::kGap, row, std::int64_t{out.steps} - free.of(row), out.steps});
  }
}

void layout_frames(std::uint32_t sequences, Layout& out) { layout_rows(sequences, sequences == 0 ? 0 : 1, out); }

}  // namespace batchfeed::pack

namespace batchfeed {

Layout cntk_layout(std::span<const std::uint32_t> lengths) {
  Layout out;
  std::vector<std::uint32_t> memory;
  pack::layout_sequences(lengths, memory, out);
  return out;
}

}  // namespace batchfeed
