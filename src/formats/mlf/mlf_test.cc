// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/piece.h"
#include "compressed/compressed.h"
#include "formats/mlf/testing.h"
#include "support/counted_files.h"
#include "support/fault_of.h"
#include "support/speech.h"

namespace batchfeed::mlf {
namespace {

using ::batchfeed::testing::id_of;
using ::batchfeed::testing::le16;
using ::batchfeed::testing::le32;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST_F(Mlf, ReadsStateLists) {
  folder_.write("states", "a\n\nb\r\nc\n");
  EXPECT_EQ(read(one("0 1 a\n1 2 b\n2 3 c\n"))["u"], (Classes{0, 1, 2}));
  folder_.write("states", "a\n\nb\r\nc");
  EXPECT_EQ(read(one("0 1 a\n1 2 b\n2 3 c\n"))["u"], (Classes{0, 1, 2}));
  folder_.write("states",
                "\xEF\xBB\xBF"
                "a\nb\nc\n");
  EXPECT_EQ(read(one("0 1 a\n1 2 b\n2 3 c\n"))["u"], (Classes{0, 1, 2}));
  for (const char* mark : {"\xFF\xFE", "\xFE\xFF"}) {
    folder_.write("states", mark + std::string("a\0\n\0", 4));
    EXPECT_EQ(fault(one("0 1 a\n")).id, "io.utf16");
  }
  folder_.write("states", "a\nb\na\n");
  const Fault twice = fault(one("0 1 a\n"));
  EXPECT_EQ(twice.id, "mlf.repeated-state");
  EXPECT_EQ(twice.at.line, 3u);
  folder_.write("states", "\n\n");
  EXPECT_EQ(fault(one("0 1 a\n")).id, "mlf.no-states");
  folder_.write("states", "a\nb\n");
  limits_.mlf_states = 1;
  EXPECT_EQ(fault(one("0 1 a\n")).id, "limit.mlf-states");
  limits_ = {.list_line_bytes = 10};
  folder_.write("states", "a\nlonger than 10\n");
  const Fault line = fault(one("0 1 a\n"));
  EXPECT_EQ(line.id, "limit.line");
  EXPECT_EQ(line.at.line, 2u);
}

TEST_F(Mlf, MarksPhoneBoundaries) {
  options_.phone_boundaries = true;
  for (const Element element : {Element::f32, Element::f64}) {
    options_.element = element;
    std::map<std::string, std::vector<double>> values;
    read(*open({one("0 300000 a\n300000 500000 a\n")}), &values);
    EXPECT_THAT(values["u"], ElementsAre(2, 1, 1, 2, 1));
  }
  EXPECT_EQ(read(one("0 3 a\n3 3 b\n"))["u"], kInvalid);
  EXPECT_EQ(reported_.back().id, "mlf.empty-segment");
  options_.frame_mode = true;
  EXPECT_EQ(fault(one("0 3 a\n")).id, "mlf.phone-boundaries");
  options_.frame_mode = false;
  options_.binary = true;
  EXPECT_EQ(fault(one("0 3 a\n")).id, "mlf.phone-boundaries");
}

TEST_F(Mlf, ReadsSeveralFiles) {
  const auto source = open({one("0 1 a\n", "u"), "#!MLF!#\n\"u\"\n0 1 b\n.\n\"v\"\n0 1 c\n.\n"});
  EXPECT_THAT(read(*source), UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{2})));
  EXPECT_THAT(told(*source)["mlf.duplicate-key"], HasSubstr("1 repeated"));
  EXPECT_EQ(source->notices()[0].fault.at.file, options_.files[1]);
  EXPECT_EQ(source->chunks().size(), 2u);
  options_.legacy = true;
  EXPECT_EQ(testing::fault_of([&] { open({one("0 1 a\n", "u"), one("0 1 a\n", "u")}); }).hint, "remove one of them");
}

