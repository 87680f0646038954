// SPDX-License-Identifier: MIT
#include <batchfeed/writer.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/cbf/build.h"
#include "formats/cbf/golden_testing.h"
#include "formats/cbf/keys.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::id_of;
using ::batchfeed::testing::ScratchFolder;
using golden::Bytes;
using golden::Opened;

Bytes bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const std::vector<StreamInfo> kFeatLab = {{.name = "feat", .dim = 2},
                                          {.name = "lab", .dim = 5, .storage = Storage::sparse}};

struct Example {
  std::vector<float> feat;
  std::uint32_t feat_samples;
  std::vector<float> lab;
  std::vector<std::int32_t> indices;
  std::vector<std::uint32_t> entries;

  std::vector<SequenceData> data() const {
    return {{.samples = feat_samples, .values = feat.data()},
            {.samples = static_cast<std::uint32_t>(entries.size()),
             .values = lab.data(),
             .indices = indices.data(),
             .entries = entries.data()}};
  }
};
const Example kFirst = {{1, 2, 3, 4}, 2, {0.5f, 2, 1, -1}, {1, 3, 0, 2}, {2, 1, 1}};
const Example kSecond = {{5, 6}, 1, {8}, {4}, {1}};

TEST(CbfWriter, OfWritersThatMayNotReplaceTheFirstWinsWithItsKeys) {
  const ScratchFolder folder;
  const CbfWriterOptions options{.streams = kFeatLab, .keys = true, .replace = false};
  folder.write("x.cbf.keys", "#batchfeed-keys 1\nold\n");  // of a file that is gone
  {
    CbfWriter first(folder / "x.cbf", options), second(folder / "x.cbf", options);
    first.append(kFirst.data(), "late");
    second.append(kSecond.data(), "first");
    second.commit();
    EXPECT_EQ(id_of([&] { first.commit(); }), "convert.exists");
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"x.cbf", "x.cbf.keys"}));
  EXPECT_NE(::batchfeed::testing::content_of(folder / "x.cbf.keys").find("\nfirst\n"), std::string::npos);
  folder.write("y.cbf.keys", "#batchfeed-keys 1\nold\n");
  CbfWriter without(folder / "y.cbf", {.streams = kFeatLab, .replace = false});
  without.append(kFirst.data());
  without.commit();
  EXPECT_FALSE(std::filesystem::exists(folder / "y.cbf.keys"));
  folder.write("z.cbf.keys", "the keys of my flat\n");
  try {
    CbfWriter writer(folder / "z.cbf", options);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "cbf.foreign-keys");
    EXPECT_EQ(e.fault().at.file, folder / "z.cbf.keys");
  }
  EXPECT_EQ(::batchfeed::testing::content_of(folder / "z.cbf.keys"), "the keys of my flat\n");
}

TEST(CbfWriter, AFolderOfTheNameOfItsKeysIsSeenBeforeAnythingIsWritten) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "x.cbf.keys");
  for (const bool replace : {false, true}) {
    EXPECT_THROW(CbfWriter(folder / "x.cbf", {.streams = kFeatLab, .keys = true, .replace = replace}), Error);
    EXPECT_TRUE(folder.names().empty()) << "replace " << replace;
  }
}

TEST(CbfWriter, SealedItGetsItsNameByCommitAlone) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .keys = true});
  writer.append(kFirst.data(), "first");
  writer.seal();
  writer.seal();
  EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.append(kSecond.data(), "late"); }).id, "io.written");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.cbf"));
  writer.commit();
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"x.cbf", "x.cbf.keys"}));
  EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).id, "io.written");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"x.cbf", "x.cbf.keys"}));
}

TEST(CbfWriter, WhatCouldNotBeWrittenGetsNoNameLater) {
  const ScratchFolder folder;
  {
    CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab});
    writer.append(kFirst.data());
    {
      const ::batchfeed::testing::FaultySys full(::batchfeed::testing::every("write", ENOSPC));
      EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).kind, FaultKind::io);
    }
    EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.seal(); }).id, "io.written");
    EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).id, "io.written");
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(CbfWriter, NorDoesWhatLacksAChunk) {
  for (const bool legacy : {false, true}) {
    const ScratchFolder folder;
    {
      CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .legacy = legacy});
      writer.append(kSecond.data());
      {
        const ::batchfeed::testing::FaultySys full(::batchfeed::testing::every("write", ENOSPC));
        EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.end_chunk(); }).kind, FaultKind::io);
      }
      writer.append(kSecond.data());
      EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).id, "io.written") << legacy;
    }
    EXPECT_TRUE(folder.names().empty());
  }
}

