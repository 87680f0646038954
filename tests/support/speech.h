// SPDX-License-Identifier: MIT
//
// Small speech corpora for tests: HTK parameter files byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::testing {

struct HtkFile {
  std::uint32_t dim = 1;
  std::uint32_t period = 100'000;
  std::uint16_t kind = 9;
  bool big_endian = true;
  std::string before_data = {};  // a GUID, the scales of compressed data
  int header_frames = -1;        // number of frames in the header; -1: the true one
};

// Frames one after the other, `dim` values each.
std::string htk_file(const std::vector<float>& values, const HtkFile& how = {});

// The bytes of one number in the given order.
std::string be32(std::uint32_t value);
std::string be16(std::uint16_t value);
std::string le32(std::uint32_t value);
std::string le16(std::uint16_t value);

// 1, 2, 3, ... n.
std::vector<float> ramp(std::size_t n);

}  // namespace batchfeed::testing
