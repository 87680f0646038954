// SPDX-License-Identifier: MIT
#include "model/context_window.h"

#include "model/stream_faults.h"

namespace batchfeed {

ContextWindow context_window(const std::string& name, const std::string& file, std::uint64_t dim,
                             const std::optional<std::pair<std::uint32_t, std::uint32_t>>& given,
                             std::uint64_t frame_dim) {
  const auto fail = [&](std::string what, std::string hint) {
    bad_options(name, "window.dim", "dim is " + std::to_string(dim) + ", " + std::move(what), std::move(hint), file);
  };
  ContextWindow window;
  if (given) window = {given->first, given->second};
  if (dim == 0) return window;
  const std::string values = std::to_string(frame_dim);
  if (window.frames() > 1) {
    if (dim != frame_dim)
      fail("the files have frames of " + values + " values",
           "with a `contextWindow`, dim is the dimension of one frame");
    return window;
  }
  if (dim % frame_dim != 0) fail("which is no multiple of the files' " + values, "");
  const std::uint64_t frames = dim / frame_dim;
  if (frames % 2 == 0) {
    fail(std::to_string(frames) + " times the files' " + values +
             "; a window around a frame has an odd number of frames",
         "set `contextWindow = left:right` for another window");
  }
  window.left = window.right = frames / 2;
  return window;
}

}  // namespace batchfeed
