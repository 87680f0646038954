// SPDX-License-Identifier: MIT
//
// Rows of chunks read without the others are those of whole chunks, with the same faults
// and notices, whatever the lengths in the file say and whatever is wrong with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "formats/cbf/both_ways_testing.h"
#include "formats/cbf/forecast.h"
#include "formats/cbf/fuzz_build_testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::ScratchFolder;
using testing::Given;
using testing::read_all;

// How far a made file keeps to what a forecast supposes.
struct Oddness {
  std::uint32_t length = 0, index = 0, damage = 0;  // one in so many; 0: never
};

class Maker {
 public:
  Maker(unsigned seed, const Oddness& odd) : random_(seed), odd_(odd) {}

  std::string make() {
    fuzz::Table table;
    std::uint32_t sparse = 0;
    const std::uint32_t n = 1 + below(4), large = below(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      const bool is_sparse = below(3) == 0 && (sparse++ == 0 || below(4) == 0);
      table.streams.push_back({.name = std::string(1, static_cast<char>('a' + i)),
                               .storage = is_sparse ? Storage::sparse : Storage::dense,
                               .element = element,
                               .dim = 1 + (i == large ? 60 : below(3))});
      single_.push_back(below(3) == 0);
    }
    std::string file = fuzz::prefix();
    for (std::uint32_t c = 0; c < 3; ++c) {
      const std::uint32_t sequences = 1 + below(40);
      table.rows.push_back({.begin = file.size(), .sequences = sequences, .samples = 0});
      add_chunk(file, table, sequences);
    }
    fuzz::finish(file, table);
    return file;
  }

  Element element = Element::f32;

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool now(std::uint32_t one_in) { return one_in != 0 && below(one_in) == 0; }

  void add_chunk(std::string& file, fuzz::Table& table, std::uint32_t sequences) {
    const std::size_t begin = file.size();
    const bool equal = below(3) == 0;
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t s = 0; s < sequences; ++s) lengths.push_back(equal ? 2 : below(10) == 0 ? 0 : 1 + below(4));
    for (const std::uint32_t length : lengths) fuzz::put(file, length);
    for (std::size_t i = 0; i < table.streams.size(); ++i) {
      // What one sequence has more, another often has less, so that the sizes fit.
      std::vector<std::uint32_t> samples;
      for (const std::uint32_t length : lengths) samples.push_back(single_[i] ? 1 : length);
      for (std::uint32_t s = 0; s + 1 < sequences; ++s) {
        if (!now(odd_.length)) continue;
        ++samples[s];
        std::uint32_t& other = samples[s + 1 + below(sequences - s - 1)];
        if (other > 0 && below(4) != 0) --other;
      }
      for (const std::uint32_t n : samples) add_sequence(file, table.streams[i], n);
    }
    if (now(odd_.damage))
      file[begin + below(static_cast<std::uint32_t>(file.size() - begin))] ^= static_cast<char>(1 << below(8));
    if (now(odd_.damage)) file += "tail";
  }

  void add_sequence(std::string& file, const FileStream& stream, std::uint32_t samples) {
    fuzz::put(file, samples);
    std::uint32_t values = samples * stream.dim;
    std::string indices, counts;
    if (stream.storage == Storage::sparse) {
      values = 0;
      for (std::uint32_t n = 0; n < samples; ++n) {
        const std::uint32_t entries = below(stream.dim + 1);
        const std::uint32_t shift = now(odd_.index) ? 1 + below(2) : 0;
        for (std::uint32_t k = 0; k < entries; ++k) fuzz::put(indices, shift == 0 ? k : (entries - 1 - k) / shift);
        fuzz::put(counts, entries);
        values += entries;
      }
      fuzz::put(file, values);
    }
    for (std::uint32_t v = 0; v < values; ++v) {
      const float value = 0.25F * static_cast<float>(below(4));
      element == Element::f32 ? fuzz::put(file, value) : fuzz::put(file, double{value});
    }
    file += indices + counts;
  }

  std::mt19937 random_;
  Oddness odd_;
  std::vector<bool> single_;
};

