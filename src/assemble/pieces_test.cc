// SPDX-License-Identifier: MIT
//
// Corpora of every format that can be read in pieces give the same minibatches in pieces as in
// whole chunks, for every packing, number of threads and of workers, and from every state.
#include "model/pieces.h"

#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>

#include "assemble/open.h"
#include "model/total.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::assemble {
namespace {

using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::le32;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;

// Sequence i has 1 to 5 samples.
std::uint32_t length(std::uint32_t i) { return 1 + i * 7 % 5; }

class PiecesOf : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSequences = 90;

  CtfOptions text(const std::string& name, std::uint64_t chunk_bytes, const std::string& damage = "") {
    std::string all;
    for (std::uint32_t i = 0; i < kSequences; ++i) {
      for (std::uint32_t n = 0; n < length(i); ++n) {
        all += std::to_string(i) + " |" + name + " " + std::to_string(i) + ".5 " + std::to_string(n) + " |s" + name +
               " " + std::to_string((i + n) % 9) + ":1 " + (i % 20 == 7 && n == 0 ? damage : "") + "\n";
      }
    }
    CtfOptions o;
    o.files = {folder_.write(name + ".ctf", all)};
    o.streams = {{.name = name, .dim = 2}, {.name = "s" + name, .storage = Storage::sparse, .dim = 9}};
    o.chunk_bytes = chunk_bytes;
    return o;
  }

  HtkOptions features(std::uint64_t chunk_frames) {
    std::string list;
    for (std::uint32_t i = 0; i < kSequences; ++i) {
      const std::string name = "u" + std::to_string(i);
      list += name + "=" + folder_.write(name + ".htk", htk_file(ramp(2 * length(i)), {.dim = 2})) + "\n";
    }
    HtkOptions o;
    o.name = "features";
    o.scp_files = {folder_.write("x.scp", list)};
    o.context = {{1, 1}};
    o.chunk_frames = chunk_frames;
    return o;
  }

  MlfOptions labels(std::uint64_t chunk_bytes) {
    std::string all = "#!MLF!#\n";
    for (std::uint32_t i = 0; i < kSequences; ++i) {
      if (i % 13 == 4) continue;  // no partner
      all += "\"u" + std::to_string(i) + ".lab\"\n";
      for (std::uint32_t n = 0; n < length(i); ++n) {
        all += std::to_string(n * 100000) + ' ' + std::to_string((n + 1) * 100000) + " c" +
               std::to_string((i + n) % 3) + '\n';
      }
      all += ".\n";
    }
    MlfOptions o;
    o.name = "labels";
    o.files = {folder_.write("x.mlf", all)};
    o.labels = {"c0", "c1", "c2"};
    o.dim = 3;
    o.chunk_bytes = chunk_bytes;
    return o;
  }

  KaldiOptions kaldi(bool alignment, std::uint64_t chunk_frames) {
    const std::string binary("\0B", 2);
    const auto size = [](std::uint32_t n) { return "\4" + le32(n); };
    std::string ark;
    for (std::uint32_t i = 0; i < kSequences; ++i) {
      ark += "u" + std::to_string(i) + ' ' + binary;
      ark += alignment ? size(length(i)) : "FM " + size(length(i)) + size(2);
      for (std::uint32_t n = 0; n < length(i) * (alignment ? 1 : 2); ++n)
        ark += alignment ? size((i + n) % 4) : le32(std::bit_cast<std::uint32_t>(static_cast<float>(100 * i + n)));
    }
    KaldiOptions o;
    o.name = alignment ? "classes" : "features";
    o.files = {folder_.write(o.name + ".ark", ark)};
    o.alignment = alignment;
    o.dim = alignment ? 4 : 0;
    o.chunk_frames = chunk_frames;
    return o;
  }

