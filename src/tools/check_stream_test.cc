// SPDX-License-Identifier: MIT
#include <batchfeed/tools.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::ScratchFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class CheckStream : public ::testing::Test {
 protected:
  // As if `bytes` came from a pipe; a file's descriptor is read the same way.
  CheckResult check(const std::string& bytes, const CtfOptions& options = {}, const CheckOptions& how = {},
                    const Limits& limits = {}) {
    const int from = ::open(folder_.write("in", bytes).c_str(), O_RDONLY | O_CLOEXEC);
    const struct Close {
      int fd;
      ~Close() { ::close(fd); }
    } close{from};
    told_.clear();
    return check_stream(
        from, "-", options, how, [&](const Notice& n) { told_.push_back(n.fault.text()); }, limits);
  }
  // The text compressed with zstd; empty in a build without it.
  std::string compressed(const std::string& text) const {
    try {
      save_file(folder_ / "compressed.zst", text);
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().id, "compressed.unsupported");
      return {};
    }
    return content_of(folder_ / "compressed.zst");
  }

  ScratchFolder folder_;
  std::vector<std::string> told_;
};

TEST_F(CheckStream, SaysThatWhatFollowsWasNotRead) {
  const std::string long_line = "1 |v 2 |# " + std::string(1 << 20, 'x') + "\n";
  const CheckResult ended = check("0 |v 1\n" + long_line + "2 |v x\n", {}, {}, {.line_bytes = 512 << 10});
  EXPECT_THAT(ended.by_id, ElementsAre(Pair("limit.line", 1u)));
  EXPECT_FALSE(ended.complete);
  EXPECT_TRUE(check("0 |v 1\n1 |v x\n").complete);
}

TEST_F(CheckStream, AnIdAboveTheLargestDoesNotEndIt) {
  const CheckResult result = check("0 |v x\n99999999999999999999 |v y\n99999999999999999998 |v 1\n2 |v z\n");
  EXPECT_THAT(result.by_id, ElementsAre(Pair("ctf.bad-number", 3u), Pair("ctf.id-range", 1u)));
  EXPECT_TRUE(result.complete);
  ASSERT_EQ(told_.size(), 4u);
  EXPECT_THAT(told_[1], ::testing::StartsWith("-:2:1 "));
}

TEST_F(CheckStream, InfersStreamsAndSaysTheLine) {
  const CheckResult result = check("0 |v 1 2\n1 |v 1 x\n2 |v 3 4\n");
  EXPECT_EQ(result.faults, 1u);
  EXPECT_THAT(result.by_id, ElementsAre(Pair("ctf.bad-number", 1u)));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_THAT(told_[0], ::testing::StartsWith("-:2:"));
}

// The first row may be longer than the first 4 MiB, or begin behind them.
TEST_F(CheckStream, LooksForTheFirstRow) {
  const std::string much(5 << 20, ' ');
  for (const std::string& text : {"0 |v 1 2" + much + "\n1 |v 3 4\n", "|# a " + much + "\n0 |v 1 2\n1 |v 3 4\n"}) {
    const CheckResult result = check(text);
    EXPECT_EQ(result.faults, 0u);
    EXPECT_EQ(result.samples, 2u);
  }
}

