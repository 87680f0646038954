// SPDX-License-Identifier: MIT
#include <batchfeed/compare.h>
#include <batchfeed/convert.h>
#include <batchfeed/fix.h>
#include <gtest/gtest.h>

#include "formats/cbf/golden_testing.h"
#include "formats/ctf/mend.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::id_of;
using namespace std::string_literals;
using testing::content_of;
using testing::ScratchFolder;

// The mended text, and "id count" of what was done.
std::pair<std::string, std::vector<std::string>> mended(const std::string& text, const FixOptions& options = {}) {
  const ScratchFolder folder;
  std::vector<std::string> done;
  for (const Fix& fix : fix_file(folder.write("a.ctf", text), folder / "b.ctf", options))
    done.push_back(fix.id + " " + std::to_string(fix.count));
  return {content_of(folder / "b.ctf"), done};
}

using Done = std::vector<std::string>;

TEST(Fix, WhatIsRightIsCopied) {
  const std::string text = "0 |v 1 2 |t 1:1 3:2 |# note |#| 5:1 2:1\n\n0 |v 3 4\n\t 1 |v 5 6 |t 3:1\n";
  EXPECT_EQ(mended(text), std::pair(text, Done{}));
}

TEST(Fix, LineEndsAndTheLastLine) {
  EXPECT_EQ(mended("0 |v 1\r\n1 |v 2\n2 |v 3\r\n"),
            std::pair(std::string("0 |v 1\n1 |v 2\n2 |v 3\n"), Done{"fix.line-end 2"}));
  EXPECT_EQ(mended("\xEF\xBB\xBF|v 1\n|v 2"),
            std::pair(std::string("|v 1\n|v 2\n"), Done{"fix.byte-order-mark 1", "fix.last-line 1"}));
}

TEST(Fix, LinesOfOneIdAreBroughtTogether) {
  EXPECT_EQ(mended("7 |v 1\n8 |v 2\n|v 3\n7 |v 4\n9 |v 5\n8 |v 6\n07 |v 7"),
            std::pair(std::string("7 |v 1\n7 |v 4\n07 |v 7\n8 |v 2\n|v 3\n8 |v 6\n9 |v 5\n"),
                      Done{"fix.last-line 1", "fix.regrouped 3"}));
  EXPECT_EQ(mended("ab |v 1\nb |v 1\nab |v 2\n").first, "ab |v 1\nab |v 2\nb |v 1\n");
  const std::string without_ids = "|v 1\n7 |v 2\n|v 3\n7 |v 2\n";
  EXPECT_EQ(mended(without_ids).first, without_ids) << "every line is a sequence";
  EXPECT_EQ(mended("|# two |# of them\n\n1 |v 1\n2 |v 2\n1 |v 3\n").first,
            "|# two |# of them\n\n1 |v 1\n1 |v 3\n2 |v 2\n");
}

// Which text in front of a line is an id depends on the key mode.
TEST(Fix, NoLineComesToAnotherSequence) {
  const std::string text = "5 |v 1\nx6 |v 2\n6 |v 3\nx6 |v 4\n05 |v 5\n";
  const std::string numbers = "5 |v 1\nx6 |v 2\n05 |v 5\n6 |v 3\nx6 |v 4\n";
  EXPECT_EQ(mended(text, {.keys = KeyMode::numeric}).first, numbers);
  EXPECT_EQ(mended(text).first, numbers) << "as most of its ids are";
  EXPECT_EQ(mended("a" + text).first, "a5 |v 1\nx6 |v 2\nx6 |v 4\n6 |v 3\n05 |v 5\n");
  const std::string words = "5 |v 1\nx6 |v 2\nx6 |v 4\n6 |v 3\n05 |v 5\n";
  EXPECT_EQ(mended(text, {.keys = KeyMode::text}).first, words);
  EXPECT_EQ(mended(text, {.skip_sequence_ids = true}).first, text);
  const std::string utterances = "1089-1 |v 1\n1272-1 |v 2\n1089-2 |v 3\n1272-1 |v 4\n";
  EXPECT_EQ(mended(utterances).first, "1089-1 |v 1\n1272-1 |v 2\n1272-1 |v 4\n1089-2 |v 3\n") << "words, not 1089";
}

