// SPDX-License-Identifier: MIT
#include "formats/htk/htk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "formats/htk/header.h"
#include "support/each_sequence.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::htk {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::HtkFile;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using Frames = std::vector<std::vector<double>>;

class Htk : public ::testing::Test {
 protected:
  // Writes a list with these lines, in which FOLDER stands for the test's folder.
  std::string scp(std::string lines, const std::string& name = "x.scp") {
    for (std::size_t at; (at = lines.find("FOLDER")) != std::string::npos;)
      lines.replace(at, 6, folder_.path().string());
    return folder_.write(name, lines);
  }
  std::unique_ptr<Source> open(const std::string& lines, HtkOptions options = {}) {
    options.name = "features";
    options.scp_files = {scp(lines)};
    return open(options);
  }
  std::unique_ptr<Source> open(const HtkOptions& options) {
    OpenContext context;
    context.keys = keys_ = std::make_shared<KeyTable>(KeyMode::text);
    context.check = check_;
    context.limits = limits_;
    context.report = [this](const Notice& n) {
      const std::lock_guard lock(mutex_);
      reported_.push_back(n.fault);
    };
    return htk::open(options, context);
  }
  Fault fault(const std::string& lines, HtkOptions options = {}) {
    try {
      const auto source = open(lines, std::move(options));
      Chunk chunk;
      for (std::uint32_t c = 0; c < source->chunks().size(); ++c) source->read(c, chunk);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "no fault";
    return {};
  }
  // The frames of every utterance as they are delivered, by key.
  static std::map<std::string, Frames> read(const Source& source) {
    std::map<std::string, Frames> out;
    ::batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
      const Column& column = chunk.columns[0];
      EXPECT_EQ(column.samples(s.row), s.samples);
      Frames& frames = out[source.key_text(s.key)];
      for (std::uint32_t i = 0; i < s.samples; ++i) {
        std::vector<double>& frame = frames.emplace_back();
        for (std::uint64_t k = 0; k < column.dim; ++k) {
          const std::size_t at = static_cast<std::size_t>(column.begin[s.row] + i * column.step + k);
          frame.push_back(column.element == Element::f32 ? double{column.as<float>()[at]} : column.as<double>()[at]);
        }
      }
    });
    return out;
  }

  ScratchFolder folder_;
  std::shared_ptr<KeyTable> keys_;
  std::mutex mutex_;
  std::vector<Fault> reported_;
  Limits limits_;
  bool check_ = false;
};

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

TEST_F(Htk, RefusesHeadersThatCannotBe) {
  const auto id = [&](const std::string& content) {
    folder_.write("a", content);
    return fault("u=FOLDER/a[0,0]\n").id;
  };
  for (const int kind : {0, 8, 10, 13})
    EXPECT_EQ(id(htk_file({1}, {.kind = static_cast<std::uint16_t>(kind)})), "htk.kind");
  EXPECT_EQ(id(htk_file({1}, {.kind = 9 + 040000})), "htk.kind");
  EXPECT_EQ(id(be32(1) + be32(100000) + be16(10) + be16(9) + std::string(10, 'x')), "htk.frame-size");
  EXPECT_EQ(id(be32(1) + be32(100000) + be16(0) + be16(9)), "htk.frame-size");
  EXPECT_EQ(id(be32(5) + be32(100000) + be16(3) + be16(9 + 02000) + std::string(40, 'x')), "htk.frame-size");
  EXPECT_EQ(id(be32(0xFFFFFFFF) + be32(100000) + be16(4) + be16(9) + be32(0)), "htk.frames");
  EXPECT_EQ(id(be32(3) + be32(100000) + be16(4) + be16(9 + 02000) + std::string(40, 'x')), "htk.frames");
  EXPECT_EQ(id(be32(5) + be32(100000) + be16(400) + be16(9 + 02000)), "htk.header");
  EXPECT_EQ(id(be32(1) + be32(100000) + be16(4) + be16(12) + be32(0)), "htk.header");
  EXPECT_EQ(id("too short"), "htk.header");
  EXPECT_EQ(id(""), "htk.header");
  for (const auto& [head, codec] : {std::pair("\x1f\x8b\x08", "gzip"), std::pair("\x28\xb5\x2f\xfd", "zstd")}) {
    EXPECT_EQ(id(head + std::string(30, '\0')), "htk.kind");
    EXPECT_THAT(fault("u=FOLDER/a[0,0]\n").hint, HasSubstr(std::string("this is a ") + codec + " file; unpack it"));
  }
}

