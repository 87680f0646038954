// SPDX-License-Identifier: MIT
//
// A writer that ran out of memory is done, or it goes on as if the sequence had never come: no file
// has a part of one.
#include <batchfeed/error.h>
#include <batchfeed/source.h>
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <new>
#include <numeric>
#include <span>
#include <vector>

#include "formats/cbf/cbf.h"
#include "support/allocations.h"
#include "support/faulty_sys.h"

namespace batchfeed::testing {
namespace {

// Sequences of so many samples: x counts up from the number of samples, w has the first values of x for indices.
void append(CbfWriter& writer, std::uint32_t samples) {
  std::vector<float> x(samples), w(samples, 1);
  std::vector<std::int32_t> indices(samples);
  const std::vector<std::uint32_t> entries(samples, 1);
  std::iota(x.begin(), x.end(), static_cast<float>(samples));
  std::iota(indices.begin(), indices.end(), static_cast<std::int32_t>(samples));
  const std::array<SequenceData, 2> sequence{
      SequenceData{.samples = samples, .values = x.data()},
      SequenceData{.samples = samples, .values = w.data(), .indices = indices.data(), .entries = entries.data()}};
  writer.append(sequence);
}

// The numbers of samples of all sequences, whose values must be those that append() gave.
std::vector<std::uint32_t> lengths_in(const std::string& path) {
  const auto source = cbf::open({.files = {path}}, path, OpenContext());
  std::vector<std::uint32_t> out;
  for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
    Chunk chunk;
    source->read(c, chunk);
    const Column &x = chunk.columns[0], &w = chunk.columns[1];
    for (std::uint32_t row = 0; row + 1 < x.first_sample.size(); ++row) {
      const std::uint32_t samples = x.samples(row);
      EXPECT_EQ(w.samples(row), samples);
      for (std::uint32_t i = 0; i < samples; ++i) {
        EXPECT_EQ(x.as<float>()[x.begin[row] + i], static_cast<float>(samples + i));
        EXPECT_EQ(w.indices[w.first_value[w.first_sample[row] + i]], static_cast<std::int32_t>(samples + i));
      }
      out.push_back(samples);
    }
  }
  return out;
}

TEST(Writers, ThatRanOutOfMemoryWriteNoPartOfASequence) {
  const ScratchFolder folder;
  const std::string path = folder / "t.cbf";
  std::size_t done = 0, went_on = 0;
  for (std::int64_t n = 0;; ++n) {
    ASSERT_LT(n, 1000) << "no end in sight";
    std::filesystem::remove(path);
    CbfWriter writer(path,
                     {.streams = {{.name = "x", .dim = 1, .storage = Storage::dense, .element = Element::f32},
                                  {.name = "w", .dim = 9000, .storage = Storage::sparse, .element = Element::f32}}});
    append(writer, 3);
    allocation_failed = false;
    allocations_left = n;
    try {
      append(writer, 2000);
    } catch (const std::bad_alloc&) {
    }
    allocations_left = -1;
    const bool failed = allocation_failed;
    try {
      append(writer, 5);
      writer.commit();
      EXPECT_EQ(lengths_in(path),
                failed ? (std::vector<std::uint32_t>{3, 5}) : (std::vector<std::uint32_t>{3, 2000, 5}));
      went_on += failed ? 1U : 0U;
    } catch (const Error& e) {
      ASSERT_TRUE(failed);
      EXPECT_EQ(e.fault().id, "io.written");
      EXPECT_FALSE(std::filesystem::exists(path));
      ++done;
    }
    if (!failed) break;
  }
  EXPECT_GT(done, 2u);
  EXPECT_GT(went_on, 2u);
}

}  // namespace
}  // namespace batchfeed::testing