TEST(CbfWriter, KeysThatCannotBeReadKeepNobodyFromTheData) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .keys = true});
  writer.append(kFirst.data(), "first");
  writer.commit();
  ::batchfeed::testing::FaultySys sys([](const ::batchfeed::testing::Call& call) {
    return call.name == "open" && call.path.ends_with(".keys") ? EACCES : 0;
  });
  const Opened opened(folder / "x.cbf");
  EXPECT_EQ(opened.source->chunks().at(0).sequences, 1u);
  EXPECT_TRUE(opened.notices.empty());
  EXPECT_THROW(opened.source->key_text(0), Error);
}

std::string refusal(const CbfWriterOptions& options, const std::vector<SequenceData>& sequence) {
  const ScratchFolder folder;
  try {
    CbfWriter writer(folder / "x.cbf", options);
    writer.append(sequence);
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().kind, FaultKind::usage);
    EXPECT_TRUE(folder.names().empty());
    return e.fault().id;
  }
  return "";
}

TEST(CbfWriter, AChunkThatIsFullStaysAsItIs) {
  ChunkBuilder builder({kFeatLab[0]}, Layout::modern, 5);
  const std::string path = "x.cbf";
  const auto append = [&](std::uint32_t samples) {
    const Piece piece{.samples = samples, .values = reinterpret_cast<const std::byte*>(kFirst.feat.data()), .step = 2};
    builder.append({piece}, {.path = path, .number = builder.sequences()});
  };
  append(2);
  append(1);
  append(2);
  const std::uint64_t size = builder.size();
  try {
    append(1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "cbf.write-chunk-full");
    EXPECT_NE(e.fault().what.find("sequence 3"), std::string::npos);
  }
  EXPECT_EQ(builder.sequences(), 3u);
  EXPECT_EQ(builder.samples(), 5u);
  EXPECT_EQ(builder.size(), size);
  builder.flush([](std::span<const std::byte>) {});
  append(2);
}

TEST(CbfWriter, WritesTheModernExampleByteForByte) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab});
  writer.append(kFirst.data());
  writer.append(kSecond.data());
  EXPECT_EQ(writer.samples(), 4u);
  writer.commit();
  EXPECT_EQ(bytes_of(folder / "x.cbf"), golden::modern());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.cbf"});
}

TEST(CbfWriter, WritesTheLegacyExampleByteForByte) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .legacy = true});
  const Example first = {{1, 2}, 1, {0.5f, 2, 1}, {1, 3, 0}, {2, 1}};
  writer.append(first.data());
  writer.append(kSecond.data());
  writer.commit();
  EXPECT_EQ(bytes_of(folder / "x.cbf"), golden::legacy());
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.cbf"});
}

TEST(CbfWriter, WritesTheSparseExampleOfDoubles) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf",
                   {.streams = {{.name = "s", .dim = 10, .storage = Storage::sparse, .element = Element::f64}}});
  const double values[] = {1.5, 4, -1};
  const std::int32_t indices[] = {7, 9, 2};  // out of order: they are sorted inside a sample
  const std::uint32_t entries[] = {0, 1, 2};
  const SequenceData sequence[] = {{.samples = 3, .values = values, .indices = indices, .entries = entries}};
  writer.append(sequence);
  writer.commit();
  const Bytes all = bytes_of(folder / "x.cbf");
  EXPECT_EQ(Bytes(all.begin() + 16, all.begin() + 16 + 56), golden::sparse_sequence());
}

TEST(CbfWriter, ClosesAChunkBeforeItGrowsTooLarge) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = {{.name = "d", .dim = 1}}, .chunk_bytes = 36});
  const float one = 1;
  const SequenceData sequence[] = {{.samples = 1, .values = &one}};
  for (int i = 0; i < 7; ++i) writer.append(sequence);
  writer.commit();
  const Opened opened(folder / "x.cbf");
  ASSERT_EQ(opened.source->chunks().size(), 3u);
  EXPECT_EQ(opened.source->chunks()[0].sequences, 3u);
  EXPECT_EQ(opened.source->chunks()[2].sequences, 1u);
}

TEST(CbfWriter, LeavesNothingWithoutCommit) {
  const ScratchFolder folder;
  { CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .legacy = true, .keys = true}); }
  EXPECT_TRUE(folder.names().empty());
}

TEST(CbfWriter, AnEmptyCorpusHasOneEmptyChunk) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = {{.name = "d", .dim = 1}}});
  writer.commit();
  const Bytes all = bytes_of(folder / "x.cbf");
  ASSERT_EQ(all.size(), 12u + 16 + 11 + 16 + 8);
  EXPECT_EQ(Bytes(all.begin() + 39, all.begin() + 55),
            golden::from_hex("0c 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"));
}

