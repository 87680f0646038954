// SPDX-License-Identifier: MIT
#include "support/speech.h"

#include <bit>
#include <numeric>

namespace batchfeed::testing {
namespace {

std::string bytes(std::uint64_t value, int n, bool big) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * (big ? n - 1 - i : i)) & 0xFF));
  return out;
}

}  // namespace

std::string be32(std::uint32_t value) { return bytes(value, 4, true); }
std::string be16(std::uint16_t value) { return bytes(value, 2, true); }
std::string le32(std::uint32_t value) { return bytes(value, 4, false); }
std::string le16(std::uint16_t value) { return bytes(value, 2, false); }

std::string htk_file(const std::vector<float>& values, const HtkFile& how) {
  const int frames = how.header_frames >= 0 ? how.header_frames : static_cast<int>(values.size() / how.dim);
  std::string out = bytes(static_cast<std::uint32_t>(frames), 4, how.big_endian) +
                    bytes(how.period, 4, how.big_endian) + bytes(how.dim * 4, 2, how.big_endian) +
                    bytes(how.kind, 2, how.big_endian) + how.before_data;
  for (const float v : values) out += bytes(std::bit_cast<std::uint32_t>(v), 4, how.big_endian);
  return out;
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), 1.0F);
  return out;
}

}  // namespace batchfeed::testing
