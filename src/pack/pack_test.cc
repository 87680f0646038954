// SPDX-License-Identifier: MIT
#include "pack/pack.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "pack/testing.h"

namespace batchfeed::pack {
namespace {

std::string packed(std::vector<std::uint32_t> lengths) {
  Layout layout;
  std::vector<std::uint32_t> memory;
  layout_sequences(lengths, memory, layout);
  return text(layout);
}

const std::vector<StreamInfo> kDense = {{.name = "x", .dim = 1}};

std::vector<Slice> all_of(const Chunk& chunk) {
  std::vector<Slice> slices;
  for (std::uint32_t r = 0; r + 1 < chunk.columns[0].first_sample.size(); ++r) slices.push_back({&chunk, r});
  return slices;
}

// minibatch.md 18.8, K1 to K7.
TEST(PackLayout, FirstFitInOrderOfArrival) {
  EXPECT_EQ(packed({3, 1, 2, 2}), "S=3 T=3 0@0[0,3) 1@1[0,1) 2@1[1,3) 3@2[0,2) gap@2[2,3)");
  EXPECT_EQ(packed({2, 5, 3, 1, 1, 4}),
            "S=4 T=5 0@0[0,2) 1@1[0,5) 2@0[2,5) 3@2[0,1) 4@2[1,2) 5@3[0,4) gap@2[2,5) gap@3[4,5)");
  EXPECT_EQ(packed({1, 1, 1}), "S=3 T=1 0@0[0,1) 1@1[0,1) 2@2[0,1)");
  EXPECT_EQ(packed({4}), "S=1 T=4 0@0[0,4)");
  EXPECT_EQ(packed({1, 2, 3, 4}), "S=3 T=4 0@0[0,1) 1@0[1,3) 2@1[0,3) 3@2[0,4) gap@0[3,4) gap@1[3,4)");
  EXPECT_EQ(packed({4, 3, 2, 1}), "S=3 T=4 0@0[0,4) 1@1[0,3) 2@2[0,2) 3@1[3,4) gap@2[2,4)");
  EXPECT_EQ(packed({2, 2, 3, 1, 1, 3}), "S=4 T=3 0@0[0,2) 1@1[0,2) 2@2[0,3) 3@0[2,3) 4@1[2,3) 5@3[0,3)");
}

// In one stream; the binary format knows such sequences.
TEST(PackLayout, ASequenceWithoutSamplesTakesNoRoom) {
  EXPECT_EQ(packed({2, 0, 1}), "S=2 T=2 0@0[0,2) 1@0[2,2) 2@1[0,1) gap@1[1,2)");
  EXPECT_EQ(packed({0, 3}), "S=1 T=3 0@0[0,0) 1@0[0,3)");
  EXPECT_EQ(packed({0}), "S=1 T=0 0@0[0,0)");
  EXPECT_EQ(packed({0, 0}), "S=1 T=0 0@0[0,0) 1@0[0,0)");
  EXPECT_EQ(packed({}), "S=0 T=0");
}

TEST(PackLayout, FirstFitEqualsTheObviousSearch) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw) {
    std::vector<std::uint32_t> lengths;
    for (const auto r : raw) lengths.push_back(1u + r % 9u);
    std::uint32_t steps = 0;
    for (const auto n : lengths) steps = std::max(steps, n);
    std::vector<std::uint32_t> used;
    Layout want;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      std::size_t row = 0;
      while (row < used.size() && used[row] + lengths[i] > steps) ++row;
      if (row == used.size()) used.push_back(0);
      want.entries.push_back({i, static_cast<std::uint32_t>(row), used[row], std::int64_t{used[row]} + lengths[i]});
      used[row] += lengths[i];
    }
    for (std::uint32_t row = 0; row < used.size(); ++row) {
      if (used[row] < steps) want.entries.push_back({LayoutEntry::kGap, row, used[row], steps});
    }
    Layout got;
    std::vector<std::uint32_t> memory;
    layout_sequences(lengths, memory, got);
    RC_ASSERT(got.entries == want.entries);
    RC_ASSERT(got.rows == used.size());
  }));
}

TEST(PackSequences, CntkColumnsAreStepMajorWithZeroGaps) {  // K8
  const Chunk chunk = dense_chunk({3, 1, 2, 2});
  Scratch scratch;
  Minibatch batch;
  sequences(kDense, all_of(chunk), scratch, batch);
  const CntkDenseView view = batch["x"].cntk_dense();
  const auto* values = reinterpret_cast<const float*>(view.values.data());
  EXPECT_EQ(std::vector<float>(values, values + view.columns), (std::vector<float>{0, 10, 30, 1, 20, 31, 2, 21, 0}));
}

