// SPDX-License-Identifier: MIT
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/spare.h"
#include "formats/cbf/golden_testing.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::id_of;
using golden::Bytes;
using golden::Opened;
using golden::TempFile;
using golden::with;

std::vector<float> values(const Column& column, std::uint32_t row) {
  const float* const from = column.as<float>();
  if (column.storage == Storage::dense) {
    const std::uint64_t n = column.samples(row) * column.dim;
    return {from + column.begin[row], from + column.begin[row] + n};
  }
  return {from + column.first_value[column.first_sample[row]], from + column.first_value[column.first_sample[row + 1]]};
}
std::vector<std::int32_t> indices(const Column& column, std::uint32_t row) {
  return {column.indices.data() + column.first_value[column.first_sample[row]],
          column.indices.data() + column.first_value[column.first_sample[row + 1]]};
}
std::vector<std::uint32_t> lengths(const Source& source, std::uint32_t chunk = 0) {
  std::vector<SequenceInfo> table;
  source.sequences(chunk, table);
  std::vector<std::uint32_t> out;
  for (const SequenceInfo& s : table) out.push_back(s.samples);
  return out;
}
std::string fault_of(const Bytes& bytes, const CbfOptions& options = {}) {
  const TempFile file(bytes);
  return id_of([&] {
    const Opened opened(file.path(), options);
    Chunk chunk;
    for (std::uint32_t c = 0; c < opened.source->chunks().size(); ++c) opened.source->read(c, chunk);
  });
}

TEST(CbfSource, ReadsTheModernExample) {
  const TempFile file(golden::modern());
  const Opened opened(file.path());
  const Source& source = *opened.source;
  ASSERT_EQ(source.streams().size(), 2u);
  EXPECT_EQ(source.streams()[0], (StreamInfo{.name = "feat", .dim = 2}));
  EXPECT_EQ(source.streams()[1], (StreamInfo{.name = "lab", .dim = 5, .storage = Storage::sparse}));
  ASSERT_EQ(source.chunks().size(), 1u);
  EXPECT_EQ(source.chunks()[0].samples, 4u);
  EXPECT_EQ(lengths(source), (std::vector<std::uint32_t>{3, 1}));
  Chunk chunk;
  source.read(0, chunk);
  EXPECT_EQ(values(chunk.columns[0], 0), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values(chunk.columns[0], 1), (std::vector<float>{5, 6}));
  EXPECT_EQ(values(chunk.columns[1], 0), (std::vector<float>{0.5f, 2, 1, -1}));
  EXPECT_EQ(indices(chunk.columns[1], 0), (std::vector<std::int32_t>{1, 3, 0, 2}));
  EXPECT_EQ(std::vector(chunk.columns[1].first_value.begin(), chunk.columns[1].first_value.end()),
            (std::vector<std::uint32_t>{0, 2, 3, 4, 5}));
  EXPECT_EQ(indices(chunk.columns[1], 1), (std::vector<std::int32_t>{4}));
  EXPECT_TRUE(opened.notices.empty());
}

TEST(CbfSource, ReadsTheLegacyExample) {
  const TempFile file(golden::legacy());
  const Opened opened(file.path());
  EXPECT_EQ(lengths(*opened.source), (std::vector<std::uint32_t>{2, 1}));
  Chunk chunk;
  opened.source->read(0, chunk);
  EXPECT_EQ(values(chunk.columns[0], 0), (std::vector<float>{1, 2}));
  EXPECT_EQ(values(chunk.columns[0], 1), (std::vector<float>{5, 6}));
  EXPECT_EQ(std::vector(chunk.columns[1].first_value.begin(), chunk.columns[1].first_value.end()),
            (std::vector<std::uint32_t>{0, 2, 3, 4}));
  EXPECT_EQ(indices(chunk.columns[1], 0), (std::vector<std::int32_t>{1, 3, 0}));
  EXPECT_EQ(values(chunk.columns[1], 1), (std::vector<float>{8}));
}

TEST(CbfSource, NumbersSequencesThroughTheFile) {
  const TempFile file(golden::modern());
  const Opened opened(file.path());
  std::vector<SequenceInfo> table;
  opened.source->sequences(0, table);
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[1].key, 1u);
  EXPECT_EQ(table[1].row, 1u);
}

