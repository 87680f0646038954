// SPDX-License-Identifier: MIT
#include <batchfeed/batchfeed.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>

namespace batchfeed {
namespace {

// `last`: the last enumerator. Each enumerator has a name, all names differ, and each leads back to its enumerator.
template <class Enum>
void expect_names(Enum last) {
  const std::size_t n = static_cast<std::size_t>(last) + 1;
  ASSERT_EQ(std::size(Names<Enum>::all), n);
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(named<Enum>(name(value)), value);
    seen.insert(name(value));
  }
  EXPECT_EQ(seen.size(), n);
  EXPECT_FALSE(named<Enum>("").has_value());
  EXPECT_FALSE(named<Enum>("Sparse").has_value());
}

TEST(Names, StandForEveryValue) {
  expect_names(Storage::sparse);
  expect_names(Element::f64);
  expect_names(FaultKind::internal);
  expect_names(Severity::error);
  expect_names(KeyMode::hashed);
  expect_names(OrderKind::uniform);
  expect_names(Shard::even);
  expect_names(Packing::truncated);
  expect_names(SizeUnit::cells);
  expect_names(LongSequence::error);
  expect_names(LastMinibatch::cross);
  expect_names(ReaderOptions::Driver::timeline);
  expect_names(ConvertOptions::Keys::none);
  expect_names(Format::config);
  expect_names(Bound::pack);
}

// These words must not change: saved states, commands and scripts use them.
TEST(Names, AreTheWordsOfOptions) {
  EXPECT_EQ(name(OrderKind::cntk), "cntk");
  EXPECT_EQ(name(Shard::chunk), "chunk");
  EXPECT_EQ(name(Packing::frames), "frames");
  EXPECT_EQ(name(SizeUnit::cells), "cells");
  EXPECT_EQ(name(LongSequence::split), "split");
  EXPECT_EQ(name(LastMinibatch::drop), "drop");
  EXPECT_EQ(name(KeyMode::text), "text");
  EXPECT_EQ(name(Element::f32), "float32");
  EXPECT_EQ(precision_of(Element::f64), "double");
}

}  // namespace
}  // namespace batchfeed