// The same file may be listed many times.
TEST_F(Mlf, ReadsAFileThatIsListedAgainOnce) {
  open({one("0 1 a\n", "u"), "#!MLF!#\n\"v\"\n0 1 b\n.\n\"w\"\n0 1 c\n.\n"});
  options_.files.push_back(options_.files[1]);
  options_.files.push_back(folder_.write("mlf3", one("0 2 c\n", "x")));
  const auto source = open();
  EXPECT_THAT(read(*source), UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{1}), Pair("w", Classes{2}),
                                                  Pair("x", Classes{2, 2})));
  EXPECT_THAT(told(*source)["mlf.duplicate-key"], HasSubstr("2 repeated"));
  EXPECT_EQ(source->notices()[0].fault.at.file, options_.files[2]);
  check_ = true;
  reported_.clear();
  open();
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_THAT(reported_[0].what, HasSubstr("listed a second time"));
  options_.legacy = true;
  check_ = false;
  EXPECT_THROW(open(), Error);
}

// Keys are numbered in batches, yet in their order, and a key that is repeated in a later batch is found.
TEST_F(Mlf, NumbersManyKeysInTheirOrder) {
  std::string text = "#!MLF!#\n", more = text;
  for (int i = 0; i < 3000; ++i)
    text += "\"u" + std::to_string(i) + ".lab\"\n0 " + std::to_string(1 + i % 2) + " a\n.\n";
  more += "\"v.lab\"\n0 1 b\n.\n\"u1500.lab\"\n0 1 b\n.\n";
  const auto source = open({text + "\"u5.lab\"\n0 1 b\n.\n", more});
  std::vector<SequenceInfo> table;
  source->sequences(0, table);
  ASSERT_EQ(table.size(), 3000u);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(table[i].key, i);
    ASSERT_EQ(table[i].samples, 1 + i % 2);
    ASSERT_EQ(source->key_text(i), "u" + std::to_string(i));
  }
  source->sequences(1, table);
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(source->key_text(table[0].key), "v");
  EXPECT_THAT(told(*source)["mlf.duplicate-key"], HasSubstr("2 repeated"));
}

TEST_F(Mlf, CutsChunksByBytes) {
  std::string text = "#!MLF!#\n";
  for (int i = 0; i < 10; ++i) text += "\"u" + std::to_string(i) + "\"\n0 3 a\n.\n";
  const auto all = read(text);
  EXPECT_EQ(all.size(), 10u);
  options_.chunk_bytes = 30;  // 14 bytes each
  EXPECT_EQ(open({text})->chunks().size(), 5u);
  EXPECT_EQ(read(text), all);
  options_.chunk_bytes = 1;
  EXPECT_EQ(open({text})->chunks().size(), 10u);
  options_.chunk_bytes = 1000;
  limits_.label_frames = 6;
  EXPECT_EQ(open({text})->chunks().size(), 5u);
  EXPECT_EQ(read(text), all);
}

// What lies between the utterances of a chunk may be more than is read at once.
TEST_F(Mlf, ReadsAChunkInParts) {
  std::string text = one("0 1 a\n", "u") + "\"v\"\n0 1 b\n.\n";
  const std::string blanks = std::string(1023, ' ') + '\n';
  while (text.size() < piece_bytes(64 << 20)) text += blanks;
  options_.chunk_bytes = text.size() + 100;
  const auto source = open({text + "\"w\"\n0 2 c\n.\n\"x\"\n0 1 a\n.\n"});
  EXPECT_EQ(source->chunks().size(), 1u);
  EXPECT_THAT(read(*source), UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{1}),
                                                  Pair("w", Classes{2, 2}), Pair("x", Classes{0})));
}

// An utterance is held as a whole, so a compressed file may not say much of one in a few bytes.
TEST_F(Mlf, TheBytesOfAnUtteranceOfACompressedFileAreBounded) {
  if (!compressed::supported(compressed::Codec::gzip)) GTEST_SKIP() << "built without zlib";
  const std::string text = one("0 1 a\n", "u") + "\"v\"\n0 1 b\n" + std::string(1000, '\n') + ".\n";
  const std::string packed = testing::stored_gzip(text);
  EXPECT_EQ(read(packed).size(), 2u);
  options_.cache_index = true;
  open({packed});
  limits_.line_bytes = 1012;
  EXPECT_EQ(open({packed})->chunks().size(), 1u);
  --limits_.line_bytes;
  for (const bool cached : {true, false}) {
    options_.cache_index = cached;
    const Fault f = fault(packed);
    EXPECT_EQ(f.id, "limit.line");
    EXPECT_EQ(f.at.line, 5u);
    EXPECT_EQ(f.what, "the utterance has 1012 bytes, the limit is 1011");
    EXPECT_EQ(f.hint, "if you trust it, raise limits.line_bytes, or unpack the file first");
  }
  EXPECT_EQ(read(text).size(), 2u) << "of a plain file they are in it";
}

