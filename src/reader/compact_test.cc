// SPDX-License-Identifier: MIT
//
// Whatever a window keeps of pixels and labels, what comes out of it is the same.
#include "reader/compact.h"

#include <batchfeed/reader.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pack/narrow.h"

namespace batchfeed::reader {
namespace {

constexpr std::uint32_t kChunks = 3, kRows = 50;

// Two streams of pixels, one of them of many values a sequence, and labels. Says that a chunk is large.
class Pixels final : public Source, private RowReader {
 public:
  explicit Pixels(bool cut, std::uint64_t bytes = 8 << 20) : cut_(cut) {
    std::mt19937 random(7);
    std::uint64_t key = 0;
    for (auto& table : tables_) {
      chunks_.push_back({.sequences = kRows, .bytes = bytes});
      for (std::uint32_t r = 0; r < kRows; ++r, ++key)
        table.push_back({key, r, 1 + static_cast<std::uint32_t>(random() % 3)});
      for (const SequenceInfo& s : table) chunks_.back().samples += s.samples;
    }
    rows_ = tables_;
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { out = tables_[chunk]; }
  void read(std::uint32_t chunk, Chunk& out) const override { read(chunk, {0, kRows}, out); }
  const RowReader* row_reader(std::uint32_t) const override { return cut_ ? this : nullptr; }

  float odd = 255;  // the first value of sequences that have one
  std::set<std::uint64_t> odd_keys, damaged_keys;
  std::set<std::uint64_t> twos, pairs;  // sequences whose first label is a 2, or two
  std::uint32_t further = 0;            // rows that read() gives behind those asked for
  // Leaves the row of a sequence out of the table.
  void leave_out(std::uint64_t key) {
    const std::uint64_t chunk = key / kRows;
    chunks_[chunk].samples -= rows_[chunk][key % kRows].samples;
    --chunks_[chunk].sequences;
    std::erase_if(tables_[chunk], [&](const SequenceInfo& s) { return s.key == key; });
  }

 private:
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    out.clear();
    for (SequenceInfo s : tables_[chunk]) {
      if (s.row < rows.first || s.row >= rows.last) continue;
      s.row -= rows.first;
      out.push_back(s);
    }
  }
  bool may_be_narrow(std::uint32_t, std::size_t stream) const override { return stream != 3; }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    out.reset(streams_);
    rows.last = std::min(rows.last + further, kRows);
    for (std::uint32_t r = rows.first; r < rows.last; ++r) {
      const SequenceInfo& s = rows_[chunk][r];
      for (std::size_t stream = 0; stream < streams_.size(); ++stream) append(s, stream, out.columns[stream]);
      if (damaged_keys.count(s.key) == 0) continue;
      out.invalid.resize(rows.last - rows.first, Chunk::kValid);
      out.invalid[r - rows.first] = Chunk::kUnpaid;
    }
  }
  void append(const SequenceInfo& s, std::size_t stream, Column& out) const {
    const std::uint32_t samples = stream == 1 ? 1 : s.samples;
    out.first_sample.push_back(out.first_sample.back() + samples);
    if (out.storage == Storage::sparse) {
      for (std::uint32_t i = 0; i < samples; ++i) {
        for (std::size_t n = 1 + (i == 0 ? pairs.count(s.key) : 0); n > 0; --n) {
          out.indices.push_back(static_cast<std::int32_t>((s.key + i) % 10));
          push(i == 0 && twos.count(s.key) != 0 ? 2 : 1, out);
        }
        out.first_value.push_back(static_cast<std::uint32_t>(out.indices.size()));
      }
      return;
    }
    out.begin.push_back(out.values.size() / sizeof(float));
    for (std::uint64_t i = 0; i < samples * out.dim; ++i)
      push(i == 0 && stream == 0 && odd_keys.count(s.key) != 0 ? odd : static_cast<float>((s.key * 31 + i) % 256), out);
  }
  static void push(float value, Column& out) {
    out.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
  }

