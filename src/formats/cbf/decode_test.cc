// SPDX-License-Identifier: MIT
//
// Sparse chunks of several pieces, with sequences over their ends: the data come
// out as they went in, and damage anywhere is told with its very byte.
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/golden_testing.h"
#include "support/faulty_sys.h"
#include "support/tier.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::ScratchFolder;
using golden::Opened;

constexpr std::uint64_t kDim = 1000;

struct Sequence {
  std::vector<float> values;
  std::vector<std::int32_t> indices;
  std::vector<std::uint32_t> entries;
  std::uint64_t at = 0;  // in the file
};

// Of 0 to 60 samples with 0 to 12 entries; now and then one longer than a piece.
Sequence draw(CounterRng& rng, bool long_one) {
  Sequence s;
  const std::uint64_t samples = long_one ? Feed::kPiece / 100 : 1 + rng.below(60);
  for (std::uint64_t n = 0; n < samples; ++n) {
    const std::uint64_t entries = long_one ? 20 : rng.below(12);
    s.entries.push_back(static_cast<std::uint32_t>(entries));
    for (std::uint64_t i = 0, index = rng.below(20); i < entries; ++i, index += 1 + rng.below(50)) {
      s.indices.push_back(static_cast<std::int32_t>(index));
      s.values.push_back(static_cast<float>(rng.below(10'000)) / 16);
    }
  }
  return s;
}

class SparseChunk : public ::testing::Test {
 protected:
  SparseChunk() {
    CounterRng rng(7);
    CbfWriter writer(path(), {.streams = {{.name = "s", .dim = kDim, .storage = Storage::sparse}}});
    for (int i = 0; i < 2000; ++i) {
      corpus_.push_back(draw(rng, i % 700 == 300));
      const Sequence& s = corpus_.back();
      const SequenceData data[] = {{.samples = static_cast<std::uint32_t>(s.entries.size()),
                                    .values = s.values.data(),
                                    .indices = s.indices.data(),
                                    .entries = s.entries.data()}};
      writer.append(data);
    }
    writer.commit();
    bytes_ = content_of(path());
    std::uint64_t at = 12 + corpus_.size() * 4;
    for (Sequence& s : corpus_) {
      s.at = at;
      at += 8 + s.values.size() * 8 + s.entries.size() * 4;
    }
  }

  std::string path() const { return folder_ / "x.cbf"; }

  // The fault of the file with one word changed.
  Fault fault_with(std::uint64_t at, std::uint32_t word) const {
    std::string bytes = bytes_;
    std::memcpy(bytes.data() + at, &word, sizeof word);
    folder_.write("x.cbf", bytes);
    const Opened opened(path());
    Chunk chunk;
    try {
      opened.source->read(0, chunk);
    } catch (const Error& e) {
      return e.fault();
    }
    return opened.notices.empty() ? Fault{} : opened.notices.front().fault;
  }

  ScratchFolder folder_;
  std::vector<Sequence> corpus_;
  std::string bytes_;
};

// Indices fall from sample to sample in it, which is no damage.
TEST_F(SparseChunk, ComesOutAsItWentIn) {
  ASSERT_GT(bytes_.size(), 5 * Feed::kPiece);
  for (const auto& [tier, element] :
       {std::pair{"scalar", Element::f32}, {"avx2", Element::f32}, {"", Element::f32}, {"", Element::f64}}) {
    const testing::Tier forced(tier);
    const Opened opened(path(), {.element = element, .convert_element = true});
    Chunk chunk;
    for (int again = 0; again < 2; ++again) opened.source->read(0, chunk);  // into used memory as well
    EXPECT_TRUE(opened.notices.empty());
    const Column& column = chunk.columns[0];
    ASSERT_EQ(column.first_sample.size(), corpus_.size() + 1);
    for (std::uint32_t s = 0; s < corpus_.size(); ++s) {
      const Sequence& wanted = corpus_[s];
      ASSERT_EQ(column.samples(s), wanted.entries.size()) << s;
      std::size_t k = 0;
      for (std::uint32_t n = 0; n < column.samples(s); ++n) {
        const std::uint32_t sample = column.first_sample[s] + n;
        ASSERT_EQ(column.first_value[sample + 1] - column.first_value[sample], wanted.entries[n]) << s;
        for (std::uint32_t i = column.first_value[sample]; i < column.first_value[sample + 1]; ++i, ++k) {
          ASSERT_EQ(column.indices[i], wanted.indices[k]) << s;
          const double value =
              element == Element::f64 ? column.as<double>()[i] : static_cast<double>(column.as<float>()[i]);
          ASSERT_EQ(value, static_cast<double>(wanted.values[k])) << s;
        }
      }
    }
  }
}

// One value a sequence beside streams of three samples: the announced length is that of the longest. Every stream is
// longer than a piece and begins anywhere in one.
TEST(CbfDecode, StreamsShorterThanAnnounced) {
  constexpr std::uint32_t kSequences = Feed::kPiece / 8;
  const ScratchFolder folder;
  const std::string path = folder / "x.cbf";
  const auto value = [](std::uint32_t s, std::uint32_t stream) {
    return static_cast<float>(s % 1000) + 1000 * static_cast<float>(stream);
  };
  CbfWriter writer(
      path, {.streams = {
                 {.name = "a", .dim = 1}, {.name = "b", .dim = 1}, {.name = "c", .dim = 2}, {.name = "d", .dim = 1}}});
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    const float a = value(s, 0), b = value(s, 1), d = value(s, 3);
    const std::vector<float> c(6, value(s, 2));
    const SequenceData data[] = {{.samples = 1, .values = &a},
                                 {.samples = 1, .values = &b},
                                 {.samples = 3, .values = c.data()},
                                 {.samples = 1, .values = &d}};
    writer.append(data);
  }
  writer.commit();
  for (const Element element : {Element::f32, Element::f64}) {
    const Opened opened(path, {.element = element, .convert_element = true});
    ASSERT_EQ(opened.source->chunks().size(), 1u);
    Chunk chunk;
    opened.source->read(0, chunk);
    for (std::uint32_t stream = 0; stream < 4; ++stream) {
      const Column& column = chunk.columns[stream];
      for (std::uint32_t s = 0; s < kSequences; ++s) {
        ASSERT_EQ(column.samples(s), stream == 2 ? 3u : 1u);
        const std::uint64_t last = column.begin[s] + (stream == 2 ? 5 : 0);
        const double found =
            element == Element::f64 ? column.as<double>()[last] : static_cast<double>(column.as<float>()[last]);
        ASSERT_EQ(found, static_cast<double>(value(s, stream))) << "stream " << stream << ", sequence " << s;
      }
    }
  }
}

// Memory that grows as a chunk is read is copied, and half as much again as is needed.
TEST(CbfDecode, ReservesWhatSequencesAlikeNeed) {
  const ScratchFolder folder;
  const std::string path = folder / "alike.cbf";
  constexpr std::uint32_t kEntries = 50, kSequences = 12'000;
  std::vector<float> values(kEntries, 0.5f);
  std::vector<std::int32_t> indices(kEntries);
  for (std::uint32_t i = 0; i < kEntries; ++i) indices[i] = static_cast<std::int32_t>(i * 20);
  CbfWriter writer(path, {.streams = {{.name = "s", .dim = kDim, .storage = Storage::sparse}}});
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    const SequenceData data[] = {
        {.samples = 1, .values = values.data(), .indices = indices.data(), .entries = &kEntries}};
    writer.append(data);
  }
  writer.commit();
  ASSERT_GT(std::filesystem::file_size(path), 4 * Feed::kPiece);
  const Opened opened(path);
  Chunk chunk;
  opened.source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].indices.size(), kSequences * kEntries);
  EXPECT_LT(chunk.columns[0].indices.capacity(), kSequences * kEntries * 5 / 4);
}