TEST_F(Mlf, ReplacesClassesByTargets) {
  options_.legacy = true;
  options_.target_dim = 2;
  folder_.write("states", "a\nb\n");
  options_.target_mapping_file = folder_.write("targets", "a 10\nb 01\n");
  const auto source = open({one("0 1 a\n1 2 b\n")});
  EXPECT_EQ(source->streams()[0].dim, 2u);
  EXPECT_EQ(read(*source)["u"], (Classes{0, 1}));
  for (const std::string bad : {"a 1x\nb 01\n", "b 01\na 10\n", "a 10\n", "a 10\nb 011\n", "a 10\nb 01\nc 11\n"}) {
    folder_.write("targets", bad);
    EXPECT_EQ(fault(one("0 1 a\n")).id, "mlf.targets") << bad;
  }
  folder_.write("targets", "a 10\nb 0x\n");
  const Fault bit = fault(one("0 1 a\n"));
  EXPECT_EQ(bit.at.line, 2u);
  EXPECT_EQ(bit.at.column, 4u);
  EXPECT_EQ(bit.at.byte, 8u);
  options_.target_dim = 0;
  EXPECT_EQ(fault(one("0 1 a\n")).id, "mlf.targets");
}

std::string binary(const std::string& entries, int version = 2) {
  return "MLF" + le16(static_cast<std::uint16_t>(version)) + entries;
}
std::string runs(std::uint32_t frames, const std::vector<std::pair<int, int>>& segments) {
  std::string out = le32(frames) + le16(static_cast<std::uint16_t>(segments.size()));
  for (const auto& [state, n] : segments)
    out += le16(static_cast<std::uint16_t>(state)) + le16(static_cast<std::uint16_t>(n));
  return out;
}

TEST_F(Mlf, ReadsTheBinaryForm) {
  options_.binary = true;
  options_.mapping_file.clear();
  const std::string u = le16(1) + "u" + runs(3, {{0, 2}, {1, 1}});
  EXPECT_EQ(read(binary(u)), (std::map<std::string, Classes>{{"u", {0, 0, 1}}}));
  EXPECT_EQ(read(binary(le32(12) + runs(1, {{2, 1}}), 1)), (std::map<std::string, Classes>{{"12", {2}}}));
  EXPECT_EQ(read(binary(le16(7) + "*/u.lab" + runs(1, {{2, 1}}))).count("*/u.lab"), 1u);
  EXPECT_EQ(fault(binary(u, 3)).id, "mlf.binary-version");
  EXPECT_EQ(fault("MLX" + le16(2) + u).id, "mlf.binary-header");
  EXPECT_EQ(fault("ML").id, "mlf.binary-header");
  EXPECT_EQ(fault(binary(le16(1) + "u" + runs(4, {{0, 2}, {1, 1}}))).id, "mlf.binary-frames");
  EXPECT_EQ(fault(binary(le16(1) + "u" + runs(0, {}))).id, "mlf.binary-frames");
  const Fault range = fault(binary(u + le16(1) + "v" + runs(1, {{5, 1}})));
  EXPECT_EQ(range.id, "mlf.class-range");
  EXPECT_EQ(range.at.byte, 5 + u.size() + 3 + 6);
  EXPECT_THAT(range.what, HasSubstr("'v'"));
  EXPECT_EQ(fault(binary(le16(257) + std::string(300, 'k'))).id, "mlf.binary-key");
  EXPECT_EQ(fault(binary(u + le16(1) + "v" + le32(1))).id, "mlf.binary-short");
  EXPECT_EQ(fault(binary(u + le16(1) + "v" + le32(1) + le16(2) + le32(0))).id, "mlf.binary-short");
  const auto cut = open({binary(u + le16(9) + "v")});
  EXPECT_EQ(read(*cut).size(), 1u);
  EXPECT_THAT(told(*cut)["mlf.cut-short"], HasSubstr("1 utterance"));
}

