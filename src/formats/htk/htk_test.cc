// SPDX-License-Identifier: MIT
#include "formats/htk/htk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/htk/header.h"
#include "formats/htk/htk_testing.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::htk {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::ramp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST_F(Htk, ReadsBothByteOrdersInOneList) {
  folder_.write("big", htk_file({1, 2, 3, 4}, {.dim = 2}));
  folder_.write("little", htk_file({5, 6, 7, 8}, {.dim = 2, .big_endian = false}));
  EXPECT_EQ(htk_file({1, 2}, {.dim = 2}),
            be32(1) + be32(100000) + be16(8) + be16(9) + be32(0x3F800000) + be32(0x40000000));
  const auto source = open("u1=FOLDER/big[0,1]\nu2=FOLDER/little[1,1]\n", {.dim = 2});
  EXPECT_THAT(read(*source), UnorderedElementsAre(::testing::Pair("u1", Frames{{1, 2}, {3, 4}}),
                                                  ::testing::Pair("u2", Frames{{7, 8}})));
  EXPECT_TRUE(source->splits_frames());
  EXPECT_EQ(source->place(0, 1).begin, 12u + 8);
  EXPECT_EQ(source->place(0, 1).end, 12u + 16);
}

TEST_F(Htk, TellsTheByteOrderWithoutAPeriod) {
  folder_.write("a", htk_file({1, 2, 3, 4}, {.dim = 2, .period = 0}));
  EXPECT_EQ(read(*open("u=FOLDER/a[0,1]\n", {.dim = 2}))["u"], (Frames{{1, 2}, {3, 4}}));
  folder_.write("a", htk_file({1, 2, 3, 4}, {.dim = 2, .period = 0, .big_endian = false}));
  EXPECT_EQ(read(*open("u=FOLDER/a[0,1]\n", {.dim = 2}))["u"], (Frames{{1, 2}, {3, 4}}));
}

TEST_F(Htk, NamesKinds) {
  EXPECT_EQ(kind_text(2823), "FBANK_D_A_Z");
  EXPECT_EQ(kind_text(838), "MFCC_E_D_A");
  EXPECT_EQ(kind_text(8198), "MFCC_0");
  EXPECT_EQ(kind_text(11), "PLP");
  EXPECT_EQ(kind_text(6 + 02000 + 010000), "MFCC");
  EXPECT_EQ(kind_text(9 + 0200 + 0400 + 0100000), "USER_D_N_T");
  EXPECT_EQ(kind_text(10), "");
}

TEST_F(Htk, ReadsWideFramesCompressedDataAndGuids) {
  folder_.write("wide", htk_file(std::vector<float>(10000, 2.5F), {.dim = 10000}));
  EXPECT_EQ(open("u=FOLDER/wide[0,0]\n")->streams()[0].dim, 10000u);

  const std::string scales = be32(0x40000000) + be32(0x40800000) + be32(0xBF800000) + be32(0x40400000);
  folder_.write("c", be32(5) + be32(100000) + be16(4) + be16(9 + 02000) + scales + be16(3) + be16(5));
  EXPECT_EQ(read(*open("u=FOLDER/c[0,0]\n", {.dim = 2}))["u"], (Frames{{1, 2}}));
  EXPECT_EQ(read(*open("u=FOLDER/c[0,0]\n", {.dim = 2, .element = Element::f64}))["u"], (Frames{{1, 2}}));
  EXPECT_EQ(fault("u=FOLDER/c[0,1]\n").id, "htk.range");
  folder_.write("plain", htk_file({1, 2}, {.dim = 2}));
  folder_.write("k", htk_file({1, 2}, {.dim = 2, .kind = 9 + 010000}) + "CR");
  EXPECT_EQ(open("u=FOLDER/c[0,0]\nv=FOLDER/plain[0,0]\nw=FOLDER/k[0,0]\n")->chunks()[0].sequences, 3u);

  std::string guid;
  for (char i = 0; i < 16; ++i) guid += i;
  folder_.write("guid", htk_file({7}, {.kind = 12, .before_data = guid}));
  EXPECT_EQ(read(*open("u=FOLDER/guid[0,0]\n"))["u"], (Frames{{7}}));
  folder_.write("user", htk_file({7}));
  EXPECT_THAT(fault("u=FOLDER/guid[0,0]\nv=FOLDER/user[0,0]\n").what,
              HasSubstr("USER;guid=000102030405060708090a0b0c0d0e0f"));
}