TEST(CbfSource, RenamesByAliasAndTheLastNameWins) {
  const TempFile file(golden::modern());
  const CbfOptions options{.renames = {{"a", "feat"}, {"Z", "feat"}, {"n", "nothing"}, {"x", ""}}};
  const Opened opened(file.path(), options);
  EXPECT_EQ(opened.source->streams()[0].name, "Z");
  EXPECT_EQ(opened.source->streams()[1].name, "lab");
}

TEST(CbfSource, WarnsOfAnEntryThatFitsNoStream) {
  const TempFile file(golden::modern());
  const auto told = [&](std::vector<CbfOptions::Rename> renames, int level = 1) {
    std::string out;
    const Opened opened(file.path(), CbfOptions{.renames = std::move(renames), .trace_level = level});
    for (const Notice& notice : opened.notices) {
      EXPECT_EQ(notice.severity, Severity::warning);
      EXPECT_EQ(notice.fault.id, "cbf.unknown-stream");
      out += notice.fault.what + "; " + notice.fault.hint + '\n';
    }
    return out;
  };
  EXPECT_EQ(told({{"q", "fat"}}), "stream 'q' is asked for, and none is named 'fat'; did you mean 'feat'?\n");
  EXPECT_EQ(told({{"q", "nothing"}}),
            "stream 'q' is asked for, and none is named 'nothing'; the file has 'feat', 'lab'\n");
  EXPECT_EQ(told({{"q", "nothing"}}, 0), "");
  // What was converted from text has the names that the aliases had there.
  EXPECT_EQ(told({{"feat", "F"}, {"lab", "lab"}, {"x", "y"}}).substr(0, 11), "stream 'x' ");
  EXPECT_EQ(told({{"feat", "F"}, {"lab", "lab"}}), "");
}

TEST(CbfSource, SwapsNames) {
  const TempFile file(golden::modern());
  const Opened opened(file.path(), CbfOptions{.renames = {{"feat", "lab"}, {"lab", "feat"}}});
  EXPECT_EQ(opened.source->streams()[0].name, "lab");
  EXPECT_EQ(opened.source->streams()[1].name, "feat");
}

TEST(CbfSource, RefusesTwoStreamsOfOneNameAfterRenaming) {
  EXPECT_EQ(fault_of(golden::modern(), {.renames = {{"feat", "lab"}}}), "cbf.duplicate-stream");
}

TEST(CbfSource, RefusesTheOtherPrecisionUnlessItMayConvert) {
  EXPECT_EQ(fault_of(golden::modern(), {.element = Element::f64}), "cbf.precision-mismatch");
  const TempFile file(golden::modern());
  const Opened opened(file.path(), CbfOptions{.element = Element::f64, .convert_element = true});
  Chunk chunk;
  opened.source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].as<double>()[chunk.columns[0].begin[1] + 1], 6.0);
  EXPECT_EQ(chunk.columns[1].as<double>()[4], 8.0);
}

TEST(CbfSource, RefusesKeysThatAreText) {
  const TempFile file(golden::modern());
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  try {
    open({}, file.path(), context);
    ADD_FAILURE() << "opened";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "cbf.keys-not-numeric");
    EXPECT_EQ(e.fault().kind, FaultKind::config);
  }
}

TEST(CbfSource, GivesTheLengthsOfTheDataWhenTheTableIsWrong) {
  const TempFile file(with(golden::modern(), 0xb3, 99u));
  const Opened opened(file.path());
  EXPECT_TRUE(opened.reported("cbf.sample-count-mismatch"));
  EXPECT_EQ(opened.source->chunks()[0].samples, 4u);
}

TEST(CbfSource, LeavesChunksWithoutSequencesOut) {
  Bytes bytes = with(golden::modern(), 0x84, 3u);  // chunks
  const Bytes none = {12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
              last = {124, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  bytes.insert(bytes.begin() + 0xb7, last.begin(), last.end());
  bytes.insert(bytes.begin() + 0xa7, none.begin(), none.end());
  const TempFile file(bytes);
  const Opened opened(file.path());
  ASSERT_EQ(opened.source->chunks().size(), 1u);
  EXPECT_EQ(opened.source->chunks()[0].sequences, 2u);
}

TEST(CbfSource, LeavesSequencesOfLengthZeroOut) {
  const TempFile file(with(golden::modern(), 0x0c, 0u));
  const Opened opened(file.path());
  EXPECT_TRUE(opened.reported("cbf.empty-sequence"));
  EXPECT_EQ(opened.source->chunks()[0].sequences, 1u);
  std::vector<SequenceInfo> table;
  opened.source->sequences(0, table);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0].key, 1u);
  EXPECT_EQ(table[0].row, 1u);
}

