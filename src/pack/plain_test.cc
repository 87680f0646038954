// SPDX-License-Identifier: MIT
//
// What is known of columns changes nothing but the time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
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

// What is to be packed in each way.
struct Given {
  std::vector<Slice> slices, frames;
  std::vector<Piece> pieces;
};

// All of a minibatch's only stream, as bytes.
std::string bytes_of(const Minibatch& batch) {
  const StreamBatch& stream = batch.streams[0];
  const auto bytes = [](const auto& buffer) {
    return std::string(reinterpret_cast<const char*>(buffer.data()), buffer.size() * sizeof(*buffer.data())) + ';';
  };
  return bytes(stream.values) + bytes(stream.indices) + bytes(stream.sample_begin) + bytes(stream.offsets) +
         text(stream.layout);
}

// However they are packed, both give the same.
void expect_alike(const std::vector<StreamInfo>& streams, const Given& want, const Given& got, std::uint32_t rows,
                  std::uint32_t steps) {
  for (const bool far : {false, true}) {
    const auto packed = [&](const Given& given) {
      Scratch scratch;
      scratch.far = far;
      Minibatch batch;
      std::vector<std::string> out;
      sequences(streams, given.slices, scratch, batch);
      out.push_back(bytes_of(batch));
      frames(streams, given.frames, scratch, batch);
      out.push_back(bytes_of(batch));
      truncated(streams, rows, steps, given.pieces, scratch, batch);
      out.push_back(bytes_of(batch));
      return out;
    };
    const std::vector<std::string> due = packed(want);
    EXPECT_GT(due[0].size(), 100u);
    EXPECT_TRUE(packed(got) == due);
  }
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
      Given want, got;
      for (std::uint32_t i = 0; i < 60; ++i) {
        const std::uint32_t row = i * 17 % 30, samples = single ? 1 : 1 + row % 3;
        const int c = i % 4 == 1 ? 1 : 0;
        const bool is_narrow = i % 5 != 2;  // of the same data
        const Slice wide_slice = {&wide[c], row};
        const Slice slice = {is_narrow ? &narrow[c] : &wide[c], row, 0, Slice::kAll, is_narrow ? bytes : known};
        for (const auto& [given, whole] : {std::pair(&want, wide_slice), std::pair(&got, slice)}) {
          given->slices.push_back(whole);
          given->frames.push_back({whole.chunk, row, i % samples, 1, whole.plain});
          if (i < 4)
            given->pieces.push_back({.slice = whole, .sequence = i, .row = i, .count = samples, .length = samples});
        }
      }
      expect_alike(streams, want, got, 4, 3);
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
  Given want, got;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t row = i % 7, length = lengths[row];
    const bool of_ones = i % 3 != 0;
    const Slice whole_slice = {of_ones ? &whole : &others, row};
    const Slice slice = {of_ones ? &ones : &others, row, 0, Slice::kAll, of_ones ? narrow : plain};
    const auto at = static_cast<std::uint32_t>(want.pieces.size());
    for (const auto& [given, all] : {std::pair(&want, whole_slice), std::pair(&got, slice)}) {
      given->slices.push_back(all);
      if (length == 0) continue;
      given->frames.push_back({all.chunk, row, i % length, 1, all.plain});
      if (at < 3) given->pieces.push_back({.slice = all, .sequence = at, .row = at, .count = length, .length = length});
    }
  }
  expect_alike(streams, want, got, 3, 9);
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