TEST(PackSequences, ViewsThatNoMemoryHoldsAreRefused) {
  const Chunk chunk = dense_chunk({1, 2});
  Scratch scratch;
  Minibatch batch;
  sequences(kDense, all_of(chunk), scratch, batch);
  StreamBatch& x = batch.streams[0];
  for (const std::uint64_t dim : {std::uint64_t{1} << 60, std::uint64_t{1} << 62}) {  // in bytes 2^64, or a sample is
    x.dim = dim;
    EXPECT_THROW(x.padded(), std::bad_alloc) << dim;
    EXPECT_THROW(x.cntk_dense(), std::bad_alloc) << dim;
  }
}

TEST(PackFrames, EverySequenceIsARow) {  // K9, X4
  const Chunk ones = dense_chunk({1, 1, 1});
  Scratch scratch;
  Minibatch batch;
  frames(kDense, all_of(ones), scratch, batch);
  EXPECT_EQ(text(batch["x"].layout), "S=3 T=1 0@0[0,1) 1@1[0,1) 2@2[0,1)");
  const Chunk longer = dense_chunk({1, 2});
  try {
    frames(kDense, all_of(longer), scratch, batch);
    FAIL() << "a sequence of 2 samples was accepted";
  } catch (const Misfit& misfit) {
    EXPECT_EQ(misfit.fault().id, "pack.frame-length");
    EXPECT_EQ(misfit.sequence(), 1u);
    EXPECT_EQ(misfit.fault().what, "has 2 samples in stream 'x', expected 1 in frame mode");
  }
}

TEST(PackFrames, TakesSingleFramesOutOfSequences) {
  const Chunk chunk = dense_chunk({3, 2});
  Scratch scratch;
  Minibatch batch;
  const std::vector<Slice> slices = {{&chunk, 1, 1, 1}, {&chunk, 0, 2, 1}};
  frames(kDense, slices, scratch, batch);
  const auto* values = batch["x"].as<float>();
  EXPECT_EQ(std::vector<float>(values, values + 2), (std::vector<float>{11, 2}));
}

TEST(PackSequences, OverlappingWindowsAndRepeatedSamples) {
  Chunk chunk;
  chunk.reset({{.name = "x", .dim = 3}});
  Column& c = chunk.columns[0];
  const float stored[] = {1, 1, 2, 3, 3};  // one frame added at each edge
  c.values.append(reinterpret_cast<const std::byte*>(stored), sizeof stored);
  c.step = 1;
  c.begin.push_back(0);
  c.first_sample.push_back(3);
  Scratch scratch;
  Minibatch batch;
  sequences({{.name = "x", .dim = 3}}, all_of(chunk), scratch, batch);
  const auto* values = batch["x"].as<float>();
  EXPECT_EQ(std::vector<float>(values, values + 9), (std::vector<float>{1, 1, 2, 1, 2, 3, 2, 3, 3}));
  c.step = 0;
  sequences({{.name = "x", .dim = 3}}, all_of(chunk), scratch, batch);
  values = batch["x"].as<float>();
  EXPECT_EQ(std::vector<float>(values, values + 9), (std::vector<float>{1, 1, 2, 1, 1, 2, 1, 1, 2}));
}

// K10: q0: {0:1,4:2} {} {2:3}; q1: {1:4}; q2: {3:5} {0:6,1:7}; q3: {} {2:8}
Chunk sparse_chunk(const std::vector<StreamInfo>& streams) {
  Chunk chunk;
  chunk.reset(streams);
  Column& c = chunk.columns[0];
  for (const std::uint32_t end : {3u, 4u, 6u, 8u}) c.first_sample.push_back(end);
  for (const std::uint32_t end : {2u, 2u, 3u, 4u, 5u, 7u, 7u, 8u}) c.first_value.push_back(end);
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8};
  c.values.append(reinterpret_cast<const std::byte*>(values), sizeof values);
  const std::int32_t indices[] = {0, 4, 2, 1, 3, 0, 1, 2};
  c.indices.append(indices, 8);
  return chunk;
}

TEST(PackSequences, SparseColumns) {
  const std::vector<StreamInfo> streams = {{.name = "x", .dim = 5, .storage = Storage::sparse}};
  const Chunk chunk = sparse_chunk(streams);
  Scratch scratch;
  Minibatch batch;
  sequences(streams, all_of(chunk), scratch, batch);
  const CntkSparseView view = batch["x"].cntk_sparse();
  const auto* values = reinterpret_cast<const float*>(view.values.data());
  EXPECT_EQ(std::vector<float>(values, values + view.indices.size()), (std::vector<float>{1, 2, 4, 5, 8, 3, 6, 7}));
  EXPECT_EQ(std::vector<std::int32_t>(view.indices.begin(), view.indices.end()),
            (std::vector<std::int32_t>{0, 4, 1, 3, 2, 2, 0, 1}));
  EXPECT_EQ(std::vector<std::int64_t>(view.columns.begin(), view.columns.end()),
            (std::vector<std::int64_t>{0, 2, 3, 3, 3, 4, 5, 6, 8, 8}));
}