TEST(Fix, EntriesAreSortedAndEqualOnesKeepTheirOrder) {
  std::string out;
  EXPECT_EQ(ctf::sort_entries("1 |t 5:1  3:2 5:9 |v 3 1 |s 2:1 1:1\t|# 9:1 2:1", out), 2u);
  EXPECT_EQ(out, "1 |t 3:2 5:1 5:9 |v 3 1 |s 1:1 2:1\t|# 9:1 2:1");
  for (const char* same :
       {"|t 5:1 3:", "|t 5:1 x:2", "|t 5: 3:1", "|t 5:1 3 2:1", "|# 5:1 |# 3:1 2:1", "|t 5:1", "| 5:1 2:1", "|", "",
        // Behind a byte of control is garbage.
        "|t 5:1\r3:2", "|t 5:1\x01 3:2 |v 1", "|t 5:1 4:1 \xC2\xA0 3:2", "|t 5:1\xC2\xA0 3:2", "|t\r5:1 3:2"}) {
    out.clear();
    EXPECT_EQ(ctf::sort_entries(same, out), 0u) << same;
    EXPECT_EQ(out, same);
  }
  out.clear();
  EXPECT_EQ(ctf::sort_entries("|t 5:1 3:2\r|s 2:1 1:1 \x01\r\xC2\xA0", out), 2u);
  EXPECT_EQ(out, "|t 3:2 5:1\r|s 1:1 2:1 \x01\r\xC2\xA0");
}

TEST(Fix, PlacesNameTheOldFile) {
  const ScratchFolder folder;
  const std::string path = folder.write("a.ctf", "0 |v 1\n1 |t 3:1 2:1\n0 |v 2\n");
  const std::vector<Fix> fixes = fix_file(path, folder / "b.ctf", {.most = 1});
  ASSERT_EQ(fixes.size(), 2u);
  EXPECT_EQ(fixes[0].places.at(0).line, 3u);
  EXPECT_EQ(fixes[0].places.at(0).byte, 20u);
  EXPECT_EQ(fixes[1].id, "fix.sorted");
  EXPECT_EQ(fixes[1].places.at(0).line, 2u);
  EXPECT_THROW(fix_file(path, path), Error);                                      // fix.same-file
  EXPECT_THROW(fix_file(path, folder / "b.ctf"), Error);                          // convert.exists
  EXPECT_THROW(fix_file(folder.write("x.png", "\x89PNG"), folder / "c"), Error);  // fix.format
  const std::string gzip = std::string("\x1F\x8B\x08\0", 4) + "|v 1\n";
  EXPECT_THROW(fix_file(folder.write("x.ctf", gzip), folder / "c"), Error);
  const std::string behind_a_skippable_frame = "\x50\x2A\x4D\x18" + std::string(4, '\0') + "\x28\xB5\x2F\xFD";
  EXPECT_THROW(fix_file(folder.write("x.ctf", behind_a_skippable_frame), folder / "c"), Error);
}

TEST(Fix, DoesNotReplaceWhatCameMeanwhile) {
  const ScratchFolder folder;
  const std::string path = folder.write("a.ctf", "0 |v 1\n");
  FixOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) { folder.write("b.ctf", "mine"); };
  EXPECT_THROW(fix_file(path, folder / "b.ctf", options), Error);
  EXPECT_EQ(content_of(folder / "b.ctf"), "mine");
  EXPECT_EQ(folder.names().size(), 2u);
}

class FixBinary : public ::testing::Test {
 protected:
  FixBinary() {
    std::string text;
    for (int k = 0; k < 40; ++k)
      for (int i = 0; i <= k % 3; ++i) text += std::to_string(k) + " |v 1 " + std::to_string(k) + " |t 3:1 7:2\n";
    CtfOptions options;
    options.files = {folder_.write("a.ctf", text)};
    options.streams = {{.name = "v", .dim = 2}, {.name = "t", .storage = Storage::sparse, .dim = 10}};
    convert(*open_source(options), folder_ / "a.cbf", {.chunk_bytes = 300});
    good_ = content_of(folder_ / "a.cbf");
  }

