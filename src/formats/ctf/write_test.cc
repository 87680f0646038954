// SPDX-License-Identifier: MIT
#include "formats/ctf/write.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "formats/ctf/ctf.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::ScratchFolder;

std::string rewrite(const Source& source, bool ids = true) {
  const Writer writer(source.streams(), ids);
  std::string out;
  Chunk chunk;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.read(c, chunk);
    source.sequences(c, table);
    for (const SequenceInfo& s : table) writer.sequence(chunk, s.row, source.key_text(s.key), out);
  }
  return out;
}

TEST(Write, SequencesAsRows) {
  const ScratchFolder folder;
  const CtfSource source(options_for({"A:d2", "B=b:s9"}),
                         folder.write("t", "4 |b 3:1.50 |A 1 2\n|b\n|A 0.1 -0\n5 |A 1e20 1e-7 |b 1:0\n"),
                         quiet_context());
  EXPECT_EQ(rewrite(source), "4 |A 1 2 |B 3:1.5\n4 |A 0.1 -0 |B\n5 |A 1e+20 1e-07 |B 1:0\n");
}

TEST(Write, LinesWithoutIds) {
  const ScratchFolder folder;
  const CtfSource source(options_for({"A:d1"}), folder.write("t", "|A 1\n|A 2\n"), quiet_context());
  EXPECT_EQ(rewrite(source, false), "|A 1\n|A 2\n");
  const CtfSource two(options_for({"A:d1"}), folder.write("u", "1 |A 1\n|A 2\n"), quiet_context());
  try {
    rewrite(two, false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "ctf.write-rows");
  }
}

// What std::to_chars says is the shortest: of numbers with few digits, which take another way, and of their neighbours.
template <class T>
void expect_shortest(Element element) {
  const std::vector<StreamInfo> streams = {{.name = "v", .dim = 1, .element = element}};
  const Writer writer(streams, false);
  Chunk chunk;
  const auto expect_one = [&](T value) {
    chunk.reset(streams);
    Column& c = chunk.columns[0];
    c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
    c.begin.push_back(0);
    c.first_sample.push_back(1);
    std::string text;
    writer.sequence(chunk, 0, "", text);
    char shortest[64];
    const std::string wanted(shortest, std::to_chars(shortest, shortest + sizeof shortest, value).ptr);
    ASSERT_EQ(text, "|v " + wanted + "\n");
  };
  std::mt19937_64 draw(3);
  for (const unsigned whole : {0u, 1u, 7u, 10u, 99u, 123u, 4096u, 10000u, 12345u, 99999u, 100000u, 123456u, 999999u,
                               1000000u, 1234567u, 16777216u}) {
    double power = 1;
    for (int behind = 0; behind < 9; ++behind, power *= 10) {
      for (const int sign : {1, -1}) {
        const T value = static_cast<T>(sign * (static_cast<double>(whole) / power));
        expect_one(value);
        if (value != 0) expect_one(std::nextafter(value, T{0}));
        expect_one(std::nextafter(value, static_cast<T>(sign * 1e30)));
      }
    }
  }
  for (int i = 0; i < 20'000; ++i) {
    double power = 1;
    for (std::uint64_t n = draw() % 8; n > 0; --n) power *= 10;
    expect_one(static_cast<T>(static_cast<double>(draw() % 3'000'000) / power));
  }
}

TEST(Write, FloatsAreTheShortest) { expect_shortest<float>(Element::f32); }
TEST(Write, DoublesAreTheShortest) { expect_shortest<double>(Element::f64); }

template <class T>
void expect_bits_survive(Element element, std::uint64_t seed) {
  std::mt19937_64 draw(seed);
  constexpr std::size_t kValues = 20'000;
  Chunk chunk;
  const std::vector<StreamInfo> streams = {{.name = "v", .dim = 1, .element = element}};
  chunk.reset(streams);
  Column& c = chunk.columns[0];
  for (std::size_t i = 0; i < kValues; ++i) {
    T value;
    if constexpr (sizeof(T) == 4) {
      value = std::bit_cast<float>(static_cast<std::uint32_t>(draw()));
    } else {
      value = std::bit_cast<double>(draw());
    }
    if (i == 0) value = std::numeric_limits<T>::denorm_min();
    if (i == 1) value = std::numeric_limits<T>::max();
    if (i == 2) value = -std::numeric_limits<T>::infinity();
    if (std::isnan(value)) value = T{0};
    c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
    c.begin.push_back(i);
    c.first_sample.push_back(static_cast<std::uint32_t>(i + 1));
  }
  std::string text;
  const Writer writer(streams, false);
  for (std::uint32_t i = 0; i < kValues; ++i) writer.sequence(chunk, i, "", text);
  const ScratchFolder folder;
  CtfOptions options = options_for({"v:d1"});
  options.element = element;
  const CtfSource source(options, folder.write("t", text), quiet_context());
  Chunk again;
  source.read(0, again);
  ASSERT_EQ(again.columns[0].values.size(), c.values.size());
  EXPECT_EQ(std::memcmp(again.columns[0].values.data(), c.values.data(), c.values.size()), 0);
}

TEST(Write, FloatsReadBackToTheSameBits) { expect_bits_survive<float>(Element::f32, 1); }
TEST(Write, DoublesReadBackToTheSameBits) { expect_bits_survive<double>(Element::f64, 2); }

TEST(Write, WhatTextCannotSayIsRefused) {
  Chunk chunk;
  const std::vector<StreamInfo> streams = {{.name = "v", .dim = 1}};
  chunk.reset(streams);
  const float nan = std::nanf("");
  chunk.columns[0].values.append(reinterpret_cast<const std::byte*>(&nan), 4);
  chunk.columns[0].begin.push_back(0);
  chunk.columns[0].first_sample.push_back(1);
  const auto id = [](auto&& act) -> std::string {
    try {
      act();
    } catch (const Error& e) {
      return e.fault().id;
    }
    return "none";
  };
  std::string out;
  EXPECT_EQ(id([&] { Writer(streams, true).sequence(chunk, 0, "1", out); }), "ctf.write-nan");
  EXPECT_EQ(id([&] { Writer(streams, true).sequence(chunk, 0, "a b", out); }), "ctf.write-key");
  const std::vector<StreamInfo> words = {{.name = "w", .dim = 3, .storage = Storage::sparse}};
  for (const std::int32_t index : {-7, 3, 2}) {
    chunk.reset(words);
    const float one = 1;
    chunk.columns[0].values.append(reinterpret_cast<const std::byte*>(&one), 4);
    chunk.columns[0].indices.push_back(index);
    chunk.columns[0].first_value.push_back(1);
    chunk.columns[0].first_sample.push_back(1);
    EXPECT_EQ(id([&] { Writer(words, true).sequence(chunk, 0, "1", out); }),
              index == 2 ? "none" : "ctf.write-bad-index");
  }
  EXPECT_EQ(id([&] { Writer({{.name = "a b", .dim = 1}}, true); }), "ctf.write-names");
  EXPECT_EQ(id([&] { Writer({streams[0], streams[0]}, true); }), "ctf.write-names");
  const std::vector<StreamInfo> alike = {{.name = "ab", .dim = 1}, {.name = "aB", .dim = 1}};
  EXPECT_EQ(id([&] { Writer(alike, true); }), "ctf.write-names");
}

}  // namespace
}  // namespace batchfeed::ctf
