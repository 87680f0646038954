// SPDX-License-Identifier: MIT
#include "io/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "support/faulty_sys.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::every;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::ScratchFolder;

std::uint64_t behind(const std::vector<Piece>& pieces) {
  return read_together(0, pieces.size(), [&](std::uint64_t i) { return pieces[static_cast<std::size_t>(i)]; }).behind;
}

TEST(Block, TakesPiecesThatLieCloseBehindEachOther) {
  EXPECT_EQ(behind({{0, 10}}), 1u);
  EXPECT_EQ(behind({{0, 10}, {10, 20}, {20, 30}}), 3u);
  EXPECT_EQ(behind({{0, 10}, {10 + Block::kGap, 20 + Block::kGap}}), 2u);
  EXPECT_EQ(behind({{0, 10}, {11 + Block::kGap, 20 + Block::kGap}}), 1u);
  EXPECT_EQ(behind({{10, 20}, {10, 12}, {15, 25}, {24, 30}}), 4u);
  EXPECT_EQ(behind({{10, 20}, {9, 12}}), 1u) << "a step back";
  EXPECT_EQ(behind({{0, 10}, {}, {10, 20}}), 1u) << "one that may not be read";
  EXPECT_EQ(behind({{}, {10, 20}}), 1u);
}

TEST(Block, LeavesLongPiecesAlone) {
  const std::uint64_t n = Block::kShort;
  EXPECT_EQ(behind({{0, n}, {n, 2 * n}}), 2u);
  EXPECT_EQ(behind({{0, n + 1}, {n + 1, n + 2}}), 1u);
  EXPECT_EQ(behind({{0, 1}, {1, n + 2}, {n + 2, n + 3}}), 1u);
}

TEST(Block, HasAnEnd) {
  constexpr std::uint64_t kPiece = Block::kShort / 2;
  std::vector<Piece> pieces;
  for (std::uint64_t at = 0; at < 3 * Block::kBytes; at += kPiece) pieces.push_back({at, at + kPiece});
  EXPECT_EQ(behind(pieces), Block::kBytes / kPiece);
  const Together together = read_together(0, 5, [&](std::uint64_t i) { return pieces[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(together.behind, 5u);
  EXPECT_EQ(together.all.begin, 0u);
  EXPECT_EQ(together.all.end, 5 * kPiece);
}

TEST(Block, FindsWhatItHolds) {
  const ScratchFolder folder;
  const File file(folder.write("a", "0123456789"));
  Block block;
  EXPECT_EQ(block.find({0, 1}), nullptr);
  block.fill(file, {2, 8});
  ASSERT_NE(block.find({2, 8}), nullptr);
  EXPECT_EQ(*block.find({7, 8}), std::byte{'7'});
  EXPECT_EQ(block.find({1, 3}), nullptr);
  EXPECT_EQ(block.find({7, 9}), nullptr);
  EXPECT_EQ(block.find({3, 3}), nullptr);
  std::array<std::byte, 3> out{};
  const FaultySys sys;
  block.read(file, 3, out);
  EXPECT_EQ(sys.calls(), 0u);
  EXPECT_EQ(out[2], std::byte{'5'});
  block.read(file, 6, out);
  EXPECT_GT(sys.calls(), 0u) << "one that ends behind it";
  EXPECT_EQ(out[2], std::byte{'8'});
  block.clear();
  EXPECT_EQ(block.find({2, 8}), nullptr);
}

TEST(Block, IsEmptyIfItCannotBeRead) {
  const ScratchFolder folder;
  const File file(folder.write("a", "0123456789"));
  Block block;
  block.fill(file, {0, 4});
  block.fill(file, {5, 11});
  EXPECT_EQ(block.find({0, 4}), nullptr);
  EXPECT_EQ(block.find({5, 6}), nullptr);
  const FaultySys sys(every("pread", EIO));
  block.fill(file, {0, 4});
  EXPECT_EQ(block.find({0, 4}), nullptr);
}

}  // namespace
}  // namespace batchfeed::io
