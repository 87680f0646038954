// SPDX-License-Identifier: MIT
//
// Windows of neighbouring frames as one sample (docs/reference/formats/htk.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace batchfeed {

struct ContextWindow {
  std::uint64_t left = 0, right = 0;
  std::uint64_t frames() const noexcept { return left + 1 + right; }
};

// The window of stream `name` of `file` whose frames have `frame_dim` values: `given`, or
// else the symmetric window whose frames have `dim` values together (0: no window).
// Throws Error(config) if `dim` does not fit.
ContextWindow context_window(const std::string& name, const std::string& file, std::uint64_t dim,
                             const std::optional<std::pair<std::uint32_t, std::uint32_t>>& given,
                             std::uint64_t frame_dim);

// Copies the first of `n` > 0 frames before them and the last behind them, so that each
// window is one slice. There must be room for the copies around `frames`.
template <class T>
void repeat_edges(T* frames, std::size_t n, std::size_t dim, const ContextWindow& window) noexcept {
  for (std::size_t i = 1; i <= window.left; ++i) std::copy_n(frames, dim, frames - i * dim);
  for (std::size_t i = 0; i < window.right; ++i) std::copy_n(frames + (n - 1) * dim, dim, frames + (n + i) * dim);
}

}  // namespace batchfeed