// As many samples as the chunk announces would not fit into it; one a sequence does.
TEST(CbfForecast, AStreamThatHasOneSampleASequenceIsFoundBehindLongOnes) {
  constexpr std::uint32_t kSequences = 4, kSamples = 30, kEntries = 60;
  std::string file = fuzz::prefix();
  fuzz::Table table;
  table.streams = {{.name = "x", .storage = Storage::sparse, .element = Element::f32, .dim = 60},
                   {.name = "y", .storage = Storage::dense, .element = Element::f32, .dim = 20}};
  table.rows.push_back({.begin = file.size(), .sequences = kSequences, .samples = kSequences * kSamples});
  for (std::uint32_t s = 0; s < kSequences; ++s) fuzz::put(file, kSamples);
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    fuzz::put(file, kSamples);
    fuzz::put(file, kEntries);
    for (std::uint32_t i = 0; i < kEntries; ++i) fuzz::put(file, 1.0F);
    for (std::uint32_t i = 0; i < kEntries; ++i) fuzz::put(file, i % 2);
    for (std::uint32_t i = 0; i < kSamples; ++i) fuzz::put(file, 2u);
  }
  const std::uint64_t y = file.size();
  for (std::uint32_t s = 0; s < kSequences; ++s) {
    fuzz::put(file, 1u);
    for (std::uint32_t i = 0; i < 20; ++i) fuzz::put(file, 0.5F);
  }
  fuzz::finish(file, table);
  const ScratchFolder folder;
  const io::File data(folder.write("a.cbf", file));
  FaultSink sink(data.path(), 0, 1, nullptr);
  const Header header = read_header(data, {}, sink);
  const auto told = forecast(header, 0, Lengths(kSamples, kSequences), {}, data);
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->streams[1].single);
  EXPECT_EQ(told->streams[1].begin, y);
}

// Chunks in front of one that cannot be read are the same, and so are the faults.
void expect_same(const Given& parts, const Given& whole) {
  EXPECT_EQ(parts.faults, whole.faults);
  ASSERT_EQ(parts.chunks.size(), whole.chunks.size());
  for (std::size_t c = 0; c < whole.chunks.size(); ++c) {
    if (whole.chunks[c].empty()) break;
    EXPECT_EQ(parts.chunks[c], whole.chunks[c]) << "chunk " << c;
  }
}

// How many files of a kind were cut.
int compare(const Oddness& odd, CbfOptions options = {}, Element element = Element::f32) {
  const ScratchFolder folder;
  int cut = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Maker maker(seed, odd);
    maker.element = element;
    const std::string path = folder.write("x.cbf", maker.make());
    const Given whole = read_all(path, options, 0);
    for (const std::uint64_t bytes : {1U, 100U}) {
      const Given parts = read_all(path, options, bytes);
      expect_same(parts, whole);
      cut += parts.cut ? 1 : 0;
    }
  }
  return cut;
}

TEST(CbfParts, OfSoundFiles) { EXPECT_GT(compare({}), 400); }
TEST(CbfParts, OfFilesWithNotices) { EXPECT_GT(compare({.index = 6}), 400); }
TEST(CbfParts, OfOtherLengthsThanAnnounced) { EXPECT_GT(compare({.length = 30}), 200); }
TEST(CbfParts, OfOtherLengthsAndNotices) { EXPECT_GT(compare({.length = 60, .index = 6}), 200); }
TEST(CbfParts, OfDamagedFiles) { EXPECT_GT(compare({.length = 100, .index = 10, .damage = 2}), 100); }
TEST(CbfParts, OfDoubles) {
  EXPECT_GT(compare({.length = 60}, {.element = Element::f64}, Element::f64), 200);
  EXPECT_GT(compare({.length = 60}, {.element = Element::f64, .convert_element = true}), 200);
}