TEST_F(SparseChunk, DamageAnywhereIsToldWithItsByte) {
  for (std::size_t s = 1; s < corpus_.size(); s += s < 30 ? 7 : 61) {
    const Sequence& q = corpus_[s];
    if (q.indices.size() < 2) continue;
    const std::uint64_t indices = q.at + 8 + q.values.size() * 4;
    const std::uint64_t last = indices + (q.indices.size() - 1) * 4;
    for (const std::uint32_t index : {1000u, 0x80000000u, 0xFFFFFFFFu}) {
      const Fault fault = fault_with(last, index);
      EXPECT_EQ(fault.id, "cbf.index-out-of-range");
      EXPECT_EQ(fault.at.byte, last) << s;
    }
    EXPECT_EQ(fault_with(q.at + 4, 0x80000000u).at.byte, q.at + 4);
    const Fault sizes = fault_with(last + 4, q.entries.front() + 1);
    EXPECT_EQ(sizes.id, "cbf.bad-sample-sizes");
    EXPECT_EQ(sizes.at.byte, last + 4);
    // An index as its neighbour, if both are of one sample.
    std::size_t first = 0;
    for (const std::uint32_t entries : q.entries) {
      if (entries >= 2) {
        const std::uint64_t second = indices + (first + 1) * 4;
        const Fault twice = fault_with(second, static_cast<std::uint32_t>(q.indices[first]));
        EXPECT_EQ(twice.id, "cbf.duplicate-index");
        EXPECT_EQ(twice.at.byte, second);
        break;
      }
      first += entries;
    }
  }
}

}  // namespace
}  // namespace batchfeed::cbf