TEST(CbfWriter, RefusesWhatTheFormatCannotHold) {
  const float values[] = {1, 2};
  const std::int32_t bad[] = {5};
  const std::int32_t negative[] = {-1};
  const std::uint32_t one[] = {1};
  const std::vector<StreamInfo> sparse = {{.name = "s", .dim = 5, .storage = Storage::sparse}};
  const std::vector<SequenceData> dense_sequence = {{.samples = 1, .values = values}};
  const auto named = [](const std::string& name, std::uint64_t dim) {
    return CbfWriterOptions{.streams = {{.name = name, .dim = dim}}};
  };
  EXPECT_EQ(refusal({}, {}), "cbf.write-no-streams");
  EXPECT_EQ(refusal(named("", 1), dense_sequence), "cbf.write-bad-name");
  EXPECT_EQ(refusal(named("\xff", 1), dense_sequence), "cbf.write-bad-name");
  EXPECT_EQ(refusal(named(std::string("a\0b", 3), 1), dense_sequence), "cbf.write-bad-name");
  EXPECT_EQ(refusal({.streams = {{.name = "a", .dim = 1}, {.name = "a", .dim = 2}}}, {}), "cbf.write-same-name");
  EXPECT_EQ(refusal(named("d", 0), dense_sequence), "cbf.write-bad-dimension");
  EXPECT_EQ(refusal(named("d", 1ull << 31), dense_sequence), "cbf.write-bad-dimension");
  EXPECT_EQ(refusal(named("d", 2), {}), "cbf.write-stream-count");
  EXPECT_EQ(refusal(named("d", 2), {{.samples = 0}}), "cbf.write-empty-sequence");
  EXPECT_EQ(refusal(named("d", 2), {{.samples = 0x80000000u}}), "cbf.write-too-long");
  EXPECT_EQ(refusal({.streams = sparse}, {{.samples = 1, .values = values, .indices = bad, .entries = one}}),
            "cbf.write-bad-index");
  EXPECT_EQ(refusal({.streams = sparse}, {{.samples = 1, .values = values, .indices = negative, .entries = one}}),
            "cbf.write-bad-index");
  const std::uint32_t many[] = {0x80000000u};
  EXPECT_EQ(refusal({.streams = sparse}, {{.samples = 1, .values = values, .indices = bad, .entries = many}}),
            "cbf.write-too-many-entries");
}

TEST(CbfWriter, RefusesSamplesWithoutTheirData) {
  const float values[] = {1, 2};
  const std::int32_t index[] = {3};
  const std::uint32_t one[] = {1}, none[] = {0};
  const CbfWriterOptions dense{.streams = {{.name = "d", .dim = 2}}};
  const CbfWriterOptions sparse{.streams = {{.name = "s", .dim = 5, .storage = Storage::sparse}}};
  EXPECT_EQ(refusal(dense, {{.samples = 1}}), "cbf.write-no-data");
  EXPECT_EQ(refusal(sparse, {{.samples = 1, .values = values, .indices = index}}), "cbf.write-no-data");
  EXPECT_EQ(refusal(sparse, {{.samples = 1, .values = values, .entries = one}}), "cbf.write-no-data");
  EXPECT_EQ(refusal(sparse, {{.samples = 1, .indices = index, .entries = one}}), "cbf.write-no-data");
  EXPECT_EQ(refusal(sparse, {{.samples = 1, .entries = none}}), "") << "an empty sample has no data";
}

TEST(CbfWriter, WhatItRefusesNamesTheFile) {
  const ScratchFolder folder;
  const std::string path = folder / "x.cbf";
  const Fault streams = ::batchfeed::testing::fault_of([&] { CbfWriter(path, {}); });
  EXPECT_EQ(streams.text(), path + ": no streams to write, at least one is needed");
  CbfWriter writer(path, {.streams = {{.name = "d", .dim = 2}}});
  const std::vector<SequenceData> empty = {{.samples = 0}};
  const Fault fault = ::batchfeed::testing::fault_of([&] { writer.append(empty); });
  EXPECT_EQ(fault.at.file, path);
  EXPECT_EQ(fault.what, "sequence 0: no stream has a sample");
}

