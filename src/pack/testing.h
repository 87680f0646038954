// SPDX-License-Identifier: MIT
//
// What the tests of packing share.
#pragma once

#include <batchfeed/minibatch.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::pack {

inline std::string text(const Layout& layout) {
  std::string out = "S=" + std::to_string(layout.rows) + " T=" + std::to_string(layout.steps);
  for (const LayoutEntry& e : layout.entries) {
    out += ' ' + (e.sequence == LayoutEntry::kGap ? std::string("gap") : std::to_string(e.sequence)) + '@' +
           std::to_string(e.row) + '[' + std::to_string(e.begin) + ',' + std::to_string(e.end) + ')';
  }
  return out;
}

// A chunk of one dense stream; sequence r, sample i is the value 10 r + i.
inline Chunk dense_chunk(const std::vector<std::uint32_t>& lengths) {
  Chunk chunk;
  chunk.reset({{.name = "x", .dim = 1}});
  Column& c = chunk.columns[0];
  for (std::uint32_t r = 0; r < lengths.size(); ++r) {
    c.begin.push_back(c.first_sample.back());
    c.first_sample.push_back(c.first_sample.back() + lengths[r]);
    for (std::uint32_t i = 0; i < lengths[r]; ++i) {
      const float value = static_cast<float>(10 * r + i);
      c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
    }
  }
  return chunk;
}

}  // namespace batchfeed::pack
