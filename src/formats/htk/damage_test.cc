// SPDX-License-Identifier: MIT
//
// Archives and lists that are damaged, change, or do not fit each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "formats/htk/htk_testing.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::htk {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::ramp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace batchfeed::htk