// Up to 2 Mi frames may come from a few bytes; more need a byte of the file for every label_ratio frames.
TEST_F(Mlf, FramesBesideBytesAreBounded) {
  options_.mapping_file.clear();
  options_.dim = 3;
  for (const bool text : {false, true}) {
    options_.binary = !text;
    const std::uint64_t any = std::uint64_t{1} << 21;
    const auto file = [&](std::uint64_t frames) {
      const std::string n = std::to_string(frames * 100'000);
      return text ? one("0 " + n + " x 0\n") : binary(le16(1) + "u" + runs(static_cast<std::uint32_t>(frames), {}));
    };
    limits_ = {};
    if (text) limits_.sequence_samples = limits_.label_frames = ~0ull;
    EXPECT_NO_THROW(open({file(any), file(any)}));  // files are counted separately
    const Fault f = fault(file(any + 1));
    EXPECT_EQ(f.kind, FaultKind::limit);
    EXPECT_EQ(f.id, "limit.label-ratio");
    EXPECT_THAT(f.hint, HasSubstr("limits.label_ratio"));
    EXPECT_EQ(f.at.byte, text ? 8u : 5u);
    const std::uint64_t bytes = file(any + 1).size();
    limits_.label_ratio = any / bytes + 1;
    EXPECT_EQ(open({file(any + 1)})->chunks().size(), 1u);
    EXPECT_EQ(open({file(bytes * limits_.label_ratio)})->chunks().size(), 1u);
    EXPECT_EQ(fault(file(bytes * limits_.label_ratio + 1)).id, "limit.label-ratio");
  }
}

// A short text that stands for hours is refused, however many bytes other utterances have.
TEST_F(Mlf, FramesBesideTheBytesOfAnUtteranceAreBounded) {
  std::string others;
  for (int i = 0; i < 3000; ++i) others += "\"v" + std::to_string(i) + "\"\n0 100000 a\n.\n";
  const std::string hours = "\"u\"\n0 1200000000000 a\n.\n";
  const Fault f = fault("#!MLF!#\n" + others + hours);
  EXPECT_EQ(f.id, "limit.label-ratio");
  EXPECT_THAT(f.what, HasSubstr("the labels are of 12000000 frames, the utterance has 24 bytes"));
  limits_.label_ratio = 12'000'000;
  EXPECT_EQ(open({"#!MLF!#\n" + others + hours})->chunks().size(), 2u);  // the long utterance gets a chunk of its own
}

TEST_F(Mlf, CheckReportsAllAndGoesOn) {
  check_ = true;
  const auto source =
      open({"#!MLF!#\n\"u\"\n0 1 zz\n.\n\"v\"\n0 x a\n.\n\"w\"\n1 2 a\n.\n\"x\"\n0 1 a\n.\n\"e\"\n.\n"});
  EXPECT_EQ(read(*source), (std::map<std::string, Classes>{{"u", kInvalid}, {"w", kInvalid}, {"x", {0}}}));
  std::vector<std::string> ids;
  for (const Fault& f : reported_) ids.push_back(f.id);
  EXPECT_THAT(ids, ElementsAre("mlf.damaged", "mlf.time", "mlf.no-labels", "mlf.unknown-label", "mlf.start"));
}

TEST_F(Mlf, ALimitDoesNotEndACheck) {
  check_ = lists_all_ = true;
  limits_.label_frames = 100;
  const std::string text = "#!MLF!#\n\"u\"\n0 1e8 a\n.\n\"v\"\n0 x a\n.\n\"x\"\n0 1 a\n.\n\"" + std::string(5000, 'y') +
                           "\"\n0 1 a\n.\n\"z\"\n0 1 a\n.\n";
  EXPECT_EQ(read(text), (std::map<std::string, Classes>{{"x", {0}}, {"z", {0}}}));
  std::vector<std::string> ids;
  for (const Fault& f : reported_) ids.push_back(f.id);
  EXPECT_THAT(ids, ElementsAre("limit.label-frames", "mlf.damaged", "mlf.time", "limit.key"));
  lists_all_ = false;
  EXPECT_EQ(fault(text).id, "limit.label-frames");
}

TEST_F(Mlf, CheckGoesOnBehindABinaryUtteranceWithoutFrames) {
  check_ = options_.binary = true;
  options_.mapping_file.clear();
  const std::string none = le16(1) + "u" + runs(0, {{1, 1}}), sound = le16(1) + "v" + runs(1, {{2, 1}});
  EXPECT_EQ(read(binary(none + sound + none)), (std::map<std::string, Classes>{{"v", {2}}}));
  ASSERT_EQ(reported_.size(), 2u);
  EXPECT_EQ(reported_[0].id, "mlf.binary-frames");
  EXPECT_EQ(reported_[0].at.byte, 8u);
  EXPECT_EQ(reported_[1].at.byte, 8 + none.size() + sound.size());
}

TEST_F(Mlf, ChecksItsOptions) {
  const auto id = [&] { return fault(one("0 1 a\n")).id; };
  options_.dim = 0;
  EXPECT_EQ(id(), "mlf.dim");
  options_.dim = 65536;
  EXPECT_EQ(id(), "mlf.dim");
  options_.dim = 3;
  options_.name = "";
  EXPECT_EQ(id(), "mlf.no-name");
  EXPECT_THROW(mlf::open({.name = "l", .dim = 3}, {}), Error);  // mlf.no-file
}

TEST_F(Mlf, NoticesFilesThatChange) {
  options_.chunk_bytes = 1;
  const auto source = open({one("0 3 a\n")});
  folder_.write("mlf0", one("0 4 a\n"));
  Chunk chunk;
  EXPECT_EQ(id_of([&] { source->read(0, chunk); }), "io.changed");
  const auto again = open({one("0 3 a\n")});
  folder_.write_unseen("mlf0", one("0 4 a\n"));
  try {
    again->read(0, chunk);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "mlf.changed");
    EXPECT_EQ(e.fault().what, "utterance 'u' has 4 frames, it had 3 when the file was indexed");
  }
}