// The reference's converter leaves a sequence in each, as many as there are.
TEST(CbfSource, ReadsTinyChunksWithoutMuchOfTheOthers) {
  constexpr std::uint32_t kChunks = 20'000, kDim = 200;
  const ::batchfeed::testing::ScratchFolder folder;
  const std::string path = folder / "tiny.cbf";
  CbfWriter writer(path, {.streams = {{.name = "a", .dim = kDim}}, .chunk_bytes = 1});
  std::vector<float> row(kDim);
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    row[0] = static_cast<float>(i);
    const SequenceData data[] = {{.samples = 1, .values = row.data()}};
    writer.append(data);
  }
  writer.commit();
  const Opened opened(path);
  ASSERT_EQ(opened.source->chunks().size(), kChunks);
  std::vector<std::uint32_t> order(kChunks);
  std::iota(order.begin(), order.end(), 0U);
  Chunk chunk;
  for (const bool shuffled : {false, true}) {
    if (shuffled) std::shuffle(order.begin(), order.end(), std::mt19937(1));
    const ::batchfeed::testing::FaultySys sys;
    for (const std::uint32_t c : order) {
      opened.source->read(c, chunk);
      ASSERT_EQ(chunk.columns[0].as<float>()[chunk.columns[0].begin[0]], static_cast<float>(c));
    }
    EXPECT_LE(sys.bytes_read(), std::uint64_t{kChunks} * kDim * sizeof(float) * (shuffled ? 8 : 2)) << shuffled;
  }
}

// A corpus may have thousands of files, each of which is read once in a while.
TEST(CbfSource, FilesShareTheMemoryThatReadingTakes) {
  const ::batchfeed::testing::ScratchFolder folder;
  {
    CbfWriter writer(folder / "x.cbf", {.streams = {{.name = "w", .dim = 9, .storage = Storage::sparse}}});
    const float one = 1;
    const std::int32_t index = 8;
    const std::uint32_t entries = 1;
    for (int i = 0; i < 20'000; ++i)
      writer.append(std::vector<SequenceData>{{.samples = 1, .values = &one, .indices = &index, .entries = &entries}});
    writer.commit();
  }
  std::deque<Spare<std::byte>> spares(1000);
  for (Spare<std::byte>& spare : spares) *spare = Buffer<std::byte>();  // none is left
  spares.clear();
  std::deque<Opened> files;
  Chunk chunk;
  for (int i = 0; i < 20; ++i) {
    files.emplace_back(folder / "x.cbf").source->read(0, chunk);
    ASSERT_EQ(chunk.columns[0].first_sample.size(), 20'001u);
  }
  spares.resize(100);
  EXPECT_EQ(std::ranges::count_if(spares, [](const Spare<std::byte>& spare) { return (*spare).capacity() != 0; }), 1);
}

// What was read of tiny chunks along with others is kept of a few files.
TEST(CbfSource, FilesThatRestKeepNoBlocks) {
  const ::batchfeed::testing::ScratchFolder folder;
  {
    CbfWriter writer(folder / "x.cbf", {.streams = {{.name = "v", .dim = 10}}, .chunk_bytes = 1});
    const std::vector<float> values(10, 1);
    for (int i = 0; i < 100; ++i) writer.append(std::vector<SequenceData>{{.samples = 1, .values = values.data()}});
    writer.commit();
  }
  std::deque<Opened> files;
  Chunk chunk;
  for (int i = 0; i < 40; ++i) {
    files.emplace_back(folder / "x.cbf");
    for (const std::uint32_t c : {98u, 99u}) files.back().source->read(c, chunk);
  }
  const ::batchfeed::testing::FaultySys sys;
  files.back().source->read(99, chunk);
  EXPECT_EQ(sys.bytes_read(), 0u);
  files.front().source->read(99, chunk);
  EXPECT_GT(sys.bytes_read(), 0u);
  files.pop_back();
  for (Opened& file : files) {
    for (std::uint32_t c = 0; c < 100; ++c) {
      file.source->read(c, chunk);
      ASSERT_EQ(chunk.columns[0].as<float>()[chunk.columns[0].begin[0] + 9], 1);
    }
  }
}

}  // namespace
}  // namespace batchfeed::cbf
