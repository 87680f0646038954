// SPDX-License-Identifier: MIT
#include "formats/ctf/line_begins.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace batchfeed::ctf {
namespace {

TEST(LineBegins, AreThoseBehindNewlinesInEveryTier) {
  std::mt19937_64 draw(1);
  for (const char* tier : {"scalar", "avx2", "avx512"}) {
    const LineBegins find = line_begins(tier);
    for (int i = 0; i < 2'000; ++i) {
      const std::size_t steps = draw() % 12;
      // From a newline at every byte to none in some steps.
      const std::uint64_t one_in = std::uint64_t{1} << draw() % 11;
      std::string text(steps * kLineStep, '\0');
      for (char& c : text) c = draw() % one_in == 0 ? '\n' : static_cast<char>(draw());
      std::vector<std::uint32_t> expected;
      for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '\n') expected.push_back(static_cast<std::uint32_t>(at + 1));
      }
      std::vector<std::uint32_t> found(text.size() + 16);
      found.resize(find(text.data(), steps, found.data()));
      ASSERT_EQ(found, expected) << tier << ", " << steps << " steps";
    }
  }
}

}  // namespace
}  // namespace batchfeed::ctf
