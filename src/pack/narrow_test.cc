// SPDX-License-Identifier: MIT
#include "pack/narrow.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace batchfeed::pack {
namespace {

TEST(Narrow, ComesBackBitForBit) {
  for (std::size_t n = 0; n < 300; ++n) {
    std::vector<float> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<float>((i * 37 + n) % 256));
    std::vector<std::uint8_t> bytes(n + 1, 7);
    ASSERT_TRUE(narrow(values.data(), n, bytes.data()));
    EXPECT_EQ(bytes[n], 7);
    std::vector<float> back(n + 1, -3.5F);
    widen(bytes.data(), n, back.data());
    EXPECT_EQ(back[n], -3.5F);
    back.pop_back();
    EXPECT_EQ(back, values);
  }
}

// Wherever it stands: in a vector, or behind the last whole one.
TEST(Narrow, IsNothingElse) {
  const float odd[] = {-0.0F,
                       -1.0F,
                       0.5F,
                       254.99998F,
                       255.00002F,
                       256.0F,
                       65536.0F,
                       4294967296.0F,
                       -1e30F,
                       1e30F,
                       std::numeric_limits<float>::quiet_NaN(),
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::denorm_min()};
  for (const float value : odd) {
    for (std::size_t at = 0; at < 40; ++at) {
      std::vector<float> values(40, 255.0F);
      std::vector<std::uint8_t> bytes(40);
      ASSERT_TRUE(narrow(values.data(), values.size(), bytes.data()));
      values[at] = value;
      EXPECT_FALSE(narrow(values.data(), values.size(), bytes.data())) << value << " at " << at;
    }
  }
}

}  // namespace
}  // namespace batchfeed::pack
