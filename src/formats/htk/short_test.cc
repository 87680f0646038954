// SPDX-License-Identifier: MIT
//
// Short utterances, which are read in blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "formats/htk/htk.h"
#include "io/block.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::htk {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::Call;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kHeader = 12;
// False if pieces are set so small that an utterance of these tests may be too long for a block.
constexpr bool kUsualBlocks = io::Block::kShort > 1024;

class HtkShort : public ::testing::Test {
 protected:
  struct Range {
    std::string file;
    std::size_t first, frames;
  };

  std::unique_ptr<Source> open(const std::vector<Range>& ranges, HtkOptions options = {}) {
    std::string lines;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      lines += "u" + std::to_string(i) + "=" + (folder_ / ranges[i].file) + "[" + std::to_string(ranges[i].first) +
               "," + std::to_string(ranges[i].first + ranges[i].frames - 1) + "]\n";
    }
    options.name = "f";
    options.scp_files = {folder_.write("x.scp", lines)};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    context.report = [this](const Notice& n) { told_.push_back(n.fault); };
    return htk::open(options, context);
  }
  // Expects that each row of the first chunk, read by itself, equals the row of the whole chunk. Returns the number of
  // read calls for the whole chunk.
  static std::size_t expect_as_alone(const Source& source) {
    Chunk all, alone;
    std::size_t reads = 0;
    {
      const FaultySys sys;
      source.read(0, all);
      const std::vector<std::string> names = sys.names();
      reads = static_cast<std::size_t>(std::count(names.begin(), names.end(), "pread"));
    }
    const Column& column = all.columns[0];
    const RowReader* const rows = source.row_reader(0);
    const auto n = static_cast<std::uint32_t>(column.first_sample.size() - 1);
    for (std::uint32_t row = 0; row < n; ++row) {
      rows->read(0, {row, row + 1}, alone);
      const std::size_t bytes = alone.columns[0].values.size(), at = column.begin[row] * size_of(column.element);
      EXPECT_EQ(column.samples(row), alone.columns[0].samples(0));
      const bool same =
          at + bytes <= column.values.size() &&
          std::equal(alone.columns[0].values.begin(), alone.columns[0].values.end(), column.values.begin() + at);
      EXPECT_TRUE(same) << row;
    }
    return reads;
  }

  ScratchFolder folder_;
  std::vector<Fault> told_;
};

TEST_F(HtkShort, IsReadInBlocks) {
  constexpr std::size_t kFrames = 50'000;
  for (const std::uint32_t dim : {3u, 4u}) {
    folder_.write("a", htk_file(ramp(kFrames * dim), {.dim = dim}));
    std::vector<Range> ranges;
    for (std::size_t at = 0, n = 1; at + n <= kFrames; at += n, n = n % 9 + 1) ranges.push_back({"a", at, n});
    const std::size_t blocks = kFrames * dim * 4 / io::Block::kBytes + 1;
    for (const Element element : {Element::f32, Element::f64}) {
      const auto source = open(ranges, {.context = {{2, 1}}, .element = element});
      const std::size_t reads = expect_as_alone(*source);
      if (kUsualBlocks) {
        EXPECT_LE(reads, blocks + 2) << "two of the header";
      }
    }
  }
}

TEST_F(HtkShort, IsReadOfAllKinds) {
  folder_.write("little", htk_file(ramp(400), {.dim = 4, .big_endian = false}));
  std::string scales;
  for (const std::uint32_t v : {0x40000000u, 0x40800000u, 0xBF800000u, 0x40400000u}) scales += be32(v);
  std::string shorts = be32(104) + be32(100000) + be16(4) + be16(9 + 02000) + scales;
  for (std::uint16_t i = 0; i < 200; ++i) shorts += be16(i);
  folder_.write("compressed", shorts);
  std::string pixels = be32(2051) + be32(100) + be32(2) + be32(2);
  for (int i = 0; i < 400; ++i) pixels += static_cast<char>(i);
  folder_.write("x-ubyte", pixels);
  for (const char* name : {"little", "compressed", "x-ubyte"}) {
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < 50; ++i) ranges.push_back({name, 2 * i, 2});
    for (const Element element : {Element::f32, Element::f64}) {
      const std::size_t reads = expect_as_alone(*open(ranges, {.element = element}));
      if (kUsualBlocks) {
        EXPECT_LE(reads, 5u) << name;
      }
    }
  }
}

