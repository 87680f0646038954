// SPDX-License-Identifier: MIT
//
// What is known of columns changes nothing but the time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <string>

#include "pack/pack.h"
#include "pack/testing.h"

namespace batchfeed::pack {
namespace {

// Rows of one sample each, drawn from several chunks in any order.
TEST(Plain, RowsAreFoundByTheirNumbers) {
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

TEST(Plain, IsOneSampleEachInItsPlace) {
  EXPECT_TRUE(plain_of(dense_chunk({1, 1, 1}).columns[0]).samples);
  EXPECT_FALSE(plain_of(dense_chunk({1, 2, 1}).columns[0]).samples);
  Chunk moved = dense_chunk({1, 1});
  std::swap(moved.columns[0].begin[0], moved.columns[0].begin[1]);
  EXPECT_FALSE(plain_of(moved.columns[0]).samples);
}

// What is kept in bytes comes as what it was, however it is packed and beside whatever else.
TEST(Plain, NarrowIsAsWide) {
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

TEST(Plain, LabelsAreFoundByTheirSamples) {
  for (const bool framed : {false, true}) {
    expect_labels<float>(Element::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}, framed);
    expect_labels<float>(Element::f32, {5, 1, 3, 9, 2}, framed);
    expect_labels<double>(Element::f64, {5, 1, 3, 9, 2}, framed);
  }
}

// Columns that keep nothing but the indices, beside others and the same with all that is known: in the same
// minibatches.
template <class T>
void expect_ones(Element element) {
  const std::vector<StreamInfo> streams = {{.name = "y", .dim = 90, .storage = Storage::sparse, .element = element}};
  const std::vector<std::uint32_t> lengths = {5, 0, 1, 3, 9, 0, 2};
  const Chunk others = labels<T>(streams, lengths, 0);
  Chunk whole = labels<T>(streams, lengths, 40), ones = labels<T>(streams, lengths, 40);
  std::fill_n(whole.columns[0].as<T>(), whole.columns[0].indices.size(), T{1});
  ones.columns[0].values = {};
  ones.columns[0].first_value = {};
  const Plain plain[] = {plain_of(others.columns[0])}, narrow[] = {{.values = true, .narrow = true}};
  std::vector<Slice> want_slices, got_slices, want_frames, got_frames;
  std::vector<Piece> want_pieces, got_pieces;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t row = i % 7, length = lengths[row];
    const bool of_ones = i % 3 != 0;
    want_slices.push_back({of_ones ? &whole : &others, row});
    got_slices.push_back({of_ones ? &ones : &others, row, 0, Slice::kAll, of_ones ? narrow : plain});
    if (length == 0) continue;
    for (auto [slices, frames] : {std::pair(&want_slices, &want_frames), std::pair(&got_slices, &got_frames)}) {
      frames->push_back(slices->back());
      frames->back().first = i % length;
      frames->back().count = 1;
    }
    if (want_pieces.size() == 3) continue;
    const auto at = static_cast<std::uint32_t>(want_pieces.size());
    for (auto [slices, pieces] : {std::pair(&want_slices, &want_pieces), std::pair(&got_slices, &got_pieces)})
      pieces->push_back({.slice = slices->back(), .sequence = at, .row = at, .count = length, .length = length});
  }
  Scratch scratch;
  Minibatch want, got;
  const auto expect_same = [&] {
    const StreamBatch &a = want["y"], &b = got["y"];
    const auto bytes = [](const auto& buffer) {
      return std::string(reinterpret_cast<const char*>(buffer.data()), buffer.size() * sizeof(*buffer.data()));
    };
    EXPECT_FALSE(a.values.empty());
    EXPECT_TRUE(bytes(b.values) == bytes(a.values));
    EXPECT_TRUE(bytes(b.indices) == bytes(a.indices));
    EXPECT_TRUE(bytes(b.sample_begin) == bytes(a.sample_begin));
    EXPECT_TRUE(bytes(b.offsets) == bytes(a.offsets));
  };
  sequences(streams, want_slices, scratch, want);
  sequences(streams, got_slices, scratch, got);
  expect_same();
  frames(streams, want_frames, scratch, want);
  frames(streams, got_frames, scratch, got);
  expect_same();
  truncated(streams, 3, 9, want_pieces, scratch, want);
  truncated(streams, 3, 9, got_pieces, scratch, got);
  expect_same();
}

TEST(Plain, OnesArePackedFromTheirIndices) {
  expect_ones<float>(Element::f32);
  expect_ones<double>(Element::f64);
}

TEST(Plain, LabelsAreOneValueInEachSample) {
  const std::vector<StreamInfo> streams = {{.name = "y", .dim = 90, .storage = Storage::sparse}};
  Chunk chunk = labels<float>(streams, {1, 1, 1}, 0);
  Column& column = chunk.columns[0];
  EXPECT_TRUE(plain_of(column).samples && plain_of(column).values);
  column.first_sample[1] = 0;
  EXPECT_TRUE(!plain_of(column).samples && plain_of(column).values);
  column.first_value[2] = 1;  // none in one sample, two in the next
  EXPECT_FALSE(plain_of(column).values);
}

}  // namespace
}  // namespace batchfeed::pack
