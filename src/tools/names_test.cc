// SPDX-License-Identifier: MIT
#include <batchfeed/batchfeed.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "support/fault_of.h"

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

// What a target is written as, by its name or by the word for it.
TEST(Names, OfTargetsSayTheirFormat) {
  const struct {
    Format format;
    std::vector<std::string> words;
    bool compressed;
  } all[] = {{Format::ctf, {"ctf", "txt"}, true},
             {Format::cbf, {"cbf", "bin"}, true},
             {Format::mlf, {"mlf"}, true},
             {Format::scp, {"scp"}, false},
             {Format::htk, {"htk", "mfc", "fea"}, false}};
  const auto refused = [](const std::string& path, const std::string& to = {}) {
    return testing::id_of([&] { target_format(path, to); });
  };
  for (const auto& [format, words, compressed] : all) {
    for (const std::string& word : words) {
      EXPECT_EQ(target_format("a.b/c." + word), format) << word;
      EXPECT_EQ(target_format("c.other", word), format) << word;
      EXPECT_EQ(refused("c." + word + ".zst"), compressed ? "" : "convert.target-compressed") << word;
      EXPECT_EQ(refused("c.zst", word), compressed ? "" : "convert.target-compressed") << word;
      EXPECT_EQ(refused("c." + word + ".gz"), "convert.target-gzip") << word;
      EXPECT_EQ(refused(word), "convert.target-name");
    }
  }
  EXPECT_EQ(target_format("c.ctf", "cbf"), Format::cbf) << "the word decides";
  for (const char* const name : {"", "c", "c.zst", "c.cntk", "c.CTF"}) EXPECT_EQ(refused(name), "convert.target-name");
  EXPECT_EQ(refused("c.ctf", "ark"), "convert.target-name");
}

}  // namespace
}  // namespace batchfeed
