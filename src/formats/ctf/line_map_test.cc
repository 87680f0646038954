// SPDX-License-Identifier: MIT
#include "formats/ctf/line_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::FaultySys;
using batchfeed::testing::ScratchFolder;

std::string lines_of_bytes(std::size_t bytes) {
  std::mt19937_64 draw(5);
  std::string text;
  while (text.size() < bytes) text += std::string(draw() % 500, 'x') + '\n';
  return text;
}

TEST(LineMap, CountsTheNewlinesBefore) {
  const ScratchFolder folder;
  const std::string text = lines_of_bytes(std::size_t{2} << 20);
  const io::File file(folder.write("t", text));
  LineMap map(file);
  std::mt19937_64 draw(6);
  std::uint64_t byte = 0;
  for (int i = 0; i < 30; ++i) {
    byte = draw() % 3 == 0 ? draw() % (text.size() + 1) : std::min<std::uint64_t>(byte + draw() % 200, text.size());
    const auto before = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    ASSERT_EQ(map.line_of(byte), static_cast<std::uint64_t>(before) + 1) << byte;
  }
  EXPECT_EQ(map.line_of(~0ull), map.line_of(text.size()));
}

// A corpus may have thousands of files with a fault each: no large block of text stays in memory.
TEST(LineMap, KeepsLittleOfTheText) {
  const ScratchFolder folder;
  const std::string text = lines_of_bytes(std::size_t{3} << 20);
  const io::File file(folder.write("t", text));
  LineMap map(file);
  const std::uint64_t far = text.size() - 100'000;
  map.line_of(far);
  const FaultySys sys;
  map.line_of(far + 1);
  EXPECT_GT(sys.bytes_read(), 0u) << "the block that was counted is not kept";
  EXPECT_LE(sys.bytes_read(), std::uint64_t{64} << 10);
  const std::uint64_t read = sys.bytes_read();
  for (std::uint64_t i = 2; i < 50'000; i += 500) map.line_of(far + i);
  EXPECT_EQ(sys.bytes_read(), read) << "what follows is";
  for (const std::uint64_t byte : {far, std::uint64_t{1}, (std::uint64_t{2} << 20) + 1000, text.size() - 1}) {
    LineMap fresh(file);
    fresh.line_of(byte);
    EXPECT_LE(fresh.kept_bytes(), std::size_t{64} << 10) << byte;
  }
}

}  // namespace
}  // namespace batchfeed::ctf