TEST(CbfWriter, RefusesWhatTheLegacyLayoutCannotHold) {
  const float values[] = {1, 2};
  const std::int32_t index[] = {0};
  const std::uint32_t tail[] = {1, 0};
  const std::vector<StreamInfo> sparse = {{.name = "s", .dim = 0x7FFFFFFF, .storage = Storage::sparse}};
  EXPECT_EQ(refusal({.streams = {{.name = "d", .dim = 1}}, .legacy = true}, {{.samples = 2, .values = values}}),
            "cbf.write-legacy-dense");
  EXPECT_EQ(refusal({.streams = sparse, .legacy = true},
                    {{.samples = 2, .values = values, .indices = index, .entries = tail}}),
            "cbf.write-legacy-empty-sample");
  const std::uint32_t late[] = {0, 1};
  EXPECT_EQ(refusal({.streams = sparse, .legacy = true},
                    {{.samples = 2, .values = values, .indices = index, .entries = late}}),
            "cbf.write-legacy-too-large");
}

TEST(CbfWriter, RefusesAChunkOfOtherStreams) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = {{.name = "d", .dim = 2}}});
  Chunk chunk;
  chunk.reset({{.name = "d", .dim = 3}});
  EXPECT_EQ(id_of([&] { writer.append(chunk, 0); }), "cbf.write-stream-kind");
}

TEST(CbfWriter, GoesOnAfterARefusal) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab});
  writer.append(kFirst.data());
  EXPECT_THROW(writer.append(Example{{1, 2}, 1, {1}, {5}, {1}}.data()), Error);
  writer.append(kSecond.data());
  writer.commit();
  EXPECT_EQ(bytes_of(folder / "x.cbf"), golden::modern());
}

TEST(CbfKeys, AreKeptBesideTheFile) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .keys = true});
  writer.append(kFirst.data(), "7");
  EXPECT_EQ(id_of([&] { writer.append(kSecond.data(), "a\nb"); }), "cbf.write-bad-key");
  writer.append(kSecond.data(), "utterance b");
  writer.commit();
  EXPECT_EQ(bytes_of(folder / "x.cbf"), golden::modern());
  const Opened opened(folder / "x.cbf");
  EXPECT_EQ(opened.source->key_text(0), "7");
  EXPECT_EQ(opened.source->key_text(1), "utterance b");
  EXPECT_EQ(opened.source->key_text(2), "2");
}

TEST(CbfKeys, AreNumbersWhereNoneIsGiven) {
  const ScratchFolder folder;
  CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab, .keys = true});
  writer.append(kFirst.data());
  writer.append(kSecond.data(), "b");
  writer.append(kSecond.data());
  writer.commit();
  const Opened opened(folder / "x.cbf");
  EXPECT_EQ(opened.source->key_text(0), "0");
  EXPECT_EQ(opened.source->key_text(1), "b");
  EXPECT_EQ(opened.source->key_text(2), "2");
}

TEST(CbfKeys, OfOtherDataAreIgnored) {
  const ScratchFolder folder;
  const Bytes data = golden::modern();
  folder.write("x.cbf", std::string(data.begin(), data.end()));
  for (const char* text : {"", "#batchfeed-keys 1\na\nb\n#end 2 192\n", "#batchfeed-keys 1\na\n#end 2 191\n",
                           "#batchfeed-keys 1\na\nb\nc\n#end 2 191\n", "#batchfeed-keys 2\na\nb\n#end 2 191\n",
                           "#batchfeed-keys 1\na\nb#end 2 191\n"}) {
    folder.write("x.cbf.keys", text);
    EXPECT_EQ(Opened(folder / "x.cbf").source->key_text(1), "1") << text;
  }
  folder.write("x.cbf.keys", "#batchfeed-keys 1\na\nb\n#end 2 191\n");
  EXPECT_EQ(Opened(folder / "x.cbf").source->key_text(1), "b");
}

TEST(CbfKeys, OfAnOlderFileAreRemovedAndOthersAreNot) {
  const ScratchFolder folder;
  for (const bool ours : {true, false}) {
    folder.write("x.cbf.keys", ours ? "#batchfeed-keys 1\na\n#end 1 5\n" : "my notes, longer than a head\n");
    CbfWriter writer(folder / "x.cbf", {.streams = kFeatLab});
    writer.append(kFirst.data());
    writer.commit();
    EXPECT_EQ(std::filesystem::exists(folder / "x.cbf.keys"), !ours);
  }
  EXPECT_THROW(CbfWriter(folder / "x.cbf", {.streams = kFeatLab, .keys = true, .replace = true}), Error);
}

// One stream of one sequence.
struct Drawn {
  std::vector<double> f64;
  std::vector<float> f32;
  std::vector<std::int32_t> indices;
  std::vector<std::uint32_t> entries;
  std::uint32_t samples = 0;