TEST_F(CheckStream, CountsWhatItDoesNotList) {
  const std::string text = "0 |v 1\n1 |v 1 " + std::string(100'000, '|') + "\n2 |v x\n";
  const CheckResult result = check(text, {}, {.max_faults = 3});
  EXPECT_THAT(result.by_id, ElementsAre(Pair("ctf.bad-number", 1u), Pair("ctf.empty-name", 100'000u)));
  EXPECT_EQ(told_.size(), 3u);
}

TEST_F(CheckStream, WithoutStreamsItSaysSo) {
  const std::pair<const char*, const char*> cases[] = {
      {"hello\nworld\n", "check.no-stream"}, {"", "ctf.empty"}, {"|# a comment\n", "ctf.no-sequence"}};
  for (const auto& [text, id] : cases) {
    const Fault fault = fault_of([&, bytes = text] { check(bytes); });
    EXPECT_EQ(fault.id, id);
    EXPECT_EQ(fault.at.file, "-") << "not where the beginning was looked at";
  }
}

// The hole of a sparse file reads as zeros: 65 MiB without a line end.
TEST_F(CheckStream, WithoutAnEndOfLineItSaysSo) {
  const std::string path = folder_.write("hole", "0 |v 1");
  ASSERT_EQ(::truncate(path.c_str(), 65 << 20), 0);
  const int from = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(from, 0);
  const Fault fault = fault_of([&] { check_stream(from, "-", {}, {}, {}); });
  EXPECT_EQ(fault.id, "check.no-row");
  EXPECT_THAT(fault.what, HasSubstr("first 64 MiB"));
  ::close(from);
}

TEST_F(CheckStream, AnEndThatIsTornIsTold) {
  EXPECT_EQ(check("1 |x 1\n2 |x 2\n").warnings, 0u);
  EXPECT_EQ(check("1 |x 1\n2 |x 2").warnings, 0u);
  check("1 |x 1\n2 |x 2\n3");
  EXPECT_THAT(told_, ElementsAre(HasSubstr("-:3 (byte 14): the file seems cut off")));
  check("1 |x 1\n2 |x 2\n" + std::string(9, '\0'));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("-:3:1 (byte 14): 9 NUL bytes")));
}

TEST_F(CheckStream, SaysWhatTheCheckOfAFileSays) {
  const CtfOptions options{.streams = {{.name = "v", .dim = 1}}};
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& text :
       {"   5 |v x\n6 |v y\n" + std::string(), mark + "5 |v x\n6 |v y\n", mark + " \t5 |v x\n",
        "\n  \n 5 |v x\n" + std::string(), mark + "\n5 |v x\n", mark + "|# a\n 5 |v x\n",
        std::string("1 |v 1\n2 |v 1e39\n3 |v -1e39\n"), std::string(5000, '0') + "1 |v x\n", mark + "a |v 1\n",
        " a |v 1\n" + std::string()}) {
    const CheckResult piped = check(text, options);
    const std::vector<std::string> told = std::exchange(told_, {});
    batchfeed::Setup setup;
    setup.sources = {options};
    std::get<CtfOptions>(setup.sources[0]).files = {folder_ / "in"};
    const CheckResult result = batchfeed::check(setup, {}, [&](const Notice& n) {
      std::string line = n.fault.text();
      told_.push_back(line.replace(0, (folder_ / "in").size(), "-"));
    });
    EXPECT_EQ(told, told_) << text;
    EXPECT_FALSE(told.empty()) << text;
    EXPECT_EQ(piped.by_id, result.by_id) << text;
  }
}

TEST_F(CheckStream, DeclaredStreamsAreTakenAtTheirWord) {
  CtfOptions options;
  options.streams = {{.name = "v", .dim = 2}};
  EXPECT_EQ(check("0 |v 1 2\n1 |v 3 4\n", options).faults, 0u);
  const CheckResult result = check("0 |v 1 2\n1 |v 3\n", options);
  EXPECT_THAT(result.by_id, ElementsAre(Pair("ctf.too-few-values", 1u)));
}

// Streams inferred from the beginning only may have larger indices later.
TEST_F(CheckStream, IndicesMayGrowBehindTheBeginning) {
  std::string text;
  while (text.size() < 4u << 20) text += "|s 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1 10:1 11:1 12:1 13:1 14:1 15:1 16:1\n";
  EXPECT_EQ(check(text + "|s 900000:1\n").faults, 0u);
  EXPECT_THAT(check(text + "|s 2147483647:1\n").by_id, ElementsAre(Pair("ctf.index-range", 1u)));
}

TEST_F(CheckStream, IdsThatAreWordsAreKeptAsWords) {
  const CheckResult result = check("utt-a |v 1\nutt-b |v 2\nutt-a |v 3\n");
  EXPECT_EQ(result.faults, 0u) << (told_.empty() ? "" : told_[0]);
  EXPECT_EQ(result.samples, 3u);
}

TEST_F(CheckStream, AStreamThatHardlyOccursIsAWarningOfThePipe) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += std::to_string(i) + " |v 1\n";
  const CheckResult result = check(text + "30 |w 2\n");
  EXPECT_EQ(result.by_id.count("infer.rare-stream"), 1u) << ::testing::PrintToString(result.by_id);
  EXPECT_GE(result.warnings, 1u);
  EXPECT_THAT(told_, ::testing::Contains(AllOf(HasSubstr("-:31 "), HasSubstr("'w'"))));
}