TEST_F(Htk, OfACompressedArchiveSaysThatItIs) {
  for (const auto& [head, codec] : {std::pair("\x1f\x8b\x08", "gzip"), std::pair("\x28\xb5\x2f\xfd", "zstd")}) {
    folder_.write("a", head + std::string(30, '\0'));
    EXPECT_EQ(fault("u=FOLDER/a[0,0]\n").hint,
              std::string("this is a ") + codec + " file; unpack it: archives are not read compressed");
  }
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

TEST_F(Htk, KeepsRangesInsideTheFile) {
  folder_.write("nine", htk_file(ramp(9)));
  EXPECT_EQ(read(*open("u=FOLDER/nine[0,8]\n"))["u"].size(), 9u);
  const Fault range = fault("t=FOLDER/nine[0,1]\nu=FOLDER/nine[0,9]\n");
  EXPECT_EQ(range.id, "htk.range");
  EXPECT_EQ(range.at.line, 2u);
  EXPECT_THAT(range.what, HasSubstr("'u'"));

  folder_.write("cut", htk_file(ramp(7), {.header_frames = 10}));
  EXPECT_EQ(read(*open("u=FOLDER/cut[0,6]\n"))["u"].size(), 7u);
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "htk.cut-short");
  EXPECT_EQ(fault("u=FOLDER/cut[0,7]\n").id, "htk.range");
  EXPECT_EQ(fault("u=FOLDER/cut\n").id, "htk.range");
}

TEST_F(Htk, TellsOfFramesThatTheHeaderDoesNotCount) {
  folder_.write("more", htk_file(ramp(10), {.header_frames = 4}));
  EXPECT_EQ(read(*open("u=FOLDER/more\n"))["u"].size(), 4u);
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "htk.more-frames");
  EXPECT_EQ(reported_[0].at.byte, 12u + 4 * 4);
  // Bytes behind the last frame that are fewer than a frame are ignored.
  reported_.clear();
  folder_.write("junk", htk_file(ramp(4)) + "abc");
  EXPECT_EQ(read(*open("u=FOLDER/junk\n"))["u"].size(), 4u);
  EXPECT_TRUE(reported_.empty());
}

TEST_F(Htk, WantsOneKindDimensionAndPeriod) {
  folder_.write("a", htk_file(ramp(4)));
  folder_.write("period", htk_file(ramp(4), {.period = 50000}));
  folder_.write("kind", htk_file(ramp(4), {.kind = 6}));
  folder_.write("dim", htk_file(ramp(4), {.dim = 2}));
  for (const char* other : {"period", "kind", "dim"}) {
    const Fault f = fault("u=FOLDER/a[0,1]\nv=FOLDER/" + std::string(other) + "[0,1]\n");
    EXPECT_EQ(f.id, "htk.mixed");
    EXPECT_THAT(f.at.file, HasSubstr(other));
    EXPECT_THAT(f.what, HasSubstr(folder_ / "a"));
  }
}