  CbfOptions binary(std::uint64_t chunk_bytes) {
    const std::string path = folder_ / "x.cbf";
    CbfWriter writer(path, {.streams = {{.name = "a", .dim = 20}, {.name = "b", .dim = 9, .storage = Storage::sparse}},
                            .chunk_bytes = chunk_bytes});
    const std::vector<std::uint32_t> ones(5, 1);
    for (std::uint32_t i = 0; i < kSequences; ++i) {
      std::vector<float> values(std::size_t{20} * length(i));
      std::iota(values.begin(), values.end(), static_cast<float>(1000 * i));
      const std::vector<std::int32_t> indices(5, static_cast<std::int32_t>(i % 9));
      const SequenceData data[] = {
          {.samples = length(i), .values = values.data()},
          {.samples = length(i), .values = values.data(), .indices = indices.data(), .entries = ones.data()}};
      writer.append(data);
    }
    writer.commit();
    CbfOptions o;
    o.files = {path};
    return o;
  }

  std::shared_ptr<const Source> source(std::vector<SourceOptions> sources, KeyMode keys = KeyMode::numeric) const {
    batchfeed::Setup setup;
    setup.sources = std::move(sources);
    setup.reader.keys = keys;
    return open_sources(setup);
  }

  // The corpora, each opened anew.
  std::map<std::string, std::function<std::shared_ptr<const Source>()>> corpora() {
    const auto text_keys = KeyMode::text;
    return {
        {"text", [this] { return source({text("a", 700)}); }},
        {"two files of text",
         [this] {
           CtfOptions o = text("a", 1500);
           o.files.push_back(o.files[0]);
           return source({o});
         }},
        {"texts joined in step",
         [this] {
           return source({text("a", 900), text("b", 700)});
         }},
        {"binary", [this] { return source({binary(4000)}); }},
        {"features", [=, this] { return source({features(40)}, text_keys); }},
        {"features and labels",
         [=, this] {
           return source({features(60), labels(300)}, text_keys);
         }},
        {"Kaldi",
         [=, this] {
           return source({kaldi(false, 50), kaldi(true, 70)}, text_keys);
         }},
    };
  }

  ScratchFolder folder_;
};

// Answers as bytes: keys, places, values.
std::string answers(Reader& reader, std::size_t most) {
  std::string out;
  const auto add = [&](const auto& values) {
    for (const auto& v : values) out += std::to_string(v) + ' ';
  };
  Minibatch batch;
  for (std::size_t i = 0; i < most && reader.read(batch); ++i) {
    out += "\n" + std::to_string(batch.position) + (batch.end_of_epoch ? "e " : " ");
    add(batch.keys);
    for (const StreamBatch& s : batch.streams) {
      for (const LayoutEntry& e : s.layout.entries) out += std::to_string(e.row) + ':' + std::to_string(e.begin) + ' ';
      out.append(reinterpret_cast<const char*>(s.values.data()), s.values.size());
      add(s.indices);
      add(s.offsets);
      add(s.sample_begin);
    }
  }
  return out;
}

std::vector<ReaderOptions> kinds(bool speech) {
  std::vector<ReaderOptions> out;
  for (const Packing pack : {Packing::sequences, Packing::frames, Packing::truncated}) {
    if (pack == Packing::frames && !speech) continue;
    for (const unsigned threads : {0u, 1u, 3u}) {
      ReaderOptions o;
      o.order.kind = OrderKind::file;
      o.pack = {pack, pack == Packing::truncated ? 3u : 0u, 0};
      o.minibatch_size = {11};
      o.prefetch = threads != 0;
      o.threads = threads == 0 ? 1 : threads;
      out.push_back(o);
      o.shard = Shard::chunk;
      if (pack == Packing::truncated) o.minibatch_size = {12};
      o.workers = 2;
      o.rank = 1;
      out.push_back(o);
      o.shard = Shard::even;
      out.push_back(o);
    }
  }
  return out;
}

