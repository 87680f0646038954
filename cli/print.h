// SPDX-License-Identifier: MIT
//
// A minibatch as people read it: what is in it, and the beginnings of the data,
// clipped to the width of the terminal.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/reader.h>

#include <cstddef>
#include <string>

namespace batchfeed::cli {

struct PrintOptions {
  std::size_t width = 100;
  std::size_t sequences = 4;  // shown of each stream; 0 = all
  bool colour = false;
};

std::string print(const Minibatch& batch, const Reader& reader, const PrintOptions& options);

}  // namespace batchfeed::cli