  SequenceData data(Element element) const {
    const void* const values =
        element == Element::f32 ? static_cast<const void*>(f32.data()) : static_cast<const void*>(f64.data());
    return {.samples = samples, .values = values, .indices = indices.data(), .entries = entries.data()};
  }
};

Drawn draw(const StreamInfo& stream, bool legacy, bool may_be_empty) {
  Drawn s;
  const bool dense = stream.storage == Storage::dense;
  const auto dim = static_cast<std::uint32_t>(stream.dim);
  s.samples = legacy && dense ? 1 : *rc::gen::inRange(may_be_empty ? 0u : 1u, 5u);
  for (std::uint32_t n = 0; n < s.samples; ++n) {
    const std::uint32_t least = legacy && n + 1 == s.samples ? 1 : 0;
    const auto entries = dense ? dim : *rc::gen::inRange<std::uint32_t>(least, dim + 1);
    s.entries.push_back(entries);
    for (std::uint32_t k = 0; k < entries; ++k) {
      s.f64.push_back(*rc::gen::arbitrary<float>());
      s.f32.push_back(static_cast<float>(s.f64.back()));
      s.indices.push_back(static_cast<std::int32_t>(k));
    }
  }
  return s;
}

void check_row(const Drawn& s, const Column& column, std::uint32_t row) {
  RC_ASSERT(column.samples(row) == s.samples);
  const bool dense = column.storage == Storage::dense;
  const std::uint64_t first = dense ? column.begin[row] : column.first_value[column.first_sample[row]];
  for (std::size_t k = 0; k < s.f64.size(); ++k) {
    const double value = column.element == Element::f32 ? static_cast<double>(column.as<float>()[first + k])
                                                        : column.as<double>()[first + k];
    RC_ASSERT(value == s.f64[k]);
    if (!dense) RC_ASSERT(column.indices[first + k] == s.indices[k]);
  }
}

// Random corpora: a chunk written and read is the same, row by row, and written
// again gives the same bytes.
void check_round_trip(bool legacy, Element element) {
  const auto streams_count = *rc::gen::inRange(1, 4);
  std::vector<StreamInfo> streams;
  for (int i = 0; i < streams_count; ++i) {
    streams.push_back({.name = "s" + std::to_string(i),
                       .dim = *rc::gen::inRange<std::uint64_t>(1, 6),
                       .storage = *rc::gen::arbitrary<bool>() ? Storage::sparse : Storage::dense,
                       .element = element});
  }
  const ScratchFolder folder;
  const auto chunk_bytes = *rc::gen::inRange<std::uint64_t>(1, 400);
  CbfWriter writer(folder / "a.cbf", {.streams = streams, .chunk_bytes = chunk_bytes, .legacy = legacy});
  const auto sequences = *rc::gen::inRange<std::size_t>(1, 20);
  std::vector<std::vector<Drawn>> corpus(sequences);
  for (auto& sequence : corpus) {
    std::vector<SequenceData> data;
    for (const StreamInfo& stream : streams) sequence.push_back(draw(stream, legacy, !sequence.empty()));
    for (const Drawn& s : sequence) data.push_back(s.data(element));
    writer.append(data);
  }
  writer.commit();
  const Opened opened(folder / "a.cbf", {.element = element}, true);
  RC_ASSERT(opened.notices.empty());
  CbfWriter again(folder / "b.cbf", {.streams = streams, .chunk_bytes = chunk_bytes, .legacy = legacy});
  std::size_t number = 0;
  Chunk chunk;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < opened.source->chunks().size(); ++c) {
    opened.source->read(c, chunk);
    opened.source->sequences(c, table);
    for (const SequenceInfo& info : table) {
      RC_ASSERT(info.key == number);
      for (std::size_t i = 0; i < streams.size(); ++i) check_row(corpus[number][i], chunk.columns[i], info.row);
      again.append(chunk, info.row);
      ++number;
    }
  }
  RC_ASSERT(number == sequences);
  again.commit();
  RC_ASSERT(bytes_of(folder / "a.cbf") == bytes_of(folder / "b.cbf"));
}

TEST(CbfWriter, WhatIsWrittenIsRead) {
  EXPECT_TRUE(rc::check("modern, float", [] { check_round_trip(false, Element::f32); }));
  EXPECT_TRUE(rc::check("modern, double", [] { check_round_trip(false, Element::f64); }));
  EXPECT_TRUE(rc::check("legacy, float", [] { check_round_trip(true, Element::f32); }));
  EXPECT_TRUE(rc::check("legacy, double", [] { check_round_trip(true, Element::f64); }));
}

}  // namespace
}  // namespace batchfeed::cbf
