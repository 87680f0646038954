// SPDX-License-Identifier: MIT
//
// Archives and lists that are damaged, change, or do not fit each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/kaldi/index.h"
#include "formats/kaldi/infer.h"
#include "formats/kaldi/kaldi_testing.h"
#include "support/fault_of.h"

namespace batchfeed::kaldi {
namespace {

// Which line of a list a fault of an archive comes from is said, and check finds all.
TEST_F(Kaldi, FindsAllThatAListNamesInVain) {
  const std::string list = "u nosuch.ark:2\nw nosuch2.ark:5\n";
  try {
    open("l.scp", list);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "io.open");
    EXPECT_THAT(e.fault().what, ::testing::EndsWith("(listed at " + (folder_ / "l.scp") + ":1, key 'u')"));
  }
  check_ = true;
  EXPECT_THROW(open("l.scp", list), Error);  // kaldi.no-utterances
  EXPECT_EQ(reported_, (std::vector<std::string>{"io.open", "io.open"}));
  const std::string labels = folder_.write("b.ark", "v 1 2 3\n");
  EXPECT_TRUE(holds_alignments(folder_.write("m.scp", list + "v " + labels + ":2\n"), {}));
  EXPECT_FALSE(holds_alignments(folder_.write("m.scp", list), {}));
}

TEST_F(Kaldi, RefusesTextsThatOverlap) {
  std::string ark = "u", list;
  for (int i = 0; i < 2000; ++i) ark += " 1";
  const std::string file = folder_.write("one.ark", ark + "\n");
  for (int i = 0; i < 100; ++i)
    list += "k" + std::to_string(i) + " " + file + ":" + std::to_string(2 + 2 * i) + "[0:0]\n";
  options_.alignment = true;
  options_.dim = 2;
  EXPECT_EQ(fault("o.scp", list), "kaldi.overlap");
  check_ = true;  // reported for each line, whether the texts are sound or, below, damaged
  (void)open("o.scp", list);
  EXPECT_GT(std::count(reported_.begin(), reported_.end(), "kaldi.overlap"), 90);
  reported_.clear();
  folder_.write("one.ark", ark + " x\n");
  EXPECT_THROW((void)open("o.scp", list), Error);  // no entry is left
  EXPECT_GT(std::count(reported_.begin(), reported_.end(), "kaldi.overlap"), 90);
}

TEST_F(Kaldi, PassesOnWhatIsNotFiniteAndSaysSo) {
  check_ = true;
  EXPECT_EQ(read("a.ark", "u " + matrix(2, 1, {1, HUGE_VALF})).size(), 1u);
  EXPECT_EQ(reported_, std::vector<std::string>{"kaldi.not-finite"});
}

TEST_F(Kaldi, LocatesDamage) {
  EXPECT_EQ(fault("a.ark", "u " + matrix(2, 2, {1, 2, 3})), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(2)), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(0x7FFFFFFF) + size(0x7FFFFFFF)), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "DM " + size(0x60000000) + size(0x55555556)),
            "kaldi.short");  // the number of bytes does not fit in 64 bits
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "FM " + size(0xFFFFFFFF) + size(1)), "kaldi.size");
  EXPECT_EQ(fault("a.ark", "u " + matrix(2, 0, {})), "kaldi.size");
  EXPECT_EQ(fault("a.ark", "u " + kBinary + "XX " + size(1)), "kaldi.object");
  EXPECT_EQ(fault("a.ark", "u 1 2 3\n"), "kaldi.object");
  EXPECT_EQ(fault("a.ark", "u  [\n 1 2\n 3 ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", "u  [\n 1 x ]\n"), "kaldi.text");
  EXPECT_EQ(fault("a.ark", "u  [\n 1 2\n"), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "u"), "kaldi.short");
  EXPECT_EQ(fault("a.ark", "\nu\n"), "kaldi.key");
  EXPECT_EQ(fault("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 2, {1, 2})), "kaldi.mixed");
  EXPECT_EQ(fault("a.ark", ""), "kaldi.no-utterances");
  mode_ = KeyMode::numeric;
  EXPECT_EQ(fault("a.ark", "u " + matrix(1, 1, {1})), "kaldi.numeric-key");
  mode_ = KeyMode::text;
  EXPECT_THROW(kaldi::open({}, {}), Error);                    // kaldi.no-file
  EXPECT_THROW(kaldi::open({.files = {"a.ark"}}, {}), Error);  // kaldi.no-name
}

// As alignments mostly are: ali.1.gz.
TEST_F(Kaldi, OfACompressedArchiveSaysThatItIs) {
  const auto hint = [&](const std::string& name, const std::string& content) {
    try {
      open(name, content);
    } catch (const Error& e) {
      return e.fault().hint;
    }
    return std::string();
  };
  for (const bool alignment : {false, true}) {
    options_.alignment = alignment;
    options_.dim = 9;
    for (const auto& [head, codec] : {std::pair("\x1f\x8b\x08\x01", "gzip"), std::pair("\x28\xb5\x2f\xfd", "zstd")}) {
      const std::string expected =
          std::string("this is a ") + codec + " file; unpack it: archives are not read compressed";
      const std::string damage[] = {std::string(30, '\0'), std::string(30, 'x') + " x", std::string(99999, 'x')};
      for (const std::string& behind : damage) EXPECT_EQ(hint("a.ark", head + behind), expected);
      EXPECT_EQ(hint("l.scp", "u " + (folder_ / "a.ark") + ":3\n"), expected);
    }
  }
}

TEST_F(Kaldi, ACheckReadsTheOtherFilesBehindADamagedKey) {
  check_ = true;
  options_.name = "x";
  options_.files = {folder_.write("a.ark", "u " + matrix(1, 1, {1}) + "\nv\n"), folder_.write("b.ark", "w [ 1 x ]\n"),
                    folder_.write("c.ark", "z " + matrix(1, 1, {3}))};
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(mode_);
  context.check = true;
  context.report = [this](const Notice& n) { reported_.push_back(n.fault.id); };
  EXPECT_EQ(read(*kaldi::open(options_, context)), (std::map<std::string, Rows>{{"u", {{1}}}, {"z", {{3}}}}));
  EXPECT_EQ(reported_, (std::vector<std::string>{"kaldi.key", "kaldi.text"}));
}

TEST_F(Kaldi, BoundsWhatAFileMaySay) {
  limits_.key_bytes = 4;
  EXPECT_EQ(fault("a.ark", "abcde " + matrix(1, 1, {1})), "limit.key");
  const std::string one = folder_.write("b.ark", "u " + matrix(1, 1, {1})), ark = folder_ / "a.ark";
  EXPECT_EQ(fault("b.scp", "abcde " + one + ":2\n"), "limit.key");
  EXPECT_EQ(read("b.scp", "abcd " + one + ":2\n").size(), 1u);
  limits_.sequence_samples = 3;
  EXPECT_EQ(fault("a.ark", "u " + matrix(4, 1, {1, 2, 3, 4})), "limit.sequence");
  EXPECT_EQ(read("a.ark", "u " + matrix(3, 1, {1, 2, 3})).at("u").size(), 3u);
  EXPECT_EQ(fault("c.scp", "u " + ark + ":2[0:3]\n"), "limit.sequence");
  EXPECT_EQ(read("c.scp", "u " + ark + ":2[0:2]\n").at("u").size(), 3u);
  limits_.dim = 2;
  EXPECT_EQ(fault("a.ark", "u " + matrix(1, 3, {1, 2, 3})), "limit.dim");
  limits_.chunk_values = 4;
  const std::string two = "u " + matrix(1, 2, {1, 2}) + "v " + matrix(1, 2, {1, 2});
  EXPECT_EQ(read("a.ark", two).size(), 2u);
  EXPECT_EQ(fault("a.ark", two + "w " + matrix(1, 2, {1, 2})), "limit.chunk-values");
  options_.chunk_frames = 1;
  EXPECT_EQ(read("a.ark", two + "w " + matrix(1, 2, {1, 2})).size(), 3u);
}

TEST_F(Kaldi, RefusesListsThatSaySomethingElse) {
  const std::string ark = folder_.write("a.ark", "u " + matrix(2, 1, {1, 2}));
  for (const char* line :
       {"u", "u a.ark:2[0:]", "u a.ark:2[1:0]", "u a.ark:2[x:1]", "u a.ark:2[0]", "u a.ark:2]", "u a.ark:2[:1]"})
    EXPECT_EQ(fault("l.scp", std::string(line) + "\n"), "kaldi.scp") << line;
  EXPECT_EQ(fault("l.scp", "u " + ark + ":2[0:2]\n"), "kaldi.range");
  EXPECT_EQ(fault("l.scp", "u a.ark:x\n"), "io.open") << "then it is part of the name";
  EXPECT_EQ(read("l.scp", " u\t" + ark + ":2 \r\n").size(), 1u);
  EXPECT_TRUE(is_list("a.scp"));
  EXPECT_TRUE(is_list("a.scp.gz"));
  EXPECT_TRUE(is_list("a.scp.zst"));
  EXPECT_FALSE(is_list("scp.ark"));
}

TEST_F(Kaldi, NoticesFilesWithAnotherContentOfTheSameShape) {
  const auto source = open("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 1, {2}));
  EXPECT_EQ(read(*source).size(), 2u);
  const std::string path = folder_.write("a.ark", "u " + matrix(1, 1, {3}) + "v " + matrix(1, 1, {2}));
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_THROW(read(*source), Error);  // changed while it was open
  const auto again = open("a.ark", "u " + matrix(1, 1, {1}));
  folder_.write("new", "u " + matrix(1, 1, {3}));
  std::filesystem::rename(folder_ / "new", folder_ / "a.ark");
  EXPECT_THROW(read(*again), Error);  // replaced by another file
  const auto cached = open("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 1, {2}));
  folder_.write_unseen("a.ark", "u " + matrix(1, 2, {1}) + "v " + matrix(1, 1, {2}));
  try {
    read(*cached);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "kaldi.changed");
    EXPECT_EQ(e.fault().what, "utterance 'u' is not what was indexed");
  }
}

TEST_F(Kaldi, CountsWhatIsLeftOut) {
  const auto source = open("a.ark", "u " + matrix(1, 1, {1}) + "u " + matrix(1, 1, {2}) + "v " + matrix(0, 0, {}));
  EXPECT_EQ(read(*source), (std::map<std::string, Rows>{{"u", {{1}}}}));
  ASSERT_EQ(source->notices().size(), 2u);
  EXPECT_EQ(source->notices()[0].fault.id, "kaldi.duplicate-key");
  EXPECT_EQ(source->notices()[1].fault.id, "kaldi.no-rows");
  folder_.write("a.ark", "u " + matrix(1, 2, {1, 2}));
  EXPECT_THROW(read(*source), Error);  // io.changed
  check_ = true;
  EXPECT_EQ(read("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 2, {1, 2}) + "w " + matrix(2, 1, {3})).size(),
            1u);
  EXPECT_EQ(reported_, (std::vector<std::string>{"kaldi.mixed", "kaldi.short"}));
  reported_.clear();  // check reports each repeated key
  EXPECT_EQ(read("a.ark", "u " + matrix(1, 1, {1}) + "v " + matrix(1, 1, {2}) + "u " + matrix(1, 1, {3}) + "u " +
                              matrix(1, 1, {4})),
            (std::map<std::string, Rows>{{"u", {{1}}}, {"v", {{2}}}}));
  EXPECT_EQ(reported_, (std::vector<std::string>{"kaldi.duplicate-key", "kaldi.duplicate-key"}));
}

TEST_F(Kaldi, NamesTheObjectAtWhichAnArchiveEnds) {
  std::string content;
  for (int i = 0; i < 100; ++i) content += "u" + std::to_string(i + 100) + ' ' + matrix(2, 2, {1, 2, 3, 4});
  const std::size_t each = content.size() / 100;
  const auto source = open("a.ark", content);
  const auto fault = [&](std::uint32_t from, std::uint32_t to) {
    Chunk chunk;
    return ::batchfeed::testing::fault_of([&] { source->row_reader(0)->read(0, {from, to}, chunk); });
  };
  Chunk chunk;
  source->row_reader(0)->read(0, {0, 1}, chunk);  // so that the file is open
  std::filesystem::resize_file(folder_ / "a.ark", 50 * each - 5);
  const Fault alone = fault(49, 50), together = fault(0, 100);
  EXPECT_EQ(alone.id, "io.ends-early");
  EXPECT_EQ(alone.what, "file ends 6 bytes before it should") << "of the 32 that are looked at first";
  EXPECT_EQ(together.id, alone.id);
  EXPECT_EQ(together.what, alone.what);
  EXPECT_EQ(together.at, alone.at);
}

TEST_F(Kaldi, SaysWhatIsWrongInsideABlock) {
  std::string content;
  std::vector<std::size_t> at;
  for (std::uint32_t i = 0; i < 20; ++i) {
    content += "u" + std::to_string(i) + ' ';
    at.push_back(content.size());
    content += integers({1, 2, 3});
  }
  options_.alignment = true;
  options_.dim = 9;
  const auto source = open("a.ark", content);
  Chunk chunk;
  content[at[12] + 7 + 5] = 2;  // the width of the second integer
  content[at[15] + 2] = 3;
  folder_.write_unseen("a.ark", content);
  const Fault fault = ::batchfeed::testing::fault_of([&] { source->read(0, chunk); });
  EXPECT_EQ(fault.id, "kaldi.integer");
  EXPECT_EQ(fault.at.byte, at[12] + 7 + 5);
}

}  // namespace
}  // namespace batchfeed::kaldi