TEST_F(Htk, ReadsImagesOfBytes) {
  folder_.write("x-ubyte", be32(2051) + be32(1) + be32(2) + be32(2) + std::string("\x00\x01\xFE\xFF", 4));
  EXPECT_EQ(read(*open("FOLDER/x-ubyte\n", {.dim = 4, .legacy = true}))[folder_ / "x-ubyte"],
            (Frames{{0, 1, 254, 255}}));
  folder_.write("y-ubyte", be32(2049) + be32(1) + be32(2) + be32(2) + "abcd");
  EXPECT_EQ(fault("FOLDER/y-ubyte\n").id, "htk.idx");
  folder_.write("z-ubyte", "abcd");
  EXPECT_EQ(fault("FOLDER/z-ubyte\n").id, "htk.idx");
}

TEST_F(Htk, CutsWindowsAtTheEdges) {
  folder_.write("a", htk_file(ramp(4)));
  const auto windows = [&](HtkOptions options) { return read(*open("u=FOLDER/a[0,3]\n", std::move(options)))["u"]; };
  const Frames symmetric{{1, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 4}};
  EXPECT_EQ(windows({.dim = 3}), symmetric);
  EXPECT_EQ(windows({.dim = 3, .context = {{0, 0}}}), symmetric);
  EXPECT_EQ(windows({.dim = 1, .context = {{1, 1}}}), symmetric);
  EXPECT_EQ(windows({.dim = 1, .context = {{1, 1}}, .element = Element::f64}), symmetric);
  EXPECT_EQ(windows({.dim = 1, .context = {{2, 0}}}), (Frames{{1, 1, 1}, {1, 1, 2}, {1, 2, 3}, {2, 3, 4}}));
  EXPECT_EQ(windows({.dim = 1, .context = {{0, 2}}}), (Frames{{1, 2, 3}, {2, 3, 4}, {3, 4, 4}, {4, 4, 4}}));
  EXPECT_EQ(windows({.dim = 1}), (Frames{{1}, {2}, {3}, {4}}));
  EXPECT_EQ(read(*open("u=FOLDER/a[1,2]\n", {.dim = 3}))["u"], (Frames{{2, 2, 3}, {2, 3, 3}}));
  EXPECT_EQ(read(*open("u=FOLDER/a[2,2]\n", {.dim = 5}))["u"], (Frames{{3, 3, 3, 3, 3}}));
  EXPECT_EQ(fault("u=FOLDER/a[0,3]\n", {.dim = 4}).id, "window.dim");
  EXPECT_TRUE(fault("u=FOLDER/a[0,3]\n", {.dim = 4}).at.file.ends_with(".scp"));
  EXPECT_EQ(fault("u=FOLDER/a[0,3]\n", {.dim = 2, .context = {{1, 1}}}).id, "window.dim");
  folder_.write("b", htk_file(ramp(4), {.dim = 2}));
  EXPECT_EQ(fault("u=FOLDER/b[0,1]\n", {.dim = 5}).id, "window.dim");
  EXPECT_EQ(read(*open("u=FOLDER/b[0,1]\n", {.dim = 6}))["u"], (Frames{{1, 2, 1, 2, 3, 4}, {1, 2, 3, 4, 3, 4}}));
  limits_.dim = 5;
  EXPECT_EQ(fault("u=FOLDER/b[0,1]\n", {.dim = 6}).id, "limit.dim");
}

TEST_F(Htk, GivesOneVectorPerUtterance) {
  folder_.write("i", htk_file({5, 6, 7, 8}, {.dim = 2}));
  HtkOptions options{.dim = 2, .expand_to_utterance = true};
  const auto source = open("u=FOLDER/i[0,0]\nv=FOLDER/i[1,1]\n", options);
  EXPECT_TRUE(source->streams()[0].broadcast);
  Chunk chunk;
  source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].step, 0u);
  EXPECT_EQ(read(*source)["v"], (Frames{{7, 8}}));
  options.dim = 6;
  EXPECT_EQ(read(*open("u=FOLDER/i[0,0]\n", options))["u"], (Frames{{5, 6, 5, 6, 5, 6}}));
  const Fault two = fault("u=FOLDER/i[0,1]\n", options);
  EXPECT_EQ(two.id, "htk.expand");
  EXPECT_THAT(two.what, HasSubstr("'u'"));
}