TEST(PackTruncated, SparseComesDenseAndTheLastOfARepeatedIndexWins) {
  const std::vector<StreamInfo> streams = {{.name = "x", .dim = 5, .storage = Storage::sparse}};
  Chunk chunk = sparse_chunk(streams);
  chunk.columns[0].indices[1] = 0;  // q0's first sample is now {0:1, 0:2}
  Scratch scratch;
  Minibatch batch;
  const std::vector<Piece> pieces = {
      {.slice = {&chunk, 0}, .sequence = 0, .row = 0, .step = 0, .first = 0, .count = 2, .length = 3},
      {.slice = {&chunk, 1}, .sequence = 1, .row = 1, .step = 0, .first = 0, .count = 1, .length = 1}};
  truncated(streams, 2, 2, pieces, scratch, batch);
  EXPECT_EQ(text(batch["x"].layout), "S=2 T=2 0@0[0,3) 1@1[0,1) gap@1[1,2)");
  const auto* values = batch["x"].as<float>();
  EXPECT_EQ(batch["x"].storage, Storage::dense);
  EXPECT_EQ(std::vector<float>(values, values + 15), (std::vector<float>{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0}));
}

TEST(PackTruncated, GapsComeBehindAllSequences) {
  const Chunk chunk = dense_chunk({1, 2});
  Scratch scratch;
  Minibatch batch;
  const std::vector<Piece> pieces = {{.slice = {&chunk, 0}, .sequence = 0, .row = 0, .count = 1, .length = 1},
                                     {.slice = {&chunk, 1}, .sequence = 1, .row = 1, .count = 2, .length = 2}};
  truncated(kDense, 2, 2, pieces, scratch, batch);
  EXPECT_EQ(text(batch["x"].layout), "S=2 T=2 0@0[0,1) 1@1[0,2) gap@0[1,2)");
}

TEST(PackTruncated, RefusesStreamsOfDifferentLengths) {  // X6
  Chunk chunk = dense_chunk({3});
  Scratch scratch;
  Minibatch batch;
  const std::vector<Piece> pieces = {{.slice = {&chunk, 0}, .count = 3, .length = 3},
                                     {.slice = {&chunk, 0}, .sequence = 1, .row = 1, .count = 2, .length = 2}};
  try {
    truncated(kDense, 2, 3, pieces, scratch, batch);
    FAIL() << "accepted";
  } catch (const Misfit& misfit) {
    EXPECT_EQ(misfit.fault().id, "pack.truncated-lengths");
    EXPECT_EQ(misfit.sequence(), 1u);
  }
}

TEST(MinibatchStreams, AreFoundByNameAndMissedByName) {
  const Chunk chunk = dense_chunk({1, 2});
  Scratch scratch;
  Minibatch batch;
  sequences(kDense, all_of(chunk), scratch, batch);
  EXPECT_EQ(batch.find("y"), nullptr);
  try {
    batch["y"];
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "minibatch.no-stream");
    EXPECT_EQ(error.fault().hint, "it has x");
  }
  try {
    static_cast<void>(batch["x"].cntk_sparse());
    FAIL() << "made sparse";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "pack.not-sparse");
  }
}

TEST(PackSequences, UnpackingGivesTheSequencesBack) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw) {
    RC_PRE(!raw.empty());
    std::vector<std::uint32_t> lengths;
    for (const auto r : raw) lengths.push_back(1u + r % 7u);
    const Chunk chunk = dense_chunk(lengths);
    Scratch scratch;
    Minibatch batch;
    sequences(kDense, all_of(chunk), scratch, batch);
    const StreamBatch& x = batch["x"];
    RC_ASSERT(x.values.size() == chunk.columns[0].values.size());
    RC_ASSERT(std::memcmp(x.values.data(), chunk.columns[0].values.data(), x.values.size()) == 0);
    const CntkDenseView columns = x.cntk_dense();
    const auto* values = reinterpret_cast<const float*>(columns.values.data());
    const PaddedView padded = x.padded();
    const auto* cells = reinterpret_cast<const float*>(padded.values.data());
    for (std::size_t e = 0; e < x.layout.sequences; ++e) {
      const LayoutEntry& entry = x.layout.entries[e];
      for (std::uint32_t i = 0; i < lengths[e]; ++i) {
        const auto want = static_cast<float>(10 * e + i);
        RC_ASSERT(values[(static_cast<std::size_t>(entry.begin) + i) * x.layout.rows + entry.row] == want);
        RC_ASSERT(cells[e * padded.steps + i] == want);
        RC_ASSERT(padded.mask[e * padded.steps + i] == 1);
      }
      for (std::uint64_t i = lengths[e]; i < padded.steps; ++i) {
        RC_ASSERT(cells[e * padded.steps + i] == 0.0f);
        RC_ASSERT(padded.mask[e * padded.steps + i] == 0);
      }
    }
  }));
}

}  // namespace
}  // namespace batchfeed::pack