  std::uint64_t number(std::size_t at, std::size_t n) const {
    std::uint64_t out = 0;
    for (std::size_t i = n; i-- > 0;) out = out << 8 | static_cast<unsigned char>(good_[at + i]);
    return out;
  }
  std::size_t header() const { return static_cast<std::size_t>(number(good_.size() - 8, 8)); }
  std::size_t rows() const { return static_cast<std::size_t>(number(header() + 8, 4)); }
  std::size_t row(std::size_t i) const { return good_.size() - 8 - 16 * (rows() - i); }

  // Replaces the bytes at `at` and mends the file; gives "id count" of each fix.
  Done mend_changed(std::size_t at, const std::string& bytes) {
    std::string bad = good_;
    bad.replace(at, bytes.size(), bytes);
    Done done;
    for (const Fix& fix : fix_file(folder_.write("bad.cbf", bad), folder_ / "mended.cbf", {.force = true}))
      done.push_back(fix.id + " " + std::to_string(fix.count));
    EXPECT_EQ(content_of(folder_ / "mended.cbf"), good_);
    return done;
  }

  ScratchFolder folder_;
  std::string good_;
};

TEST_F(FixBinary, TheChunkTableIsComputed) {
  ASSERT_GT(rows(), 3u);
  EXPECT_EQ(mend_changed(0, "nib"), Done{});
  EXPECT_EQ(mend_changed(row(1), std::string(8, '\0')), Done{"fix.chunk-offset 1"});
  EXPECT_EQ(mend_changed(row(2) + 12, "\x63"), Done{"fix.chunk-samples 1"});
  EXPECT_EQ(mend_changed(good_.size() - 8, "\x05"), Done{"fix.header-place 1"});
}

TEST_F(FixBinary, WhatStandsBehindTheChunkTableIsRemoved) {
  for (const std::size_t more : {1u, 16u, 40u}) {
    std::string bad = good_;
    bad.insert(bad.size() - 8, more, 'x');
    const std::vector<Fix> fixes = fix_file(folder_.write("bad.cbf", bad), folder_ / "mended.cbf", {.force = true});
    ASSERT_EQ(fixes.size(), 1u);
    EXPECT_EQ(fixes[0].id, "fix.chunk-table");
    EXPECT_EQ(fixes[0].places.at(0).byte, good_.size() - 8);
    EXPECT_TRUE(content_of(folder_ / "mended.cbf") == good_);
  }
}

TEST_F(FixBinary, EntriesAreSortedSampleBySample) {
  // The entries 3:1 and 7:2 of two sequences are swapped, so that indices descend.
  const std::string in_order = "\1\0\0\0\2\0\0\0\0\0\x80\x3f\0\0\0\x40\3\0\0\0\7\0\0\0"s;
  const std::string swapped = "\1\0\0\0\2\0\0\0\0\0\0\x40\0\0\x80\x3f\7\0\0\0\3\0\0\0"s;
  std::string bad = good_;
  for (int i = 0; i < 2; ++i) bad.replace(bad.find(in_order), swapped.size(), swapped);
  const std::vector<Fix> fixes = fix_file(folder_.write("bad.cbf", bad), folder_ / "mended.cbf");
  ASSERT_EQ(fixes.size(), 1u);
  EXPECT_EQ(fixes[0].id, "fix.sorted");
  EXPECT_EQ(fixes[0].count, 2u);
  EXPECT_TRUE(content_of(folder_ / "mended.cbf") == good_);
}

