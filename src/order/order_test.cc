// SPDX-License-Identifier: MIT
//
// Orders and timelines against tables of known results (testdata/), written as
// small scripts.
#include <gtest/gtest.h>

#include <fstream>

#include "order/cntk_order.h"
#include "order/corpus_testing.h"

namespace batchfeed::order {
namespace {

struct Case {
  std::string name, corpus, order, script, expected;
};

std::string trimmed(const std::string& text) {
  const auto from = text.find_first_not_of(' ');
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(' ') - from + 1);
}

std::vector<Case> read_cases(const std::string& file) {
  std::ifstream in("src/order/testdata/" + file);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> fields;
    std::istringstream rest(line);
    for (std::string field; std::getline(rest, field, '|');) fields.push_back(trimmed(field));
    EXPECT_EQ(fields.size(), 5u) << line;
    cases.push_back({fields[0], fields[1], fields[2], fields[3], fields[4]});
  }
  EXPECT_FALSE(cases.empty()) << file;
  return cases;
}

void check(const Case& c) {
  SCOPED_TRACE(c.name + ": " + c.corpus + " | " + c.order + " | " + c.script);
  const LengthSource source(parse_lengths(c.corpus));
  const Corpus corpus(source, false);
  EXPECT_EQ(run_script(source, *parse_timeline(corpus, c.order), c.script), c.expected);
}

TEST(Timelines, AgreeWithTheTable) {
  for (const Case& c : read_cases("table_cases.txt")) check(c);
}

TEST(Timelines, AgreeWithAModelOnRandomScripts) {
  for (const Case& c : read_cases("random_cases.txt")) check(c);
}

TEST(Timelines, GoFromEpochToEpochAsTheReference) {
  for (const Case& c : read_cases("epoch_cases.txt")) check(c);
}

TEST(CntkRng, IsTheReferencesGenerator) {
  CntkRng rng;
  rng.seed(5489);
  for (int i = 0; i < 9999; ++i) rng.next();
  EXPECT_EQ(rng.next(), 9981545732273789042u);
  rng.seed(0);
  EXPECT_EQ(rng.next(), 2947667278772165694u);
  EXPECT_EQ(rng.next(), 18301848765998365067u);
  EXPECT_EQ(rng.next(), 729919693006235833u);
  rng.seed(1);
  EXPECT_EQ(rng.next(), 2469588189546311528u);
}

TEST(CntkChunkOrder, IsTheReferencesShuffle) {
  using Order = std::vector<std::uint32_t>;
  EXPECT_EQ(cntk_chunk_order(4, 0), (Order{2, 0, 1, 3}));
  EXPECT_EQ(cntk_chunk_order(4, 1), (Order{0, 2, 3, 1}));
  EXPECT_EQ(cntk_chunk_order(4, 2), (Order{0, 2, 1, 3}));
  EXPECT_EQ(cntk_chunk_order(4, 3), (Order{3, 2, 1, 0}));
  EXPECT_EQ(cntk_chunk_order(10, 0), (Order{4, 7, 3, 9, 1, 2, 8, 6, 5, 0}));
  EXPECT_EQ(cntk_chunk_order(10, 1), (Order{1, 2, 8, 6, 5, 7, 0, 9, 3, 4}));
  EXPECT_EQ(cntk_chunk_order(8, 1), (Order{4, 7, 2, 1, 3, 6, 0, 5}));
  EXPECT_EQ(cntk_chunk_order(8, (1ull << 32) + 1), (Order{2, 3, 4, 1, 5, 0, 7, 6}));
}

std::string text(const Windows& windows) {
  std::string out;
  for (std::size_t c = 0; c < windows.lo.size(); ++c) {
    out += (c == 0 ? "[" : " [") + std::to_string(windows.lo[c]) + "," + std::to_string(windows.hi[c]) + ")";
  }
  return out;
}

TEST(Windows, InChunksAgreeWithTheTable) {
  const std::pair<std::uint64_t, const char*> rows[] = {
      {0, "[0,1) [1,2) [2,3) [3,4) [4,5)"}, {1, "[0,1) [1,2) [2,3) [3,4) [4,5)"},
      {2, "[0,2) [0,2) [1,3) [2,4) [3,5)"}, {3, "[0,3) [0,3) [1,4) [2,5) [2,5)"},
      {4, "[0,4) [0,4) [0,4) [1,5) [1,5)"}, {5, "[0,5) [0,5) [0,5) [0,5) [0,5)"},
      {9, "[0,5) [0,5) [0,5) [0,5) [0,5)"}, {~0ull, "[0,5) [0,5) [0,5) [0,5) [0,5)"}};
  for (const auto& [window, expected] : rows) EXPECT_EQ(text(windows_in_chunks(5, window)), expected) << window;
}