TEST(CbfParts, FromTheMiddle) {
  const ScratchFolder folder;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const std::string path = folder.write("x.cbf", Maker(seed, {.length = 60}).make());
    const Given all = read_all(path, {}, 1);
    for (const std::uint32_t skip : {1U, 7U, 20U}) {
      const Given rest = read_all(path, {}, 1, {}, skip);
      for (std::size_t c = 0; c < rest.chunks.size(); ++c) {
        const std::string& text = all.chunks[c];
        ASSERT_LE(rest.chunks[c].size(), text.size());
        EXPECT_EQ(rest.chunks[c], text.substr(text.size() - rest.chunks[c].size())) << seed;
      }
    }
  }
}

// Several threads at once, twice, each in an order of its own.
TEST(CbfParts, ByManyAtOnce) {
  const ScratchFolder folder;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const std::string path = folder.write("x.cbf", Maker(seed, {.length = seed % 2 == 0 ? 60U : 0U}).make());
    const Given wanted = read_all(path, {}, 0);
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    const Pieces pieces(open({}, path, context), 1);
    const auto count = static_cast<std::uint32_t>(pieces.chunks().size());
    std::vector<std::vector<std::string>> found(3, std::vector<std::string>(count));
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < found.size(); ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(t);
        std::vector<std::uint32_t> order(count);
        for (std::uint32_t c = 0; c < count; ++c) order[c] = c;
        Chunk chunk;
        for (int round = 0; round < 2; ++round) {
          std::shuffle(order.begin(), order.end(), random);
          for (const std::uint32_t c : order) {
            pieces.read(c, chunk);
            found[t][c] = testing::text_of(pieces, c, chunk);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::string all;
    for (const std::string& chunk : wanted.chunks) all += chunk;
    for (const auto& mine : found) {
      std::string joined;
      for (const std::string& piece : mine) joined += piece;
      EXPECT_EQ(joined, all) << seed;
    }
  }
}

// Three sequences of length 2, made so that 'b' seems to begin 80 bytes later than it does: values
// stand there that look like its lengths. Only the second length of 'a' tells, when a row was given
// (cbf.two-readings).
TEST(CbfParts, TwoReadingsOfAChunkAreAFault) {
  const ScratchFolder folder;
  fuzz::Table table;
  table.streams = {{.name = "a", .storage = Storage::dense, .element = Element::f32, .dim = 20},
                   {.name = "b", .storage = Storage::dense, .element = Element::f32, .dim = 1}};
  std::string file = fuzz::prefix();
  table.rows.push_back({.begin = file.size(), .sequences = 3, .samples = 6});
  for (int i = 0; i < 3; ++i) fuzz::put(file, std::uint32_t{2});
  const std::size_t begin = file.size();
  for (const std::uint32_t samples : {2U, 1U, 2U}) {
    fuzz::put(file, samples);
    for (std::uint32_t v = 0; v < samples * 20; ++v) fuzz::put(file, 0.5F);
  }
  for (const std::uint32_t samples : {24U, 1U, 1U}) {
    fuzz::put(file, samples);
    for (std::uint32_t v = 0; v < samples; ++v) fuzz::put(file, 0.25F);
  }
  for (const std::size_t at : {328U, 492U, 504U, 516U}) file.replace(begin + at, 4, std::string("\2\0\0\0", 4));
  fuzz::finish(file, table);
  const std::string path = folder.write("x.cbf", file);
  EXPECT_EQ(read_all(path, {}, 0).faults, "");
  const Given parts = read_all(path, {}, 1);
  EXPECT_TRUE(parts.cut);
  EXPECT_NE(parts.faults.find("(byte 436): chunk 0: stream 'b' begins here; byte 516, "), std::string::npos)
      << parts.faults;
}

// What the limits refuse of a whole chunk is refused.
TEST(CbfParts, WithinTheLimits) {
  const ScratchFolder folder;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const std::string path = folder.write("x.cbf", Maker(seed, {}).make());
    for (const std::uint64_t most : {2U, 20U, 60U}) {
      Limits limits;
      limits.chunk_values = most;
      expect_same(read_all(path, {}, 1, limits), read_all(path, {}, 0, limits));
      limits = {};
      limits.sequence_samples = most / 10;
      expect_same(read_all(path, {}, 1, limits), read_all(path, {}, 0, limits));
    }
  }
}

}  // namespace
}  // namespace batchfeed::cbf