TEST_F(CheckStream, WhatComesCompressedIsUnpackedOnTheWay) {
  // Longer than the beginning that is held, and than a pipe's buffer.
  std::string text;
  while (text.size() < 9u << 20) text += "|v " + std::to_string(text.size()) + " 2\n";
  const std::string bytes = compressed(text);
  if (bytes.empty()) GTEST_SKIP() << "built without zstd";
  EXPECT_EQ(check(bytes).faults, 0u);
  const std::uint64_t samples = check(text).samples;
  EXPECT_EQ(check(bytes).samples, samples);

  // Cut behind the beginning: the text before the cut is checked, and the cut is a fault like others.
  const CheckResult cut = check(bytes.substr(0, bytes.size() * 3 / 4));
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(cut.by_id.count("compressed.truncated"), 1u) << ::testing::PrintToString(cut.by_id);
  EXPECT_GT(cut.samples, samples / 3);
  EXPECT_LT(cut.samples, samples);
  EXPECT_THAT(told_, ::testing::Contains(HasSubstr("-")));
  // Cut inside the beginning: no streams can be inferred.
  EXPECT_EQ(fault_of([&] { check(bytes.substr(0, bytes.size() / 20)); }).id, "compressed.truncated");
}

TEST_F(CheckStream, WhatCannotBeReadIsAFaultOfInput) {
  const Fault closed = fault_of([] { check_stream(-1, "-", {}, {}, {}); });
  EXPECT_EQ(closed.kind, FaultKind::io);
  EXPECT_EQ(closed.at.file, "-");
  const int folder = ::open(folder_.path().c_str(), O_RDONLY | O_CLOEXEC);
  const Fault directory = fault_of([&] { check_stream(folder, "-", {}, {}, {}); });
  ::close(folder);
  EXPECT_EQ(directory.kind, FaultKind::io);
  EXPECT_THAT(directory.what, HasSubstr("read"));
}

// To infer streams, the beginning is written to a temporary file, which needs a folder and is removed afterwards.
TEST_F(CheckStream, NeedsAPlaceForTheBeginning) {
  const char* was = std::getenv("TMPDIR");
  const std::optional<std::string> before = was == nullptr ? std::nullopt : std::optional<std::string>(was);
  const std::string place = folder_ / "tmp";
  ::setenv("TMPDIR", place.c_str(), 1);
  const Fault fault = fault_of([&] { check("0 |v 1\n"); });
  std::filesystem::create_directory(place);
  const std::uint64_t samples = check("0 |v 1\n").samples;
  ::setenv("TMPDIR", "", 1);  // as if it were not set
  const std::uint64_t again = check("0 |v 1\n").samples;
  before ? ::setenv("TMPDIR", before->c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_EQ(fault.kind, FaultKind::io);
  EXPECT_EQ(fault.at.file, "-");
  EXPECT_THAT(fault.what, HasSubstr("create"));
  EXPECT_EQ(samples, 1u);
  EXPECT_EQ(again, 1u);
  EXPECT_TRUE(std::filesystem::is_empty(place));
}

}  // namespace
}  // namespace batchfeed
