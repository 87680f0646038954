// SPDX-License-Identifier: MIT
//
// That slices follow one another changes nothing but the time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pack/pack.h"
#include "pack/testing.h"

namespace batchfeed::pack {
namespace {

const std::vector<StreamInfo> kStreams = {
    {.name = "windows", .dim = 3},
    {.name = "rows", .dim = 2},
    {.name = "bytes", .dim = 2},
    {.name = "repeated", .dim = 2},
    {.name = "bag", .dim = 7, .storage = Storage::sparse, .element = Element::f64},
    {.name = "label", .dim = 90, .storage = Storage::sparse},
    {.name = "ones", .dim = 90, .storage = Storage::sparse},
};
const Plain kPlain[] = {{}, {}, {.narrow = true}, {}, {}, {.values = true}, {.values = true, .narrow = true}};
const Plain kPlainOfOneEach[] = {{.samples = true},
                                 {.samples = true},
                                 {.samples = true, .narrow = true},
                                 {},
                                 {.samples = true},
                                 {.samples = true, .values = true},
                                 {.samples = true, .values = true, .narrow = true}};

template <class T>
void append(Column& column, T value) {
  column.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
}

// The same where "bytes" are kept as what they are, and less is known.
const std::vector<Plain> kPlainOfWide = [] {
  std::vector<Plain> out(std::begin(kPlainOfOneEach), std::end(kPlainOfOneEach));
  out[0].samples = out[2].narrow = false;
  return out;
}();

// Every stream with sequences of these lengths. Values tell where they are from.
Chunk chunk_of(const std::vector<std::uint32_t>& lengths, bool narrow = true) {
  Chunk chunk;
  chunk.reset(kStreams);
  std::vector<Column>& all = chunk.columns;
  Column &windows = all[0], &rows = all[1], &bytes = all[2], &repeated = all[3];
  Column &bag = all[4], &label = all[5], &ones = all[6];
  windows.step = 1;
  repeated.step = 0;
  std::uint32_t sample = 0;
  for (const std::uint32_t length : lengths) {
    windows.begin.push_back(windows.values.size() / sizeof(float));
    rows.begin.push_back(std::uint64_t{2} * sample);
    bytes.begin.push_back(std::uint64_t{2} * sample);
    repeated.begin.push_back(repeated.values.size() / sizeof(float));
    for (std::uint32_t i = 0; i < length + 2; ++i) append(windows, static_cast<float>(100 + sample + i));
    for (const float side : {0.25F, 0.5F}) append(repeated, static_cast<float>(sample) + side);
    for (std::uint32_t i = 0; i < length; ++i, ++sample) {
      for (const float side : {0.0F, 0.5F}) append(rows, static_cast<float>(sample) + side);
      for (const std::uint32_t side : {0u, 7u}) {
        narrow ? append(bytes, static_cast<std::uint8_t>(sample + side))
               : append(bytes, static_cast<float>(sample + side));
      }
      for (std::uint32_t k = 0; k < sample % 4; ++k) {
        append(bag, 10.0 * sample + k);
        bag.indices.push_back(static_cast<std::int32_t>(k));
      }
      append(label, static_cast<float>(sample) + 0.75F);
      for (Column* const column : {&label, &ones}) column->indices.push_back(static_cast<std::int32_t>(sample));
      for (Column* const column : {&bag, &label, &ones})
        column->first_value.push_back(static_cast<std::uint32_t>(column->indices.size()));
    }
    for (Column& column : all) column.first_sample.push_back(sample);
  }
  return chunk;
}

template <class T>
std::string raw(const Buffer<T>& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size() * sizeof(T)};
}

// The values and indices of each stream, the samples of its sequences, and the entries of its samples.
std::vector<std::string> told(const Minibatch& batch) {
  std::vector<std::string> out;
  for (const StreamBatch& s : batch.streams) {
    out.push_back(raw(s.values));
    out.push_back(raw(s.indices));
    std::string lengths, entries;
    for (std::size_t i = 1; i < s.offsets.size(); ++i) lengths += ' ' + std::to_string(s.offsets[i] - s.offsets[i - 1]);
    for (std::size_t i = 1; i < s.sample_begin.size(); ++i)
      entries += ' ' + std::to_string(s.sample_begin[i] - s.sample_begin[i - 1]);
    out.push_back(lengths);
    out.push_back(entries);
  }
  return out;
}

template <class Pack>
void expect_each_as_alone(const std::vector<Slice>& slices, const Pack& pack) {
  Scratch scratch;
  Minibatch batch;
  pack(slices, scratch, batch);
  const std::vector<std::string> got = told(batch);
  std::vector<std::string> due(got.size());
  for (const Slice& slice : slices) {
    pack({&slice, 1}, scratch, batch);
    const std::vector<std::string> one = told(batch);
    for (std::size_t i = 0; i < due.size(); ++i) due[i] += one[i];
  }
  RC_ASSERT(got == due);
}

const auto kSequences = [](std::span<const Slice> slices, Scratch& scratch, Minibatch& batch) {
  sequences(kStreams, slices, scratch, batch);
};
const auto kFrames = [](std::span<const Slice> slices, Scratch& scratch, Minibatch& batch) {
  frames(kStreams, slices, scratch, batch);
};

// A stretch of a chunk: rows, or frames of one row, from a place on.
struct Stretch {
  std::uint32_t chunk, begin, count;
};

std::vector<Stretch> stretches(const std::vector<std::uint16_t>& drawn) {
  std::vector<Stretch> out{{0, 0, 5}};  // the first few tell that the others may be in order, too
  for (const std::uint16_t d : drawn) out.push_back({d % 2u, d / 2u % 20, 1u + d / 40 % 9});
  return out;
}

TEST(InOrder, SequencesOfAnyLengthsAreEachAsAlone) {
  EXPECT_TRUE(
      rc::check([](const std::vector<std::uint8_t>& lengths, const std::vector<std::uint16_t>& drawn, bool known) {
        std::vector<std::uint32_t> all[2];
        for (std::uint32_t r = 0; r < 30; ++r) {
          for (std::uint32_t c = 0; c < 2; ++c)
            all[c].push_back(lengths.empty() ? c : lengths[(r + 7 * c) % lengths.size()] % 4u);
        }
        const Chunk chunks[] = {chunk_of(all[0]), chunk_of(all[1])};
        std::vector<Slice> slices;
        for (const Stretch& s : stretches(drawn)) {
          for (std::uint32_t r = s.begin; r < s.begin + s.count; ++r)
            slices.push_back({&chunks[s.chunk], r, 0, Slice::kAll, kPlain});
          if (known && all[s.chunk][s.begin] > 1) slices.back() = {&chunks[s.chunk], s.begin, 1, 1, kPlain};  // a part
        }
        expect_each_as_alone(slices, kSequences);
      }));
}

TEST(InOrder, SamplesAreEachAsAlone) {
  const std::vector<std::uint32_t> ones(30, 1);
  const Chunk chunks[] = {chunk_of(ones), chunk_of(ones, false)};
  for (std::size_t i = 0; i < kStreams.size(); ++i)
    ASSERT_TRUE(plain_of(chunks[0].columns[i]).samples || !kPlainOfOneEach[i].samples);
  EXPECT_TRUE(rc::check([&](const std::vector<std::uint16_t>& drawn) {
    std::vector<Slice> slices;
    for (const Stretch& s : stretches(drawn)) {
      const Plain* const plain = s.chunk == 0 ? kPlainOfOneEach : kPlainOfWide.data();
      for (std::uint32_t r = s.begin; r < s.begin + s.count; ++r) {
        const std::uint32_t count = s.count % 3 == 0 ? 1 : Slice::kAll;
        slices.push_back({&chunks[s.chunk], r, 0, count, plain});
      }
    }
    expect_each_as_alone(slices, kSequences);
    expect_each_as_alone(slices, kFrames);
  }));
}

// A minibatch that has a chunk to itself is as one that copies what it needs of it.
TEST(InOrder, AChunkHandedOverIsAsOneThatIsCopied) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& drawn, bool alike, bool known, bool narrow) {
    std::vector<std::uint32_t> lengths;
    for (const std::uint8_t d : drawn) lengths.push_back(alike ? 1u : d % 4u);
    if (lengths.empty()) lengths.push_back(1);
    Chunk chunk = chunk_of(lengths, narrow || !alike);
    const Plain* const plain = !alike ? kPlain : narrow ? kPlainOfOneEach : kPlainOfWide.data();
    std::vector<Slice> slices;
    for (std::uint32_t r = 0; r < lengths.size(); ++r) slices.push_back({&chunk, r, 0, Slice::kAll, plain});
    Scratch scratch;
    Minibatch copied, own;
    sequences(kStreams, slices, scratch, copied);
    if (known) sequences(kStreams, slices, scratch, own);  // has memory of its own to give in return
    const std::byte* const values = chunk.columns[1].values.data();
    scratch.whole = &chunk;
    sequences(kStreams, slices, scratch, own);
    RC_ASSERT(told(own) == told(copied));
    for (std::size_t s = 0; s < kStreams.size(); ++s)
      RC_ASSERT(text(own.streams[s].layout) == text(copied.streams[s].layout));
    // Stream by stream: what can be handed over was, if the slices were seen to be in order.
    if (alike || lengths.size() >= 4) RC_ASSERT(own.streams[1].values.data() == values);
  }));
}

TEST(InOrder, FramesAreEachAsAlone) {
  const Chunk chunks[] = {chunk_of({30, 0, 30}), chunk_of({1, 30, 30})};
  EXPECT_TRUE(rc::check([&](const std::vector<std::uint16_t>& drawn) {
    std::vector<Slice> slices;
    for (const Stretch& s : stretches(drawn)) {
      const std::uint32_t row = s.chunk == 0 ? 2 * (s.begin % 2) : 1 + s.begin % 2;
      for (std::uint32_t i = s.begin; i < s.begin + s.count; ++i)
        slices.push_back({&chunks[s.chunk], row, i, 1, kPlain});
    }
    expect_each_as_alone(slices, kFrames);
    expect_each_as_alone(slices, kSequences);
  }));
}

}  // namespace
}  // namespace batchfeed::pack