// The older layout: streams feat (dense 2) and lab (sparse 5), two chunks of two sequences.
class FixLegacy : public ::testing::Test {
 protected:
  FixLegacy() {
    const auto golden = cbf::golden::legacy();
    const std::string one(golden.begin(), golden.end());
    const std::string chunk = one.substr(kTable + 16);
    good_ = one.substr(0, kTable) + one.substr(kTable, 16) + one.substr(kTable, 16) + chunk + chunk;
    good_[8] = 2;
    good_[kTable + 16] = static_cast<char>(chunk.size());
  }
  Done mended(const std::string& bad) {
    Done done;
    for (const Fix& fix : fix_file(folder_.write("bad.cbf", bad), folder_ / "mended.cbf", {.force = true}))
      done.push_back(fix.id + " " + std::to_string(fix.count));
    EXPECT_EQ(content_of(folder_ / "mended.cbf"), good_);
    return done;
  }
  static constexpr std::size_t kTable = 0x43;
  static constexpr std::size_t kRows = kTable + 32 + 16 + 4 + 16;  // row numbers 1 3 5 and 4 of the first chunk
  ScratchFolder folder_;
  std::string good_;
};

TEST_F(FixLegacy, TheChunkTableIsComputedWhereItDoesNotFit) {
  EXPECT_EQ(mended(good_), Done{});
  std::string bad = good_;
  bad[kTable + 16] = 3;
  EXPECT_EQ(mended(bad), Done{"fix.chunk-offset 1"});
  bad[kTable + 7] = static_cast<char>(0x80);
  EXPECT_EQ(mended(bad), Done{"fix.chunk-offset 2"});
}

TEST_F(FixLegacy, BytesBetweenChunksStayWhereTheTableKnowsOfThem) {
  good_.insert(good_.size() / 2 + 16, "");
  std::string gap = good_;
  const std::size_t second = kTable + 32 + static_cast<unsigned char>(good_[kTable + 16]);
  gap.insert(second, "gap!");
  gap[kTable + 16] = static_cast<char>(gap[kTable + 16] + 4);
  good_ = gap;
  EXPECT_EQ(mended(gap), Done{});
}

TEST_F(FixLegacy, EntriesAreSorted) {
  std::string bad = good_;
  ASSERT_EQ(bad[kRows], 1);
  ASSERT_EQ(bad[kRows + 4], 3);
  std::swap(bad[kRows], bad[kRows + 4]);
  for (std::size_t i = 0; i < 4; ++i) std::swap(bad[kRows - 16 + i], bad[kRows - 12 + i]);
  EXPECT_EQ(mended(bad), Done{"fix.sorted 1"});
}

TEST_F(FixLegacy, WhatWouldHaveToBeGuessedIsRefused) {
  const auto refused = [&](std::size_t at, char value) {
    std::string bad = good_;
    bad[at] = value;
    return id_of([&] { fix_file(folder_.write("bad.cbf", bad), folder_ / "no.cbf"); }) == "fix.not-without-guessing";
  };
  EXPECT_TRUE(refused(kTable + 8, 3));  // sequences
  EXPECT_TRUE(refused(8, 99));          // chunks
  EXPECT_TRUE(refused(16, 0));          // streams
  EXPECT_TRUE(refused(0x14, -1));       // a name's length
  EXPECT_TRUE(refused(0x1c, 7));        // a kind
  EXPECT_TRUE(refused(kRows + 16, 9));  // where the first sequence's entries begin
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no.cbf"));
}

TEST_F(FixBinary, WhatWouldHaveToBeGuessedIsRefusedAndNothingIsWritten) {
  const auto refused = [&](std::string bad) {
    const std::vector<std::string> before = folder_.names();
    const std::string path = folder_.write("bad.cbf", bad);
    try {
      fix_file(path, folder_ / "mended.cbf");
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().id, "fix.not-without-guessing");
      std::filesystem::remove(path);
      return folder_.names() == before;
    }
    return false;
  };
  std::string bad = good_;
  bad[row(1) + 8] = 99;  // sequences
  EXPECT_TRUE(refused(bad));
  bad = good_;
  bad[row(1) + 8] = 1;
  EXPECT_TRUE(refused(bad));
  EXPECT_TRUE(refused(good_.substr(0, header())));
  EXPECT_TRUE(refused(good_.substr(0, 20)));
  // With forged counts it may fail with an Error, but in no other way.
  for (std::size_t at = 12; at < good_.size(); at += 61) {
    bad = good_;
    bad[at] = static_cast<char>(0xFF);
    const std::string path = folder_.write("bad.cbf", bad);
    try {
      fix_file(path, folder_ / "mended.cbf", {.force = true});
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace batchfeed