TEST_F(Mlf, NumbersKeysOnRequest) {
  options_.files = {folder_.write("m", one("0 1 a\n", "x7.lab"))};
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  EXPECT_EQ(id_of([&] { mlf::open(options_, context); }), "mlf.numeric-key");
  folder_.write("m", one("0 1 a\n", " 7x.lab"));
  std::vector<SequenceInfo> table;
  mlf::open(options_, context)->sequences(0, table);
  EXPECT_EQ(table[0].key, 7u);
}

TEST_F(Mlf, ACheckFindsEveryKeyThatIsNotANumber) {
  options_.files = {folder_.write("m", one("0 1 a\n", "x.lab") + one("0 2 a\n", "7.lab") + one("0 1 a\n", "y.lab"))};
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  context.check = true;
  std::vector<std::uint64_t> lines;
  context.report = [&](const Notice& n) {
    EXPECT_EQ(n.fault.id, "mlf.numeric-key");
    lines.push_back(n.fault.at.line);
  };
  const auto source = mlf::open(options_, context);
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{2, 10}));
  EXPECT_EQ(source->chunks().at(0).samples, 2u);
}

TEST_F(Mlf, ACheckFindsEveryRepeatedKeyOfTheLegacyReader) {
  options_.legacy = check_ = true;
  options_.files = {folder_.write("m", one("0 1 a\n", "u") + one("0 2 a\n", "v") + one("0 1 a\n", "u") +
                                           one("0 1 a\n", "v") + one("0 3 a\n", "w"))};
  options_.files.push_back(options_.files.front());
  const auto source = open();
  ASSERT_EQ(reported_.size(), 3u);  // of the second file once
  for (const Fault& fault : reported_) EXPECT_EQ(fault.id, "mlf.duplicate-key");
  EXPECT_EQ(reported_[1].at.line, 10u);
  EXPECT_EQ(reported_[2].at.line, 14u);
  EXPECT_EQ(source->chunks().at(0).samples, 6u);
}

}  // namespace
}  // namespace batchfeed::mlf