TEST_F(Htk, ListsMissingFilesTogether) {
  folder_.write("a", htk_file(ramp(4)));
  const Fault f = fault("u=FOLDER/a[0,1]\nv=FOLDER/gone1[0,1]\nw=FOLDER/gone2[0,1]\n");
  EXPECT_EQ(f.kind, FaultKind::io);
  EXPECT_THAT(f.what, HasSubstr("1 more of the 3"));
  EXPECT_THAT(f.what, HasSubstr("gone2"));
  EXPECT_THAT(f.what, HasSubstr("x.scp:2, key 'v')"));
  const Fault whole = fault("FOLDER/gone1\nu=FOLDER/a\nv=FOLDER/gone1\nFOLDER/gone2\nFOLDER/gone3\n");
  EXPECT_EQ(whole.kind, FaultKind::io);
  EXPECT_THAT(whole.what, HasSubstr("x.scp:1, key '"));
  EXPECT_THAT(whole.what, HasSubstr("2 more of the 4"));
  EXPECT_THAT(whole.what, HasSubstr("gone3"));
  EXPECT_EQ(fault("u=/dev/null[0,1]\n").id, "io.not-a-file");
  const Fault moved = fault("u=old/a[0,1]\n");
  EXPECT_THAT(moved.hint, HasSubstr("lies beside the list: `path_map = old/="));
  // No rule is proposed for a path that a rule has already changed: it would do nothing.
  EXPECT_THAT(fault("u=old/a[0,1]\n", {.path_map = {{"old/", "new/"}}}).hint, Not(HasSubstr("path_map")));
  EXPECT_THAT(fault("u=old/a[0,1]\n", {.path_map = {{"other/", "new/"}}}).hint, HasSubstr("path_map"));
  EXPECT_THAT(moved.what, HasSubstr("x.scp:1, key 'u')"));
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

TEST_F(Htk, DropsAllOfADuplicateAndCountsThem) {
  folder_.write("a", htk_file(ramp(40)));
  const auto source = open("u=FOLDER/a[0,1]\nv=FOLDER/a[2,3]\n\nu=FOLDER/a[4,5]\n");
  EXPECT_EQ(read(*source).size(), 1u);
  EXPECT_EQ(read(*source)["v"], (Frames{{3}, {4}}));
  std::map<std::string, std::string> told;
  for (const Notice& n : source->notices()) told[n.fault.id] = n.fault.what;
  EXPECT_THAT(told["htk.duplicate-key"], HasSubstr("2 entries"));
  EXPECT_THAT(told["htk.blank-lines"], HasSubstr("1 blank line"));
  EXPECT_EQ(open("u=FOLDER/a[0,1]\nu=FOLDER/a[4,5]\n", {.legacy = true})->chunks()[0].sequences, 2u);
  EXPECT_EQ(fault("u=FOLDER/a[0,1]\nu=FOLDER/a[4,5]\n").id, "htk.no-utterances");
  EXPECT_EQ(fault("\n").id, "htk.no-utterances");
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

TEST_F(Htk, LeavesOutWhatIsTooLong) {
  folder_.write("a", htk_file(ramp(40)));
  folder_.write("none", htk_file({}));
  const auto source =
      open("u=FOLDER/a[0,9]\nv=FOLDER/a[0,10]\nw=FOLDER/none\nx = FOLDER/a[0,0]\n", {.max_sequence_frames = 10});
  EXPECT_EQ(read(*source).size(), 2u);
  std::map<std::string, std::string> told;
  for (const Notice& n : source->notices()) told[n.fault.id] = n.fault.what;
  EXPECT_THAT(told["htk.too-long"], HasSubstr("1 utterance"));
  EXPECT_THAT(told["htk.empty-utterance"], HasSubstr("1 utterance"));
  EXPECT_THAT(told["htk.blanks"], HasSubstr("1 entry"));

  HtkOptions legacy{.legacy = true, .max_utterance_frames = 5};
  EXPECT_EQ(open("u=FOLDER/a[0,9]\nv=FOLDER/a[0,4]\n", legacy)->chunks()[0].sequences, 1u);
  EXPECT_EQ(fault("u=FOLDER/a[0,9]\nw=FOLDER/a[0,9]\nv=FOLDER/a[0,4]\n", legacy).id, "htk.most-skipped");
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

TEST_F(Htk, PassesOnWhatIsNotFiniteAndSaysSo) {
  std::vector<float> values = ramp(6);
  values[4] = std::numeric_limits<float>::quiet_NaN();
  folder_.write("a", htk_file(values, {.dim = 2}));
  for (const Element element : {Element::f32, Element::f64}) {
    reported_.clear();
    EXPECT_TRUE(std::isnan(read(*open("u=FOLDER/a[0,2]\n", {.dim = 2, .element = element}))["u"][2][0]));
    ASSERT_EQ(reported_.size(), 1u);
    EXPECT_EQ(reported_[0].id, "htk.not-finite");
    EXPECT_EQ(reported_[0].at.byte, 12u + 16);
  }
}

TEST_F(Htk, CheckReportsAllAndGoesOn) {
  check_ = true;
  folder_.write("a", htk_file(ramp(9)));
  folder_.write("bad", "x");
  const auto source = open("u=FOLDER/a[0,1]\nv=FOLDER/a[5\nw=FOLDER/bad[0,1]\nx=FOLDER/a[0,9]\ny=FOLDER/gone[0,0]\n");
  EXPECT_EQ(read(*source).size(), 1u);
  std::vector<std::string> ids;
  for (const Fault& f : reported_) ids.push_back(f.id);
  EXPECT_THAT(ids, ElementsAre("scp.range", "htk.header", "io.open", "htk.range"));
}

// Behind the first few missing files in a row, faults are made without an exception, in the same words.
TEST_F(Htk, CheckTellsEachOfManyFilesThatAreNotThere) {
  check_ = true;
  folder_.write("a", htk_file(ramp(9)));
  std::string whole, parts;
  for (int i = 0; i < 40; ++i) {
    whole += "FOLDER/x" + std::to_string(i / 2) + "\n";
    parts += "u" + std::to_string(i) + "=FOLDER/y" + std::to_string(i) + "[0,1]\n";
  }
  const auto source = open(whole + "FOLDER/a\n" + whole + parts + "v=FOLDER/a[0,1]\n");
  EXPECT_EQ(read(*source).size(), 2u);
  ASSERT_EQ(reported_.size(), 120u);
  std::set<std::string> words;
  for (std::size_t i = 0; i < reported_.size(); ++i) {
    const Fault& f = reported_[i];
    EXPECT_EQ(f.id, "io.open");
    EXPECT_EQ(f.stream, reported_[0].stream);
    EXPECT_THAT(f.what, HasSubstr(":" + std::to_string(i < 40 ? i + 1 : i + 2) + ", key '"));
    words.insert(f.what.substr(0, f.what.find(" (listed")) + f.hint);
  }
  EXPECT_EQ(words.size(), 1u);
}

TEST_F(Htk, NoticesFilesThatChange) {
  folder_.write("a", htk_file(ramp(9)));
  auto source = open("u=FOLDER/a[0,8]\n");
  folder_.write("a", htk_file(ramp(4)));
  Chunk chunk;
  try {
    source->read(0, chunk);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "io.changed");
    EXPECT_EQ(e.fault().kind, FaultKind::stale);
  }
  // If size and time do not show the change, the fault tells how many frames are left.
  std::string file = htk_file(ramp(9));
  folder_.write("a", file);
  source = open("u=FOLDER/a[0,8]\n");
  file[3] = 4;
  folder_.write_unseen("a", file);
  try {
    source->read(0, chunk);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "htk.changed");
    EXPECT_EQ(e.fault().what, "it has fewer frames than when the list was read; 'u' wants up to 9");
  }
}

TEST_F(Htk, NoticesFilesWithAnotherContentOfTheSameShape) {
  std::string list;
  for (int i = 0; i < 12; ++i) {  // more files than are kept open
    const std::string n = std::to_string(i);
    folder_.write(n, htk_file(ramp(9)));
    list += n + "=FOLDER/" + n + "[0,8]\n";
  }
  const auto source = open(list);
  Chunk chunk;
  source->read(0, chunk);
  std::vector<float> other = ramp(9);
  other[0] += 1;
  folder_.write("new", htk_file(other));
  std::filesystem::rename(folder_ / "new", folder_ / "3");
  EXPECT_THROW(source->read(0, chunk), Error);
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

TEST_F(Htk, MissesAChecksumThatIsAnnounced) {
  const std::string bytes = htk_file({1, 2}, {.kind = 9 | 010000});
  folder_.write("a", bytes + "xx");
  folder_.write("b", bytes + "x");
  check_ = true;
  EXPECT_EQ(read(*open("u=FOLDER/a\nv=FOLDER/b\n")).size(), 2u);
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "htk.no-checksum");
  EXPECT_EQ(reported_[0].at.file, folder_ / "b");
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