TEST_F(HtkShort, MayLieAnywhereInSeveralArchives) {
  folder_.write("a", htk_file(ramp(40'000)));
  folder_.write("b", htk_file(ramp(40'000)));
  const std::vector<Range> ranges = {
      {"a", 0, 5},      {"a", 5, 5},   {"b", 0, 5},     {"b", 5, 9},       {"a", 10, 5},     {"a", 12, 9},
      {"a", 3, 2},      {"a", 0, 5},   {"b", 7, 3},     {"b", 12, 10'000}, {"b", 10'012, 3}, {"b", 10'015, 3},
      {"b", 30'000, 3}, {"a", 900, 1}, {"a", 1'900, 1}, {"a", 3'900, 1},   {"a", 3'902, 1}};
  expect_as_alone(*open(ranges));
  expect_as_alone(*open(ranges, {.context = {{3, 3}}}));
}

// An archive is cut off while it is open: the utterances before the cut are read, and the fault is that of the first
// one that is not complete.
TEST_F(HtkShort, NamesTheUtteranceAtWhichAnArchiveEnds) {
  std::vector<float> values = ramp(1000);
  values[30] = std::numeric_limits<float>::infinity();
  folder_.write("a", htk_file(values));
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < 100; ++i) ranges.push_back({"a", 10 * i, 10});
  const auto source = open(ranges);
  Chunk chunk;
  source->row_reader(0)->read(0, {0, 1}, chunk);  // so that the file is open
  std::filesystem::resize_file(folder_ / "a", kHeader + 4 * 503);
  const Fault alone = fault_of([&] { source->row_reader(0)->read(0, {50, 51}, chunk); });
  EXPECT_EQ(alone.id, "io.ends-early");
  EXPECT_EQ(alone.at.byte, kHeader + 4 * 503);
  EXPECT_THAT(alone.what, HasSubstr("28 bytes"));
  const Fault together = fault_of([&] { source->read(0, chunk); });
  EXPECT_EQ(together.id, alone.id);
  EXPECT_EQ(together.what, alone.what);
  EXPECT_EQ(together.hint, alone.hint);
  EXPECT_EQ(together.at, alone.at);
  ASSERT_EQ(told_.size(), 1u) << "of one before";
  EXPECT_EQ(told_[0].id, "htk.not-finite");
  EXPECT_EQ(told_[0].at.byte, kHeader + 4 * 30);
}

// If a block cannot be read, its utterances are read one by one, and only one that then fails is a fault.
TEST_F(HtkShort, IsReadOneByOneWhereABlockCannotBe) {
  folder_.write("a", htk_file(ramp(1000)));
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < 10; ++i) ranges.push_back({"a", 5 * i, 5});
  const auto source = open(ranges);
  Chunk all, chunk;
  source->read(0, all);
  int reads = 0;
  {
    const FaultySys sys([&](const Call& call) { return call.name == "pread" && ++reads == 1 ? EIO : 0; });
    source->read(0, chunk);
  }
  EXPECT_EQ(reads, 11);
  EXPECT_TRUE(std::ranges::equal(chunk.columns[0].values.span(), all.columns[0].values.span()));
  reads = 0;
  const FaultySys sys([&](const Call& call) { return call.name == "pread" && ++reads % 4 == 1 ? EIO : 0; });
  const Fault fault = fault_of([&] { source->read(0, chunk); });
  EXPECT_EQ(fault.id, "io.read");
  EXPECT_EQ(fault.at.file, folder_ / "a");
  EXPECT_EQ(reads, 5);
}

TEST_F(HtkShort, TellsOfEachWithValuesThatAreNotFinite) {
  std::vector<float> values = ramp(100);
  values[12] = values[15] = values[51] = std::numeric_limits<float>::quiet_NaN();
  folder_.write("a", htk_file(values));
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < 10; ++i) ranges.push_back({"a", 10 * i, 10});
  Chunk chunk;
  open(ranges)->read(0, chunk);
  std::vector<std::uint64_t> at;
  for (const Fault& f : told_) at.push_back(f.at.byte);
  EXPECT_THAT(at, ElementsAre(kHeader + 48, kHeader + 204));
}

// If a header changes while size and time do not show it, the first utterance that the file no longer has is named.
TEST_F(HtkShort, EndsWhereAHeaderSaysSoSince) {
  std::string file = htk_file(ramp(100));
  folder_.write("a", file);
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < 10; ++i) ranges.push_back({"a", 10 * i, 10});
  const auto source = open(ranges);
  file[3] = 45;
  folder_.write_unseen("a", file);
  Chunk chunk;
  const Fault fault = fault_of([&] { source->read(0, chunk); });
  EXPECT_EQ(fault.id, "htk.changed");
  EXPECT_EQ(fault.what, "it has fewer frames than when the list was read; 'u4' wants up to 50");
}

}  // namespace
}  // namespace batchfeed::htk
