// SPDX-License-Identifier: MIT
//
// A minibatch for people: what it holds, and the beginnings of its data, clipped to the width of
// the terminal.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/reader.h>

#include <cstddef>
#include <string>

namespace batchfeed::cli {

struct PrintOptions {
  std::size_t width = 100;
  std::size_t sequences = 4;  // so many of each stream are shown; 0 = all
  bool colour = false;
};

std::string print(const Minibatch& batch, const Reader& reader, const PrintOptions& options);

}  // namespace batchfeed::cli