TEST(Windows, InSamplesAgreeWithTheTable) {
  struct Row {
    std::vector<std::uint64_t> sizes;
    std::uint64_t window;
    const char* expected;
  };
  const Row rows[] = {
      {{3, 3, 3, 3}, 0, "[0,1) [1,2) [2,3) [3,4)"},          {{3, 3, 3, 3}, 6, "[0,1) [0,2) [1,3) [2,4)"},
      {{3, 3, 3, 3}, 7, "[0,1) [0,2) [1,3) [2,4)"},          {{3, 3, 3, 3}, 13, "[0,1) [0,2) [0,3) [1,4)"},
      {{3, 3, 3, 3}, 14, "[0,2) [0,3) [0,4) [1,4)"},         {{3, 3, 3, 3}, 24, "[0,3) [0,4) [0,4) [0,4)"},
      {{5, 1, 1, 8, 2}, 4, "[0,1) [1,2) [1,3) [1,4) [4,5)"}, {{5, 1, 1, 8, 2}, 10, "[0,1) [0,3) [1,3) [1,4) [4,5)"},
      {{5, 1, 1, 8, 2}, 20, "[0,3) [0,3) [0,4) [0,4) [1,5)"}};
  for (const Row& row : rows) EXPECT_EQ(text(windows_in_samples(row.sizes, row.window)), row.expected) << row.window;
}

TEST(Timelines, RefuseNumbersThatMakeNoSense) {
  const LengthSource source(parse_lengths("4x3"));
  const Corpus corpus(source, false);
  for (const char* order : {"file", "cntk 2 chunks 0"}) {
    const auto timeline = parse_timeline(corpus, order);
    Batch batch;
    EXPECT_EQ(id_of([&] { timeline->begin_epoch(0, 0); }), "order.epoch-size");
    EXPECT_EQ(id_of([&] { timeline->next(0, 1, batch); }), "order.minibatch-size");
    EXPECT_EQ(id_of([&] { timeline->next(1, 0, batch); }), "order.minibatch-size");
    EXPECT_EQ(id_of([&] { timeline->set_workers(0, 0); }), "order.workers");
    EXPECT_EQ(id_of([&] { timeline->set_workers(2, 2); }), "order.rank");
  }
  const LengthSource nothing(LengthSource::Lengths{});
  const Corpus none(nothing, false);
  EXPECT_EQ(id_of([&] { parse_timeline(none, "file"); }), "order.empty-corpus");
}

TEST(Corpus, RefusesNumbersThatCannotBeCountedOrThatDisagree) {
  struct Lying final : Source {
    std::vector<StreamInfo> none;
    std::vector<ChunkInfo> sizes;
    const std::vector<StreamInfo>& streams() const override { return none; }
    const std::vector<ChunkInfo>& chunks() const override { return sizes; }
    void sequences(std::uint32_t /*chunk*/, std::vector<SequenceInfo>& out) const override { out.assign(2, {0, 0, 3}); }
    void read(std::uint32_t /*chunk*/, Chunk& /*out*/) const override {}
  };
  Lying source;
  source.sizes = {{.sequences = 1ull << 32, .samples = 1}};
  EXPECT_EQ(id_of([&] { Corpus(source, false); }), "order.chunk-size");
  source.sizes = {{.sequences = 1, .samples = ~0ull}};
  EXPECT_EQ(id_of([&] { Corpus(source, false); }), "order.chunk-size");
  for (const ChunkInfo& wrong : {ChunkInfo{.sequences = 3, .samples = 6}, ChunkInfo{.sequences = 2, .samples = 7}}) {
    source.sizes = {wrong};
    const Corpus corpus(source, false);
    std::vector<Item> items;
    EXPECT_EQ(id_of([&] { corpus.table(0, items); }), "source.table");
    for (const char* order : {"file", "cntk 2 chunks 0", "uniform 2 chunks 0"}) {
      Batch batch;
      EXPECT_EQ(id_of([&] { parse_timeline(corpus, order)->next(1, 1, batch); }), "source.table");
    }
  }
}

TEST(Table, FindsTheSequenceOfEveryFrame) {
  const LengthSource source({{1, 63, 1, 64, 65, 1, 1, 1, 500, 1, 128}, {64}, {3, 2}});
  const Corpus corpus(source, true);
  for (std::uint32_t chunk = 0; chunk < corpus.chunks(); ++chunk) {
    std::vector<SequenceInfo> sequences;
    source.sequences(chunk, sequences);
    std::vector<Item> expected, items;
    for (const SequenceInfo& sequence : sequences) {
      for (std::uint32_t frame = 0; frame < sequence.samples; ++frame)
        expected.push_back({chunk, sequence.row, frame, 1});
    }
    corpus.table(chunk, items);
    EXPECT_EQ(items, expected) << chunk;
  }
}

}  // namespace
}  // namespace batchfeed::order
