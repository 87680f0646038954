// SPDX-License-Identifier: MIT
//
// What the fuzz targets of this folder share: options drawn from the first bytes of an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/ctf/testing.h"

namespace batchfeed::ctf {

struct FuzzCase {
  CtfOptions options;
  KeyMode keys = KeyMode::numeric;
  unsigned threads = 1;
  std::size_t block = 1 << 16;
  std::string text;
};

// Two bytes choose, the rest is the text.
inline FuzzCase fuzz_case(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> shapes[] = {{"A:d2", "B:s8"},
                                                    {"A:d1"},
                                                    {"A:d2!", "B:s8"},
                                                    {"A:d1", "B:s8!", "C=CC:d3"},
                                                    {"B:s8"},
                                                    {"A:d1", "B:s4", "C=CC:d3", "D:d1"},
                                                    {"A=long-name:d3", "B:s100"},
                                                    {"A:d9"}};
  FuzzCase c;
  const std::uint8_t a = size > 0 ? data[0] : 0, b = size > 1 ? data[1] : 0;
  c.options = options_for(shapes[a & 7], 1'000'000);
  c.options.skip_sequence_ids = (a & 8) != 0;
  c.options.element = (a & 16) != 0 ? Element::f32 : Element::f64;
  c.options.trace_level = (a & 32) != 0 ? 2 : 0;
  c.keys = (a & 64) != 0 ? KeyMode::text : KeyMode::numeric;
  c.threads = 1 + (b & 3);
  if ((b & 4) != 0) c.block = 1 + (b >> 3);
  if (size > 2) c.text.assign(reinterpret_cast<const char*>(data) + 2, size - 2);
  return c;
}

}  // namespace batchfeed::ctf