  bool cut_;
  std::vector<StreamInfo> streams_ = {{.name = "long", .dim = 20},
                                      {.name = "one", .dim = 33},
                                      {.name = "label", .dim = 10, .storage = Storage::sparse},
                                      {.name = "unlooked", .dim = 16},
                                      {.name = "small", .dim = 2}};
  std::vector<ChunkInfo> chunks_;
  std::array<std::vector<SequenceInfo>, kChunks> tables_, rows_;
};

template <class T>
std::vector<T> list(const Buffer<T>& buffer) {
  return {buffer.begin(), buffer.end()};
}

// `narrow`: how many of the chunk's dense columns are; of the sparse ones, if each sample is a 1.
void expect_same(const Pixels& source, std::uint32_t id, int narrow, bool ones = true, bool reuse = true) {
  SCOPED_TRACE("chunk " + std::to_string(id));
  Compactor compactor(source, reuse);
  Chunk want, got;
  std::vector<pack::Plain> known;
  source.read(id, want);
  for (int turn = 0; turn < 2; ++turn) {  // again in the same memory
    compactor.read(id, kRows, got, known);
    ASSERT_EQ(known.size(), source.streams().size());
    EXPECT_EQ(got.invalid, want.invalid);
    int count = 0;
    for (std::size_t s = 0; s < known.size(); ++s) {
      const Column &a = want.columns[s], &b = got.columns[s];
      EXPECT_EQ(list(b.first_sample), list(a.first_sample));
      EXPECT_EQ(list(b.begin), list(a.begin));
      EXPECT_EQ(list(b.indices), list(a.indices));
      if (a.storage == Storage::sparse) {
        EXPECT_EQ(known[s].narrow, ones);
        EXPECT_TRUE(known[s].values || !ones);
        if (ones) continue;
      }
      EXPECT_EQ(list(b.first_value), list(a.first_value));
      if (!known[s].narrow) {
        ASSERT_EQ(b.values.size(), a.values.size());
        EXPECT_EQ(std::memcmp(b.values.data(), a.values.data(), a.values.size()), 0);
        continue;
      }
      ++count;
      ASSERT_EQ(b.values.size() * sizeof(float), a.values.size());
      std::vector<float> wide(b.values.size());
      pack::widen(reinterpret_cast<const std::uint8_t*>(b.values.data()), wide.size(), wide.data());
      EXPECT_EQ(std::memcmp(wide.data(), a.values.data(), a.values.size()), 0);
    }
    EXPECT_EQ(count, narrow);
    EXPECT_EQ(known[1].samples, true);
  }
}

TEST(Compactor, KeepsPixelsInBytes) {
  Pixels source(true);
  for (std::uint32_t c = 0; c < kChunks; ++c) expect_same(source, c, 2);
  source.damaged_keys = {0, 3, kRows - 1, kRows + 30};
  for (std::uint32_t c = 0; c < kChunks; ++c) expect_same(source, c, 2);
}

TEST(Compactor, LeavesSmallChunksAndWhatCannotBeCut) {
  for (std::uint32_t c = 0; c < kChunks; ++c) {
    expect_same(Pixels(true, 1 << 20), c, 0);
    expect_same(Pixels(false), c, 0);
  }
}

TEST(Compactor, WidensWhatTurnsOutToBeNoPixel) {
  for (const float odd : {-0.0F, 0.5F, 256.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    for (const std::uint64_t key : {0U, 1U, 24U, 49U}) {
      Pixels source(true);
      source.odd = odd;
      source.odd_keys = {key};
      expect_same(source, 0, 1);
      expect_same(source, 1, 2);
    }
  }
}

TEST(Compactor, KeepsOfOnesTheIndicesAlone) {
  for (const bool cut : {false, true}) {
    for (const bool reuse : {false, true}) {
      Pixels source(cut);
      const int narrow = cut ? 2 : 0;
      source.twos = {kRows + 30};
      source.pairs = {2 * kRows};
      for (const std::uint32_t c : {0U, 1U, 2U}) expect_same(source, c, narrow, c == 0, reuse);
    }
  }
}

// What a chunk takes, with a limit of memory, is the same whatever was read before.
TEST(Compactor, WithoutReuseAChunkTakesWhatItNeeds) {
  Pixels source(false);
  source.pairs = {2 * kRows};
  const auto memory = [&](std::initializer_list<std::uint32_t> ids) {
    Compactor compactor(source, false);
    std::vector<pack::Plain> known;
    std::uint64_t last = 0;
    for (const std::uint32_t id : ids) {
      Chunk chunk;
      compactor.read(id, kRows, chunk, known);
      last = chunk.memory();
    }
    return last;
  };
  EXPECT_EQ(memory({0}), memory({2, 1, 0}));
  EXPECT_EQ(memory({2}), memory({0, 1, 2}));
  EXPECT_LT(memory({0}), memory({2}));
}

std::vector<std::byte> all_of(const std::shared_ptr<const Source>& source) {
  ReaderOptions options;
  options.minibatch_size = {37};
  options.max_invalid = 100;
  Reader reader(source, options);
  std::vector<std::byte> out;
  for (const std::uint64_t epoch : {0U, 1U}) {
    if (epoch != 0) reader.begin_epoch(epoch);
    for (auto batch = reader.next(); batch; batch = reader.next()) {
      for (const StreamBatch& s : batch->streams) {
        const auto add = [&out](const auto& buffer) {
          const auto* const bytes = reinterpret_cast<const std::byte*>(buffer.data());
          out.insert(out.end(), bytes, bytes + buffer.size() * sizeof(*buffer.data()));
        };
        add(s.values);
        add(s.indices);
        add(s.sample_begin);
        add(s.offsets);
      }
    }
  }
  return out;
}

TEST(Compactor, ChangesNoMinibatch) {
  const auto cut = std::make_shared<Pixels>(true), whole = std::make_shared<Pixels>(false);
  for (Pixels* source : {cut.get(), whole.get()}) {
    source->odd = 0.25F;
    // The last chunk has a wide column where the others are narrow, and the second has labels that are no ones.
    source->odd_keys = {2 * kRows + 20};
    source->twos = {kRows + 7};
    source->pairs = {kRows + 8};
  }
  const std::vector<std::byte> want = all_of(whole);
  EXPECT_GT(want.size(), 2 * kChunks * kRows * 33 * sizeof(float));
  EXPECT_TRUE(all_of(cut) == want);
}

// Rows that no table lists are read with those around them: a chunk that has some is not put together from parts.
TEST(Compactor, ReadsChunksThatHaveFurtherRowsWhole) {
  for (const std::uint32_t further : {0u, 1u, 7u}) {
    const auto cut = std::make_shared<Pixels>(true), whole = std::make_shared<Pixels>(false);
    for (Pixels* source : {cut.get(), whole.get()}) {
      source->further = further;
      for (const std::uint64_t key : {3u, 20u, kRows - 1, kRows}) source->leave_out(key);
      source->damaged_keys = {5, 2 * kRows + 9};
    }
    EXPECT_TRUE(all_of(cut) == all_of(whole)) << further;
  }
}

}  // namespace
}  // namespace batchfeed::reader
