// SPDX-License-Identifier: MIT
//
// The words in which `diff` tells the difference of two sequences (docs/reference/cli.md).
#include "tools/compare_rows.h"

#include <batchfeed/tools.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "tools/testing.h"

namespace batchfeed {
namespace {

// Sequence 0 of a text with these lines; a line without stream t gets "|t 0:1".
class Text {
 public:
  Text(const testing::ScratchFolder& folder, const std::string& name, const std::string& lines, Element element) {
    std::string content, line;
    for (std::istringstream in(lines); std::getline(in, line);)
      content += line + (line.find("|t") == line.npos ? " |t 0:1\n" : "\n");
    CtfOptions options;
    options.files = {folder.write(name, content)};
    options.streams = {{.name = "v", .dim = 2}, {.name = "t", .storage = Storage::sparse, .dim = 9}};
    options.element = element;
    source = open_source(options);
    source->read(0, chunk);
  }
  std::unique_ptr<Source> source;
  Chunk chunk;
};

TEST(CompareRows, SaysWhatDiffersFirst) {
  const testing::ScratchFolder folder;
  const struct {
    const char *a, *b;
    double tolerance;
    std::string what;
  } cases[] = {
      {"0 |v 1 2 |t 3:1 1:2", "0 |v 1 2 |t 1:2 3:1", 0, ""},
      {"0 |v 1 2", "0 |v 1 3", 0, "stream 'v', sample 0: [1] is 2 and 3"},
      {"0 |v 1 2 |t 1:1", "0 |v 1 2 |t 1:2", 0, "stream 't', sample 0: [1] is 1 and 2"},
      // At most the tolerance times the larger of both, or of 1.
      {"0 |v 0 2", "0 |v 0 2.5", 0.2, ""},
      {"0 |v 0 2.5", "0 |v 0 2", 0.2, ""},
      {"0 |v 0 -2", "0 |v 0 -2.5", 0.2, ""},
      {"0 |v 0 2", "0 |v 0 2.5", 0.1875, "stream 'v', sample 0: [1] is 2 and 2.5"},
      {"0 |v 0 0.25", "0 |v 0 0.5", 0.25, ""},
      {"0 |v 0 0.25", "0 |v 0 0.5", 0.125, "stream 'v', sample 0: [1] is 0.25 and 0.5"},
      {"0 |v -1 0", "0 |v 1 0", 1, "stream 'v', sample 0: [0] is -1 and 1"},
      {"0 |v 1e40 0", "0 |v 1e40 0", 0, ""},
      // A stored zero differs from a value that is not stored.
      {"0 |v 1 2 |t 4:0", "0 |v 1 2 |t 4:0", 0, ""},
      {"0 |v 1 2 |t 4:0 5:1", "0 |v 1 2 |t 5:1", 0, "stream 't', sample 0: [4] is 0 and not there"},
      {"0 |v 1 2 |t 5:1", "0 |v 1 2 |t 4:3 5:1", 0, "stream 't', sample 0: [4] is not there and 3"},
      {"0 |v 1 2 |t 4:1 5:7", "0 |v 1 2 |t 4:1", 0, "stream 't', sample 0: [5] is 7 and not there"},
      {"0 |v 1 2 |t 4:1", "0 |v 1 2 |t 4:1 5:7", 0, "stream 't', sample 0: [5] is not there and 7"},
      {"0 |v 1 2 |t 4:1 4:2", "0 |v 1 2 |t 4:2 4:1", 0, "stream 't', sample 0: [4] is 1 and 2"},
      // First the samples are compared one by one, then their number.
      {"0 |v 1 2\n0 |v 3 4", "0 |v 1 2\n0 |v 3 5", 0, "stream 'v', sample 1: [1] is 4 and 5"},
      {"0 |v 1 2\n0 |v 3 4", "0 |v 1 2", 0, "stream 'v': 2 samples and 1"},
      {"0 |v 1 2", "0 |v 1 2\n0 |v 3 4", 9, "stream 'v': 1 sample and 2"},
      {"0 |v 1 2\n0 |v 3 4", "0 |v 1 9", 0, "stream 'v', sample 0: [1] is 2 and 9"},
  };
  for (const auto& c : cases) {
    for (const Element element : {Element::f32, Element::f64}) {
      const Text a(folder, "a", c.a, element), b(folder, "b", c.b, element);
      const RowDifference found = compare_rows(a.source->streams(), a.chunk, 0, b.chunk, 0, c.tolerance);
      EXPECT_EQ(found.what, c.what) << c.a;
      EXPECT_EQ(found.differ, !c.what.empty()) << c.a;
      if (!found.differ) continue;
      EXPECT_EQ(found.samples_a, c.what[8] == 'v' ? a.chunk.columns[0].samples(0) : 1u) << c.a;
      EXPECT_EQ(found.samples_b, c.what[8] == 'v' ? b.chunk.columns[0].samples(0) : 1u) << c.a;
    }
  }
}

TEST(CompareRows, NoToleranceMakesInfinityTheSameAsAnotherValue) {
  const testing::ScratchFolder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"0 |v 1e999 0", "0 |v 5 0"}, {"0 |v 5 0", "0 |v 1e999 0"}, {"0 |v 1e999 0", "0 |v -1e999 0"}};
  for (const auto& [first, second] : cases) {
    for (const Element element : {Element::f32, Element::f64}) {
      const Text a(folder, "a", first, element), b(folder, "b", second, element);
      EXPECT_TRUE(compare_rows(a.source->streams(), a.chunk, 0, b.chunk, 0, 0.5).differ) << first << second;
      EXPECT_FALSE(compare_rows(a.source->streams(), a.chunk, 0, a.chunk, 0, 0.5).differ) << first;
    }
  }
}

TEST(CompareRows, TheSampleThatDiffersIsNumbered) {
  const testing::ScratchFolder folder;
  const Text a(folder, "a", "0 |v 1 2\n0 |v 3 4\n0 |v 5 6\n", Element::f32);
  const Text b(folder, "b", "0 |v 1 2\n0 |v 3 4\n0 |v 5 7\n", Element::f32);
  const Text shorter(folder, "c", "0 |v 1 2\n0 |v 3 4\n", Element::f32);
  EXPECT_EQ(compare_rows(a.source->streams(), a.chunk, 0, b.chunk, 0, 0).sample, 2u);
  EXPECT_EQ(compare_rows(a.source->streams(), a.chunk, 0, shorter.chunk, 0, 0).sample, 2u) << "the first of one alone";
}

TEST(CompareRows, DoublesBecomeTheFloatsNextToThem) {
  const testing::ScratchFolder folder;
  Text wide(folder, "a", "0 |v 0.1 -3 |t 4:0.7\n0 |v 5 6\n", Element::f64);
  const std::shared_ptr<const Source> narrow = as_floats(std::move(wide.source));
  for (const StreamInfo& stream : narrow->streams()) EXPECT_EQ(stream.element, Element::f32);
  EXPECT_EQ(narrow->row_reader(0), nullptr) << "which would give doubles";
  Chunk chunk;
  narrow->read(0, chunk);
  const float* const dense = chunk.columns[0].as<float>();
  EXPECT_EQ(chunk.columns[0].values.size(), 4 * sizeof(float));
  EXPECT_EQ(dense[0], 0.1f);
  EXPECT_EQ(dense[1], -3.0f);
  EXPECT_EQ(dense[3], 6.0f);
  EXPECT_EQ(chunk.columns[1].as<float>()[0], 0.7f);
}

}  // namespace
}  // namespace batchfeed