// Keys are numbered in batches, yet in the order of the list; keys of entries that are left out get numbers, too.
TEST_F(Htk, NumbersManyKeysInTheirOrder) {
  folder_.write("a", htk_file(ramp(40)));
  std::string lines;
  for (int i = 0; i < 3000; ++i)
    lines += "u" + std::to_string(i) + "=FOLDER/a[0," + std::to_string(i % 3 == 1 ? 20 : 1) + "]\n";
  const auto source = open(lines + "u2000=FOLDER/a[0,1]\n", {.max_sequence_frames = 10});
  for (const std::uint64_t key : {0u, 1u, 1023u, 1024u, 1025u, 2048u, 2999u})
    EXPECT_EQ(keys_->text(key), "u" + std::to_string(key));
  std::vector<SequenceInfo> table;
  source->sequences(0, table);
  ASSERT_EQ(table.size(), 1999u);
  EXPECT_EQ(table[1].key, 2u);
  EXPECT_EQ(table[1998].key, 2999u);
}

TEST_F(Htk, ReadsListsOfAllLineEndsAndSeveral) {
  folder_.write("a", htk_file(ramp(40)));
  EXPECT_EQ(read(*open("\xEF\xBB\xBFu=FOLDER/a[0,1]\r\nv=FOLDER/a[2,3]\rw=.../a[0,0]")).size(), 3u);
  HtkOptions options{
      .name = "f",
      .scp_files = {scp("u=FOLDER/a[0,1]\n", "1.scp"), scp("v=FOLDER/a[0,1]\nw=FOLDER/a[50,51]\n", "2.scp")}};
  try {
    open(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().at.file, folder_ / "2.scp");
    EXPECT_EQ(e.fault().at.line, 2u);
  }
  EXPECT_EQ(fault("\xEF\xBB\xBF|cat a|\n").at.column, 1u) << "the mark is no column";
  limits_.scp_entries = 1;
  EXPECT_EQ(fault("u=FOLDER/a[0,1]\nv=FOLDER/a[0,1]\n").id, "limit.scp-entries");
  EXPECT_EQ(fault("u=FOLDER/a[0,1]\n", {.prefix = "/nowhere"}).kind, FaultKind::io);
  EXPECT_THROW(htk::open({.name = "f"}, {}), Error);         // htk.no-list
  EXPECT_THROW(htk::open({.scp_files = {"x"}}, {}), Error);  // htk.no-name
}

TEST_F(Htk, CutsChunksByFrames) {
  const auto chunks = [&](const std::vector<int>& lengths) {
    std::string lines;
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lines += "u" + std::to_string(i) + "=FOLDER/a[0," + std::to_string(lengths[i] - 1) + "]\n";
    std::vector<std::uint64_t> samples;
    const auto source = open(lines);
    for (const ChunkInfo& c : source->chunks()) samples.push_back(c.samples);
    return samples;
  };
  folder_.write("a", htk_file(std::vector<float>(90000)));
  EXPECT_THAT(chunks({90000, 1, 1}), ElementsAre(90001, 1));
  EXPECT_THAT(chunks({89999, 2, 5}), ElementsAre(90001, 5));
}

TEST_F(Htk, NumbersKeysOnRequest) {
  folder_.write("a", htk_file(ramp(9)));
  HtkOptions options{.name = "f", .scp_files = {scp("17.mfc=FOLDER/a[0,1]\n")}};
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  std::vector<SequenceInfo> table;
  htk::open(options, context)->sequences(0, table);
  EXPECT_EQ(table[0].key, 17u);
  options.scp_files = {scp("u17.mfc=FOLDER/a[0,1]\n")};
  EXPECT_EQ(id_of([&] { htk::open(options, context); }), "htk.numeric-key");
}

TEST_F(Htk, HoldsFewFilesOpen) {
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    folder_.write("f" + std::to_string(i), htk_file({static_cast<float>(i)}));
    lines += "u" + std::to_string(i) + "=FOLDER/f" + std::to_string(i) + "\n";
  }
  const std::size_t before = ::batchfeed::testing::open_descriptors();
  const auto source = open(lines);
  EXPECT_EQ(read(*source).size(), 200u);
  EXPECT_LE(::batchfeed::testing::open_descriptors(), before + 8);
}

}  // namespace
}  // namespace batchfeed::htk