TEST_F(PiecesOf, EveryFormatGivesTheSameStream) {
  for (const auto& [name, open] : corpora()) {
    SCOPED_TRACE(name);
    const auto whole = open();
    ASSERT_GT(whole->chunks().size(), 2u);
    for (const std::uint64_t bytes : {1u, 60u, 150u}) {
      const auto pieces = std::make_shared<const Pieces>(whole, bytes);
      ASSERT_GT(pieces->chunks().size(), whole->chunks().size());
      EXPECT_EQ(pieces->fingerprint(), whole->fingerprint());
      for (const ReaderOptions& o : kinds(whole->splits_frames())) {
        Reader one(whole, o), other(pieces, o);
        EXPECT_EQ(answers(one, 200), answers(other, 200)) << bytes << ", threads " << o.threads;
      }
    }
  }
}

// With equal sizes the memory of one piece of a chunk can be reused for the next.
TEST_F(PiecesOf, AreNoLargerThanAskedForAndOfOneSize) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += std::to_string(1000 + i) + " |a 1.5 2\n";
  const auto whole = source({CtfOptions{
      .files = {folder_.write("even.ctf", lines)}, .streams = {{.name = "a", .dim = 2}}, .chunk_bytes = 6000}});
  ASSERT_GT(whole->chunks().size(), 2u);
  for (const std::uint64_t bytes : {100u, 700u, 1999u, 4000u, 5999u, 6100u}) {
    const Pieces pieces(whole, bytes);
    std::map<std::uint32_t, std::vector<std::uint64_t>> sizes;  // by chunk
    for (std::uint32_t c = 0; c < pieces.chunks().size(); ++c) {
      EXPECT_LE(pieces.chunks()[c].bytes, bytes + std::size("1000 |a 1.5 2"));
      sizes[pieces.part(c).chunk].push_back(pieces.chunks()[c].bytes);
    }
    for (const auto& [chunk, of_chunk] : sizes) {  // the last piece of a chunk has the rest and may be smaller
      for (std::size_t i = 0; i + 1 < of_chunk.size(); ++i) EXPECT_EQ(of_chunk[i], of_chunk[0]) << chunk;
      EXPECT_LE(of_chunk.back(), of_chunk[0]) << chunk;
    }
  }
}

// Each minibatch ends where a piece does, so that its rows need not be copied.
TEST_F(PiecesOf, AreMinibatchesWhereTheseAreAboutAsLarge) {
  int of_large_chunks = 0;
  for (const auto& [name, open] : corpora()) {
    SCOPED_TRACE(name);
    const auto whole = open();
    for (const SizeUnit unit : {SizeUnit::samples, SizeUnit::sequences}) {
      ReaderOptions o;
      o.order.kind = OrderKind::file;
      o.minibatch_size = {4};
      o.size_unit = unit;
      const ChunkInfo all = total(whole->chunks());
      const auto wanted = 4 * all.bytes / (unit == SizeUnit::samples ? all.samples : all.sequences);
      const auto pieces = std::make_shared<const Pieces>(whole, wanted, Minibatches{4, unit});
      Reader one(whole, o), other(pieces, o);
      Minibatch batch;
      std::vector<std::uint64_t> ends;  // of minibatches, in sequences
      while (one.next(batch)) ends.push_back((ends.empty() ? 0 : ends.back()) + batch.num_sequences);
      std::uint64_t end = 0;
      std::vector<std::uint64_t> cuts;
      for (const ChunkInfo& piece : pieces->chunks()) cuts.push_back(end += piece.sequences);
      std::size_t met = 0;
      for (const std::uint64_t e : ends) met += std::ranges::find(cuts, e) != cuts.end() ? 1u : 0u;
      if (4 * whole->chunks().size() * wanted <= all.bytes) {
        ++of_large_chunks;
        EXPECT_EQ(met, ends.size()) << "of " << cuts.size() << " pieces";
      }
      one.begin_epoch(0);
      EXPECT_EQ(answers(one, 200), answers(other, 200));
    }
  }
  EXPECT_GT(of_large_chunks, 4);
}

