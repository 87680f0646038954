// SPDX-License-Identifier: MIT
//
// Limits that belong to no single folder: at the limit all is well, one beyond
// it there is a fault of kind `limit` that names the field.
#include <batchfeed/config.h>
#include <batchfeed/tools.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "formats/ctf/ctf.h"
#include "formats/htk/htk.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::testing {
namespace {

using ::testing::HasSubstr;

template <class Do>
void expect_limit(const char* field, Do&& action, const char* id = nullptr) {
  try {
    action();
    ADD_FAILURE() << field << " was not enforced";
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().kind, FaultKind::limit) << e.what();
    EXPECT_THAT(e.fault().hint, HasSubstr(field)) << e.what();
    EXPECT_EQ(e.fault().id, id == nullptr ? e.fault().id : id);
  }
}

TEST(Limits, LineBytes) {
  const ScratchFolder folder;
  const std::string line = "0 |a " + std::string(1 << 20, ' ') + "1\n";
  const std::string path = folder.write("c.ctf", "7 |a 1\n" + line + line);
  const auto open = [&](std::uint64_t limit) {
    CtfOptions options{.files = {path}, .streams = {{.name = "a", .dim = 1}}};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    context.limits.line_bytes = limit;
    Chunk chunk;
    ctf::open(options, path, context)->read(0, chunk);
    return chunk.columns.at(0).values.size();
  };
  EXPECT_EQ(open(line.size()), 3 * sizeof(float));
  EXPECT_EQ(open(line.size() - 1), 3 * sizeof(float));  // with its line end
  expect_limit("line_bytes", [&] { open(line.size() - 2); });
  // What fits a block passes, whatever reads it in smaller ones.
  const std::string small = "0 |a " + std::string(400 << 10, ' ') + "1\n";
  static_cast<void>(folder.write("c.ctf", "7 |a 1\n" + small + small));
  EXPECT_EQ(open(1000), 3 * sizeof(float));
}

// Seven bytes hold at most three values; a row that is too short is filled up.
TEST(Limits, ImpliedValuesOfText) {
  const ScratchFolder folder;
  const std::string path = folder.write("c.ctf", "0 |a 1\n");
  const auto open = [&](std::uint64_t dim, Element element) {
    CtfOptions options{.files = {path}, .streams = {{.name = "a", .dim = dim}}, .element = element};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    context.limits.implied_samples = 100;
    Chunk chunk;
    ctf::open(options, path, context)->read(0, chunk);
    return chunk.columns.at(0).values.size();
  };
  EXPECT_EQ(open(103, Element::f32), 103 * sizeof(float));
  for (const Element element : {Element::f32, Element::f64}) {
    for (const std::uint64_t dim : {std::uint64_t{104}, (std::uint64_t{1} << 31) - 1})
      expect_limit(
          "implied_samples", [&] { open(dim, element); }, "limit.implied-values");
  }
}

TEST(Limits, ChunkValuesOfFrames) {
  const ScratchFolder folder;
  const std::string htk = folder.write("u.htk", htk_file(ramp(16), {.dim = 2}));
  const std::string list = folder.write("x.scp", "u=" + htk + "[0,3]\nv=" + htk + "[4,7]\n");
  const auto chunks = [&](std::uint64_t frames, std::uint64_t limit) {
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    context.limits.chunk_values = limit;
    return htk::open({.name = "x", .scp_files = {list}, .chunk_frames = frames}, context)->chunks().size();
  };
  EXPECT_EQ(chunks(4, 16), 1u);
  expect_limit(
      "chunk_values", [&] { chunks(4, 15); }, "limit.chunk-values");
  EXPECT_EQ(chunks(3, 15), 2u);
  EXPECT_EQ(chunks(3, 8), 2u);
  expect_limit(
      "chunk_values", [&] { chunks(3, 7); }, "limit.chunk-values");
}

// Whatever the limit, samples are counted in 32 bits.
TEST(Limits, FramesOfAChunk) {
  const ScratchFolder folder;
  const std::uint64_t frames = 0x7FFFFFFF;
  const std::string htk = folder.write("u.htk", be32(frames) + be32(100'000) + be16(4) + be16(9));
  std::filesystem::resize_file(htk, 12 + 4 * frames);  // sparse
  std::string list;
  for (const char* const key : {"u", "v", "w"}) list += key + ("=" + htk) + "[0,2147483646]\n";
  const HtkOptions options{.name = "x", .scp_files = {folder.write("x.scp", list)}, .chunk_frames = 3 * frames};
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  context.limits.chunk_values = 3 * frames;
  const auto source = htk::open(options, context);
  EXPECT_EQ(source->chunks().at(0).samples, 3 * frames);
  Chunk chunk;
  EXPECT_EQ(id_of([&] { source->read(0, chunk); }), "limit.chunk-values");
}

// A sequence that lacks a stream is left out, but keeps its place in every column.
TEST(Limits, PlacesOfLostSequences) {
  const ScratchFolder folder;
  const std::string path = folder.write("c.ctf", "0|a|b|c|d\n1|a\n2|b\n");  // of 18 bytes
  const auto open = [&](std::uint64_t limit) {
    CtfOptions options{.files = {path}, .streams = {}, .max_errors = 9};
    for (const char* name : {"a", "b", "c", "d"}) options.streams.push_back({.name = name, .dim = 1});
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    context.limits.implied_samples = limit;
    Chunk chunk;
    ctf::open(options, path, context)->read(0, chunk);
    return chunk.columns.at(0).values.size();
  };
  EXPECT_EQ(open(16), sizeof(float));
  expect_limit(
      "implied_samples", [&] { open(15); }, "limit.lost-sequences");
}

TEST(Limits, StateBytes) {
  const ScratchFolder folder;
  save_state(folder / "state", std::string(99, 'x'));
  Limits limits;
  limits.state_bytes = 100;  // with the newline behind it
  EXPECT_EQ(load_state(folder / "state", limits).size(), 99u);
  limits.state_bytes = 99;
  expect_limit("state_bytes", [&] { load_state(folder / "state", limits); });
}

TEST(Limits, ConfigExpansions) {
  const ScratchFolder folder;
  const std::string path = folder.write("c.cntk",
                                        "v = \"7\"\nreader = [ readerType = CNTKTextFormatReader ; file = "
                                        "\"c$v$$v$$v$.ctf\" ; input = [ a = [ dim = 1 ; format = dense ] ] ]\n");
  ConfigRequest request{.files = {path}, .section = "reader"};
  request.limits.config_expansions = 3;
  EXPECT_EQ(load_config(request).setup.sources.size(), 1u);
  request.limits.config_expansions = 2;
  expect_limit("config_expansions", [&] { load_config(request); });
}

}  // namespace
}  // namespace batchfeed::testing
