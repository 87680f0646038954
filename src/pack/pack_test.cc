// SPDX-License-Identifier: MIT
#include "pack/pack.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <numeric>
#include <string>

namespace batchfeed::pack {
namespace {

std::string text(const Layout& layout) {
  std::string out = "S=" + std::to_string(layout.rows) + " T=" + std::to_string(layout.steps);
  for (const LayoutEntry& e : layout.entries) {
    out += ' ' + (e.sequence == LayoutEntry::kGap ? std::string("gap") : std::to_string(e.sequence)) + '@' +
           std::to_string(e.row) + '[' + std::to_string(e.begin) + ',' + std::to_string(e.end) + ')';
  }
  return out;
}

std::string packed(std::vector<std::uint32_t> lengths) {
  Layout layout;
  std::vector<std::uint32_t> memory;
  layout_sequences(lengths, memory, layout);
  return text(layout);
}

// A chunk of one dense stream; sequence r, sample i is the value 10 r + i.
Chunk dense_chunk(const std::vector<std::uint32_t>& lengths) {
  Chunk chunk;
  chunk.reset({{.name = "x", .dim = 1}});
  Column& c = chunk.columns[0];
  for (std::uint32_t r = 0; r < lengths.size(); ++r) {
    c.begin.push_back(c.first_sample.back());
    c.first_sample.push_back(c.first_sample.back() + lengths[r]);
    for (std::uint32_t i = 0; i < lengths[r]; ++i) {
      const float value = static_cast<float>(10 * r + i);
      c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
    }
  }
  return chunk;
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
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "pack.frame-length");
    EXPECT_NE(error.fault().what.find("one of 2"), std::string::npos) << error.what();
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

// Rows of one sample each, drawn from several chunks in any order.
TEST(PackSequences, WhatIsKnownOfPlainColumnsChangesNothing) {
  const std::vector<StreamInfo> streams = {
      {.name = "x", .dim = 3}, {.name = "y", .dim = 9, .storage = Storage::sparse, .element = Element::f64}};
  EXPECT_TRUE(rc::check([&](const std::vector<std::uint16_t>& drawn) {
    std::vector<Chunk> chunks(3);
    for (std::uint32_t c = 0; c < chunks.size(); ++c) {
      chunks[c].reset(streams);
      Column& x = chunks[c].columns[0];
      Column& y = chunks[c].columns[1];
      for (std::uint32_t r = 0; r < 40; ++r) {
        for (const float value : {float(c), float(r), 1.0F})
          x.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
        x.begin.push_back(3 * r);
        for (std::uint32_t k = 0; k < (r + c) % 4; ++k) {
          const double value = 100.0 * c + r + k;
          y.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
          y.indices.push_back(static_cast<std::int32_t>(2 * k));
        }
        y.first_value.push_back(static_cast<std::uint32_t>(y.indices.size()));
        x.first_sample.push_back(r + 1);
        y.first_sample.push_back(r + 1);
      }
      RC_ASSERT(plain_of(x).samples);
      RC_ASSERT(plain_of(y).samples);
      RC_ASSERT(!plain_of(y).values);
    }
    const Plain plain[] = {{.samples = true}, {.samples = true}};
    std::vector<Slice> looked_up, known;
    for (const std::uint16_t d : drawn) {
      looked_up.push_back({&chunks[d % 3], d / 3 % 40u});
      known.push_back({&chunks[d % 3], d / 3 % 40u, 0, Slice::kAll, d % 50 == 49 ? nullptr : plain});
    }
    Scratch scratch;
    Minibatch want, got;
    sequences(streams, looked_up, scratch, want);
    sequences(streams, known, scratch, got);
    RC_ASSERT(got.streams.size() == want.streams.size());
    for (std::size_t i = 0; i < got.streams.size(); ++i)
      RC_ASSERT(text(got.streams[i].layout) == text(want.streams[i].layout));
    std::size_t value = 0;
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const std::uint32_t c = drawn[i] % 3, r = drawn[i] / 3 % 40u;
      for (const Minibatch* batch : {&want, &got}) {
        const StreamBatch& x = batch->streams[0];
        const StreamBatch& y = batch->streams[1];
        RC_ASSERT(x.offsets[i + 1] == static_cast<std::int64_t>(i + 1));
        RC_ASSERT(x.as<float>()[3 * i] == float(c));
        RC_ASSERT(x.as<float>()[3 * i + 1] == float(r));
        RC_ASSERT(y.sample_begin[i] == static_cast<std::int64_t>(value));
        for (std::uint32_t k = 0; k < (r + c) % 4; ++k) {
          RC_ASSERT(y.as<double>()[value + k] == 100.0 * c + r + k);
          RC_ASSERT(y.indices[value + k] == static_cast<std::int32_t>(2 * k));
        }
      }
      value += (r + c) % 4;
    }
    for (const Minibatch* batch : {&want, &got}) {
      if (!batch->empty()) RC_ASSERT(batch->streams[1].indices.size() == value);
    }
  }));
}

TEST(PackSequences, PlainIsOneSampleEachInItsPlace) {
  EXPECT_TRUE(plain_of(dense_chunk({1, 1, 1}).columns[0]).samples);
  EXPECT_FALSE(plain_of(dense_chunk({1, 2, 1}).columns[0]).samples);
  Chunk moved = dense_chunk({1, 1});
  std::swap(moved.columns[0].begin[0], moved.columns[0].begin[1]);
  EXPECT_FALSE(plain_of(moved.columns[0]).samples);
}

// What is kept in bytes comes as what it was, however it is packed and beside whatever else.
TEST(PackNarrow, IsAsWide) {
  const std::vector<StreamInfo> streams = {{.name = "x", .dim = 19}};
  for (const bool overlapping : {false, true}) {
    for (const bool single : {false, true}) {
      Chunk wide[2], narrow[2];
      for (int c = 0; c < 2; ++c) {
        wide[c].reset(streams);
        Column& x = wide[c].columns[0];
        if (overlapping) x.step = 4;
        for (std::uint32_t r = 0; r < 30; ++r) {
          const std::uint32_t samples = single ? 1 : 1 + r % 3;
          x.begin.push_back(x.values.size() / sizeof(float));
          x.first_sample.push_back(x.first_sample.back() + samples);
          for (std::uint32_t i = 0; i < (samples - 1) * x.step + x.dim; ++i) {
            const auto value = static_cast<float>((c * 100 + static_cast<int>(r * 7 + i)) % 256);
            x.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
          }
        }
        narrow[c].reset(streams);
        Column& y = narrow[c].columns[0];
        y.step = x.step;
        y.begin.append(x.begin.data(), x.begin.size());
        y.first_sample.clear();
        y.first_sample.append(x.first_sample.data(), x.first_sample.size());
        for (std::size_t i = 0; i < x.values.size() / sizeof(float); ++i)
          y.values.push_back(static_cast<std::byte>(x.as<float>()[i]));
      }
      Plain known[] = {plain_of(wide[0].columns[0])}, bytes[] = {known[0]};
      EXPECT_EQ(known[0].samples, single);
      bytes[0].narrow = true;
      std::vector<Slice> want_slices, got_slices, want_frames, got_frames;
      std::vector<Piece> want_pieces, got_pieces;
      for (std::uint32_t i = 0; i < 60; ++i) {
        const std::uint32_t row = i * 17 % 30, samples = single ? 1 : 1 + row % 3;
        const int c = i % 4 == 1 ? 1 : 0;
        const bool is_narrow = i % 5 != 2;  // of the same data
        const Chunk* const chunk = is_narrow ? &narrow[c] : &wide[c];
        const Plain* const plain = is_narrow ? bytes : known;
        want_slices.push_back({&wide[c], row});
        got_slices.push_back({chunk, row, 0, Slice::kAll, plain});
        want_frames.push_back({&wide[c], row, i % samples, 1});
        got_frames.push_back({chunk, row, i % samples, 1, plain});
        if (i >= 4) continue;
        for (auto* pieces : {&want_pieces, &got_pieces})
          pieces->push_back({.slice = pieces == &want_pieces ? want_slices.back() : got_slices.back(),
                             .sequence = i,
                             .row = i,
                             .count = samples,
                             .length = samples});
      }
      Scratch scratch;
      Minibatch want, got;
      const auto expect_same = [&] {
        ASSERT_EQ(got["x"].values.size(), want["x"].values.size());
        EXPECT_EQ(std::memcmp(got["x"].values.data(), want["x"].values.data(), want["x"].values.size()), 0);
        EXPECT_EQ(text(got["x"].layout), text(want["x"].layout));
      };
      for (scratch.far = false;; scratch.far = true) {
        sequences(streams, want_slices, scratch, want);
        sequences(streams, got_slices, scratch, got);
        expect_same();
        frames(streams, want_frames, scratch, want);
        frames(streams, got_frames, scratch, got);
        expect_same();
        truncated(streams, 4, 3, want_pieces, scratch, want);
        truncated(streams, 4, 3, got_pieces, scratch, got);
        expect_same();
        if (scratch.far) break;
      }
    }
  }
}

// Labels: `lengths` of sequences whose samples have one value each, 1, 2, ... at index first, first + 1, ...
template <class T>
Chunk labels(const std::vector<StreamInfo>& streams, const std::vector<std::uint32_t>& lengths, std::int32_t first) {
  Chunk chunk;
  chunk.reset(streams);
  Column& c = chunk.columns[0];
  for (const std::uint32_t length : lengths) {
    c.first_sample.push_back(c.first_sample.back() + length);
    for (std::uint32_t i = 0; i < length; ++i) {
      const auto n = static_cast<std::uint32_t>(c.indices.size());
      const T value = static_cast<T>(n) + 1;
      c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
      c.indices.push_back(first + static_cast<std::int32_t>(n));
      c.first_value.push_back(n + 1);
    }
  }
  return chunk;
}

// What is known of labels changes nothing, whether it is known of all, of none or of some.
template <class T>
void expect_labels(Element element, const std::vector<std::uint32_t>& lengths, bool framed) {
  const std::vector<StreamInfo> streams = {{.name = "y", .dim = 90, .storage = Storage::sparse, .element = element}};
  const Chunk chunks[] = {labels<T>(streams, lengths, 0), labels<T>(streams, lengths, 40)};
  const Plain plain[] = {plain_of(chunks[0].columns[0])};
  ASSERT_TRUE(plain[0].values);
  const auto rows = static_cast<std::uint32_t>(lengths.size());
  for (const unsigned known : {0U, 1U, 2U, 3U}) {
    std::vector<Slice> slices;
    std::vector<std::int32_t> want;
    for (std::uint32_t i = 0; i < 40; ++i) {
      const std::uint32_t row = i * 7 % rows, length = lengths[row];
      const std::uint32_t first = framed ? i % length : 0, count = framed ? 1 : length;
      const int chunk = i % 3 == 0 ? 1 : 0;
      slices.push_back(
          {&chunks[chunk], row, first, framed ? 1 : Slice::kAll, (known >> (i % 2) & 1) != 0 ? plain : nullptr});
      const std::uint32_t from = chunks[0].columns[0].first_sample[row] + first;
      for (std::uint32_t n = from; n < from + count; ++n) want.push_back(static_cast<std::int32_t>(n) + 40 * chunk);
    }
    Scratch scratch;
    Minibatch batch;
    framed ? frames(streams, slices, scratch, batch) : sequences(streams, slices, scratch, batch);
    const StreamBatch& y = batch["y"];
    EXPECT_EQ(std::vector<std::int32_t>(y.indices.begin(), y.indices.end()), want);
    ASSERT_EQ(y.sample_begin.size(), want.size() + 1);
    for (std::size_t n = 0; n < want.size(); ++n) {
      EXPECT_EQ(y.sample_begin[n + 1], static_cast<std::int64_t>(n + 1));
      EXPECT_EQ(y.as<T>()[n], static_cast<T>(want[n] % 40 + 1));
    }
  }
}

TEST(PackSequences, LabelsAreFoundByTheirSamples) {
  for (const bool framed : {false, true}) {
    expect_labels<float>(Element::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}, framed);
    expect_labels<float>(Element::f32, {5, 1, 3, 9, 2}, framed);
    expect_labels<double>(Element::f64, {5, 1, 3, 9, 2}, framed);
  }
}

TEST(PackSequences, LabelsAreOneValueInEachSample) {
  const std::vector<StreamInfo> streams = {{.name = "y", .dim = 90, .storage = Storage::sparse}};
  Chunk chunk = labels<float>(streams, {1, 1, 1}, 0);
  Column& column = chunk.columns[0];
  EXPECT_TRUE(plain_of(column).samples && plain_of(column).values);
  column.first_sample[1] = 0;
  EXPECT_TRUE(!plain_of(column).samples && plain_of(column).values);
  column.first_value[2] = 1;  // none in one sample, two in the next
  EXPECT_FALSE(plain_of(column).values);
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
  const std::vector<Piece> pieces = {{.slice = {&chunk, 0}, .count = 2, .length = 2}};
  try {
    truncated(kDense, 1, 2, pieces, scratch, batch);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "pack.truncated-lengths");
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