TEST_F(PiecesOf, BinaryDataAreReadOnce) {
  CbfWriter writer(folder_ / "once.cbf",
                   {.streams = {{.name = "a", .dim = 100}, {.name = "b", .dim = 3}}, .chunk_bytes = 400'000});
  const std::vector<float> values(100, 0.5F);
  for (std::uint32_t i = 0; i < 4000; ++i)
    writer.append(
        std::vector<SequenceData>{{.samples = 1, .values = values.data()}, {.samples = 1, .values = values.data()}});
  writer.commit();
  const Pieces pieces(source({CbfOptions{.files = {folder_ / "once.cbf"}}}), 20'000);
  const ::batchfeed::testing::FaultySys sys;
  Chunk chunk;
  std::uint64_t bytes = 0;
  for (std::uint32_t c = 0; c < pieces.chunks().size(); ++c) {
    bytes += pieces.chunks()[c].bytes;
    pieces.read(c, chunk);
  }
  EXPECT_GE(sys.bytes_read(), bytes * 9 / 10);
  EXPECT_LE(sys.bytes_read(), bytes * 11 / 10);
}

TEST_F(PiecesOf, StatesAreThoseOfWholeChunks) {
  for (const auto& [name, open] : corpora()) {
    SCOPED_TRACE(name);
    const auto whole = open();
    const auto pieces = std::make_shared<const Pieces>(whole, 50);
    for (const ReaderOptions& o : kinds(whole->splits_frames())) {
      for (const std::size_t after : {1u, 3u, 10u}) {
        Reader one(whole, o), other(pieces, o);
        answers(one, after);
        answers(other, after);
        ASSERT_EQ(one.state(), other.state());
        Reader resumed(pieces, o);
        resumed.restore(one.state());
        EXPECT_EQ(answers(resumed, 40), answers(one, 40)) << after;
      }
    }
  }
}

TEST_F(PiecesOf, RowsStandWhereTheyAreInTheFile) {
  for (const auto& [name, open] : corpora()) {
    SCOPED_TRACE(name);
    const auto whole = open();
    const Pieces pieces(whole, 50);
    std::vector<SequenceInfo> table, part;
    std::vector<std::uint64_t> keys, keys_of_pieces;
    std::vector<std::uint64_t> begins, begins_of_pieces;
    for (std::uint32_t c = 0; c < whole->chunks().size(); ++c) {
      whole->sequences(c, table);
      for (const SequenceInfo& s : table) {
        keys.push_back(s.key);
        for (const Place& place : whole->places(c, s.row)) begins.push_back(place.begin);
      }
    }
    for (std::uint32_t c = 0; c < pieces.chunks().size(); ++c) {
      pieces.sequences(c, part);
      EXPECT_EQ(part.size(), pieces.chunks()[c].sequences);
      for (const SequenceInfo& s : part) {
        keys_of_pieces.push_back(s.key);
        for (const Place& place : pieces.places(c, s.row)) begins_of_pieces.push_back(place.begin);
      }
    }
    EXPECT_EQ(keys_of_pieces, keys);
    EXPECT_EQ(begins_of_pieces, begins);
  }
}

// A damaged sequence counts once towards max_errors, no matter in which pieces and how often it is read.
TEST_F(PiecesOf, DamageIsCountedOnce) {
  std::string told[2];
  for (const bool cut : {false, true}) {
    CtfOptions o = text("a", 700, "|a oops");
    o.max_errors = 5;
    auto corpus = source({o});
    const auto read = cut ? std::make_shared<const Pieces>(corpus, 60) : corpus;
    ReaderOptions options;
    options.order.kind = OrderKind::file;
    options.minibatch_size = {11};
    options.driver = ReaderOptions::Driver::epochs;
    Reader reader(read, options);
    told[cut] = answers(reader, 60);
    Chunk chunk;
    for (std::uint32_t c = 0; c < corpus->chunks().size(); ++c) corpus->read(c, chunk);
    for (const Notice& notice : read->notices()) told[cut] += notice.fault.what + '\n';
  }
  EXPECT_EQ(told[1], told[0]);

  CtfOptions o = text("a", 700, "|a oops");
  o.max_errors = 4;
  ReaderOptions options;
  options.order.kind = OrderKind::file;
  Reader reader(std::make_shared<const Pieces>(source({o}), 60), options);
  EXPECT_THROW(answers(reader, 60), Error);
}

TEST_F(PiecesOf, ShortSamplesAreToldOnceForEachChunk) {
  std::vector<std::size_t> told;
  for (const bool cut : {false, true}) {
    std::string all;
    for (int i = 0; i < 90; ++i) all += "|a " + std::to_string(i) + '\n';
    batchfeed::Setup setup;
    CtfOptions o;
    o.files = {folder_.write("short.ctf", all)};
    o.streams = {{.name = "a", .dim = 2}};
    o.chunk_bytes = 200;
    o.skip_sequence_ids = true;
    setup.sources = {o};
    std::size_t n = 0;
    setup.report = [&](const Notice& notice) { n += notice.fault.id == "ctf.too-few-values" ? 1u : 0u; };
    const std::shared_ptr<const Source> whole = open_sources(setup);
    const auto read = cut ? std::make_shared<const Pieces>(whole, 20) : whole;
    Chunk chunk;
    for (std::uint32_t c = 0; c < read->chunks().size(); ++c) read->read(c, chunk);
    told.push_back(n);
    EXPECT_GE(n, 2u);
  }
  EXPECT_EQ(told[0], told[1]);
}

// With partners in another order, each piece would need nearly all of the other source's chunks again.
TEST_F(PiecesOf, AJoinOutOfStepIsNotCut) {
  CtfOptions first = text("a", 700);
  std::string backwards;
  for (std::uint32_t i = kSequences; i-- > 0;) backwards += std::to_string(i) + " |b 1 2\n";
  CtfOptions second;
  second.files = {folder_.write("back.ctf", backwards)};
  second.streams = {{.name = "b", .dim = 2}};
  const auto joined = source({first, second});
  EXPECT_EQ(Pieces(joined, 50).chunks().size(), joined->chunks().size());
}

// A reader in the file's order cuts chunks by itself, and says nothing of it.
TEST_F(PiecesOf, AReaderHoldsSomePiecesOfALargeChunk) {
  const std::string line = "|a" + [] {
    std::string values;
    for (int i = 0; i < 1000; ++i) values += " 0.125";
    return values + '\n';
  }();
  std::string all;
  for (int i = 0; i < 6000; ++i) all += line;  // 42 MB
  CtfOptions o;
  o.files = {folder_.write("large.ctf", all)};
  o.streams = {{.name = "a", .dim = 1000}};
  o.chunk_bytes = 64 << 20;
  o.skip_sequence_ids = true;
  const auto whole = source({o});
  ASSERT_EQ(whole->chunks().size(), 1u);
  ReaderOptions options;
  options.order.kind = OrderKind::file;
  options.minibatch_size = {64};
  options.threads = 2;
  Reader reader(whole, options);
  EXPECT_EQ(reader.source().chunks().size(), 1u);
  Minibatch batch;
  std::uint64_t samples = 0;
  while (reader.next(batch)) samples += batch.num_samples;
  EXPECT_EQ(samples, 6000u);
  EXPECT_LT(reader.memory_peak(), 16u << 20);  // of 24 MB of values
  EXPECT_LT(reader.memory_needed(), 16u << 20);

  reader.begin_epoch(1);
  const std::vector<BatchPlan> plans = reader.plan(100);
  ASSERT_EQ(plans.size(), 94u);
  EXPECT_EQ(plans[50].items[3].chunk, 0u);
  EXPECT_EQ(plans[50].items[3].row, 50u * 64 + 3);
  EXPECT_EQ(plans[50].items[3].key, 50u * 64 + 3);

  options.order.kind = OrderKind::uniform;
  Reader shuffled(whole, options);
  while (shuffled.next(batch)) {
  }
  EXPECT_GT(shuffled.memory_peak(), 24'000'000u);  // a shuffle needs the whole chunk
}

}  // namespace
}  // namespace batchfeed::assemble
