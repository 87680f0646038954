// SPDX-License-Identifier: MIT
#include <batchfeed/tools.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>

#include "model/shared_source.h"
#include "support/memory_source.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::id_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Tools : public ::testing::Test {
 protected:
  Tools() {
    std::string pattern = (std::filesystem::temp_directory_path() / "batchfeed-tools-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Tools() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string folder_;
};

Setup text_setup(const std::string& path, std::uint64_t dim, std::uint64_t chunk_bytes = 1 << 20) {
  CtfOptions options;
  options.files = {path};
  options.streams = {{.name = "v", .storage = Storage::dense, .dim = dim}};
  options.chunk_bytes = chunk_bytes;
  batchfeed::Setup setup;
  setup.sources.emplace_back(options);
  return setup;
}

// Sound data that cannot be packed as the options ask.
TEST_F(Tools, ChecksWhetherSequencesCanBePacked) {
  batchfeed::Setup setup = text_setup(put("a.ctf",
                                          "0 |v 1 |w 1\n1 |v 2 |w 2\n1 |v 3 |w 3\n2 |v x |w 4\n2 |w 5\n"
                                          "3 |v 6 |w 7\n4 |v 8 |w 9\n4 |w 10\n5 |v 11 |w 12\n"),
                                      1, 20);
  auto& options = std::get<CtfOptions>(setup.sources[0]);
  options.streams.push_back({.name = "w", .storage = Storage::dense, .dim = 1});
  EXPECT_GT(open_sources(setup)->chunks().size(), 2u);
  using Found = std::pair<std::string, std::uint64_t>;
  const auto found = [&](Packing packing, std::uint64_t most) {
    setup.reader.pack = {packing, 2, 0};
    std::vector<Found> all;
    const CheckResult result =
        check(setup, {.max_faults = most}, [&](const Notice& n) { all.emplace_back(n.fault.id, n.fault.at.line); });
    EXPECT_EQ(result.faults, packing == Packing::sequences ? 1u : packing == Packing::frames ? 3u : 2u);
    EXPECT_TRUE(result.complete);
    return all;
  };
  EXPECT_THAT(found(Packing::sequences, 9), ElementsAre(Found("ctf.bad-number", 4)));
  EXPECT_THAT(found(Packing::frames, 9),
              ElementsAre(Found("pack.frame-length", 2), Found("ctf.bad-number", 4), Found("pack.frame-length", 7)));
  EXPECT_THAT(found(Packing::truncated, 9),
              ElementsAre(Found("ctf.bad-number", 4), Found("pack.truncated-lengths", 7)));
  EXPECT_THAT(found(Packing::frames, 1), ElementsAre(Found("pack.frame-length", 2)));
}

// If there is no memory for a chunk, that is a fault, and the other chunks are checked.
TEST_F(Tools, ChecksOnWhereMemoryRunsOut) {
  const std::string text = "0 |v 1\n1 |v 2\n2 |v x\n";
  batchfeed::Setup setup = text_setup("mem://a", 1, 7);
  setup.file_system.open = [&](const std::string&) {
    auto file = std::make_shared<RemoteFile>();
    file->size = text.size();
    file->read = [&](std::uint64_t offset, std::span<std::byte> out) {
      if (offset == 7) throw std::bad_alloc();
      std::memcpy(out.data(), text.data() + offset, out.size());
    };
    return file;
  };
  std::vector<std::string> ids;
  const CheckResult result = check(setup, {}, [&](const Notice& n) { ids.push_back(n.fault.id); });
  EXPECT_THAT(ids, ElementsAre("check.memory", "ctf.bad-number"));
  EXPECT_EQ(result.faults, 2u);
  EXPECT_FALSE(result.complete);
}

// An exception other than Error, thrown by a source of the user's, ends the check and reaches the caller.
TEST_F(Tools, CheckPassesOnWhatASourceThrows) {
  struct Throws : SharedSource {
    using SharedSource::SharedSource;
    void read(std::uint32_t chunk, Chunk& out) const override {
      if (chunk == 2) throw std::out_of_range("the user's own");
      SharedSource::read(chunk, out);
    }
  };
  const batchfeed::Setup text = text_setup(put("five.ctf", "0 |v 1\n1 |v x\n2 |v 3\n3 |v 4\n4 |v 5\n"), 1, 7);
  const auto source = std::make_shared<Throws>(open_to_look(text));
  for (const unsigned threads : {1u, 4u}) {
    batchfeed::Setup setup;
    setup.sources.emplace_back(source);
    setup.reader.threads = threads;
    EXPECT_THROW(check(setup, {}, {}), std::out_of_range);
  }
}

TEST_F(Tools, AnIdAboveTheLargestDoesNotEndTheCheck) {
  for (const std::string first : {"0", "99999999999999999999"}) {
    std::string text = first + " |v 1\n1 |v x\n100000000000000000000000 |v 2\n100000000000000000000000 |v y\n";
    for (int i = 2; i < 200; ++i) text += std::to_string(i) + " |v 1\n";
    text += "99999999999999999999 |v 1\n18446744073709551615 |v x\n";
    std::vector<std::string> told;
    const CheckResult result =
        check(text_setup(put("a.ctf", text), 1), {}, [&](const Notice& n) { told.push_back(n.fault.what); });
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.faults, 4u);
    EXPECT_EQ(result.warnings, first == "0" ? 0u : 1u);
    EXPECT_EQ(result.sequences, 203u);
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told[0], first == "0" ? "sequence id '100000000000000000000000' is above 18446744073709551615; 1 more "
                                      "sequence too"
                                    : "sequence id '99999999999999999999' is above 18446744073709551615; 2 more "
                                      "sequences too");
    EXPECT_EQ(id_of([&] { open_to_look(text_setup(put("a.ctf", text), 1)); }), "ctf.id-range");
  }
}

// What a reader refuses although all of the data can be read.
TEST_F(Tools, ChecksWhatReadingWouldRefuse) {
  const auto found = [&](const std::string& text, const auto& change, const Limits& limits = {}) {
    batchfeed::Setup setup = text_setup(put("a.ctf", text), 1);
    setup.limits = limits;
    change(setup.reader);
    std::vector<std::string> ids;
    const CheckResult result = check(setup, {}, [&](const Notice& n) { ids.push_back(n.fault.id); });
    EXPECT_EQ(result.faults, ids.size());
    EXPECT_TRUE(result.complete);
    return ids;
  };
  const std::string good = "0 |v 1\n0 |v 2\n1 |v 3\n";
  const auto truncated = [](std::uint64_t length) {
    return [length](ReaderOptions& o) { o.pack = {Packing::truncated, length, 0}; };
  };
  Limits few;
  few.implied_samples = 1000;
  EXPECT_THAT(found(good, truncated(1048), few), ElementsAre());
  EXPECT_THAT(found(good, truncated(1049), few), ElementsAre("limit.gaps"));
  EXPECT_THAT(found(good, truncated(std::uint64_t{1} << 31)), ElementsAre("limit.gaps"));
  EXPECT_THAT(found(good, truncated(0)), ElementsAre("reader.truncation-length"));
  EXPECT_THAT(found("0 |v 1\n1 |v x\n", truncated(0)), ElementsAre("ctf.bad-number", "reader.truncation-length"));
}

TEST_F(Tools, DescribesLengthsExactly) {
  std::string text;
  for (int key = 0; key < 100; ++key) {
    for (int step = 0; step <= key; ++step) text += std::to_string(key) + " |v 1\n";
  }
  const Description about = describe(*open_sources(text_setup(put("a.ctf", text), 1, 5000)));
  EXPECT_EQ(about.sequences, 100u);
  EXPECT_EQ(about.samples, 5050u);
  EXPECT_GT(about.chunks, 1u);
  EXPECT_EQ(about.bytes, text.size());
  EXPECT_EQ(about.lengths.min, 1u);
  EXPECT_EQ(about.lengths.p50, 50u);
  EXPECT_EQ(about.lengths.p90, 90u);
  EXPECT_EQ(about.lengths.p99, 99u);
  EXPECT_EQ(about.lengths.max, 100u);
  EXPECT_DOUBLE_EQ(about.lengths.mean, 50.5);
}

TEST_F(Tools, InfersTheWidthThatNearlyAllSamplesKeepTo) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "|v 1 2 3\n";
  EXPECT_EQ(infer_ctf(put("a.ctf", text + "|v 1 2 3 4\n")).streams.at(0).spec.dim, 3u);
  EXPECT_EQ(infer_ctf(put("b.ctf", text + "|v 1 2\n")).streams.at(0).spec.dim, 3u);
  EXPECT_EQ(infer_ctf(put("c.ctf", "|v 1\n|v 1 2\n|v 1 2 3\n")).streams.at(0).spec.dim, 3u);
  EXPECT_EQ(infer_ctf(put("d.ctf", text + "|v 1:2 3\n")).streams.at(0).spec.storage, Storage::dense);
}

// Such samples are whole only where they are sparse; and in another shard they would make all of them dense.
TEST_F(Tools, AStreamWithoutAnyValueIsSparse) {
  const std::string empty = put("a.ctf", "|v 1 |w\n|v 2 |w\n"), some = put("b.ctf", "|v 1 |w 3:1\n|v 2 |w\n");
  for (const auto& files : {std::vector{empty}, std::vector{empty, some}, std::vector{some, empty}}) {
    const Inferred inferred = infer_ctf(files);
    EXPECT_EQ(inferred.streams.at(0).spec.storage, Storage::dense);
    EXPECT_EQ(inferred.streams.at(1).spec.storage, Storage::sparse);
    EXPECT_EQ(inferred.streams.at(1).spec.dim, files.size() == 1 ? 1u : 4u);
    EXPECT_EQ(inferred.streams.at(1).odd, 0u);
    EXPECT_FALSE(files.size() == 1 && inferred.streams.at(1).one_hot);
  }
  EXPECT_EQ(infer_ctf(put("c.ctf", "|v 1 |w word\n")).streams.at(1).spec.storage, Storage::dense);
}

TEST_F(Tools, AStreamThatHardlyAnySequenceHasIsASlip) {
  std::string text;
  for (int i = 0; i < 15; ++i) text += std::to_string(i) + " |v 1\n";
  const std::vector<std::string> shards = {put("a.ctf", text + "15 |w 2\n"), put("b.ctf", text)};
  const Inferred inferred = infer_ctf(shards);
  EXPECT_EQ(inferred.sequences, 31u);
  ASSERT_EQ(inferred.streams.size(), 1u);
  ASSERT_EQ(inferred.rare.size(), 1u);
  const std::vector<batchfeed::Notice> told = rare_streams(inferred);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].fault.at.file, shards[0]);
  EXPECT_EQ(told[0].fault.at.line, 16u);
  EXPECT_EQ(told[0].fault.stream, "w");
  // One sequence in three is more than a tenth: not rare.
  EXPECT_EQ(infer_ctf(put("c.ctf", "0 |v 1\n1 |v 1\n2 |w 1\n")).streams.size(), 2u);
}

TEST_F(Tools, InferringTellsHowFarItIs) {
  std::string text;
  while (text.size() < (3u << 20)) text += "|v 1 2 3\n";
  std::vector<std::uint64_t> told;
  infer_ctf(put("a.ctf", text), ~0ull, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_EQ(all, text.size());
    told.push_back(done);
  });
  ASSERT_GE(told.size(), 2u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_LT(told.front(), text.size());
  EXPECT_GT(told.front(), 0u);
}

// Leaving streams beyond the limit out would lose them silently.
TEST_F(Tools, MoreStreamsThanTheLimitAreAFaultWhereTheyAreNamed) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + " |n" + std::to_string(i % 5) + " 1\n";
  batchfeed::Limits limits;
  limits.streams = 5;
  EXPECT_EQ(infer_ctf(put("a.ctf", text), ~0ull, {}, limits).streams.size(), 5u);
  limits.streams = 4;
  try {
    infer_ctf(put("a.ctf", text), ~0ull, {}, limits);
    FAIL() << "accepted";
  } catch (const batchfeed::Error& error) {
    EXPECT_EQ(error.fault().id, "limit.streams");
    EXPECT_EQ(error.fault().at.line, 5u);
    EXPECT_EQ(error.fault().at.byte, 34u);
  }
}

TEST_F(Tools, AFileReplacedSinceItsStreamsWereInferredIsNotRead) {
  const std::string first = put("a.ctf", "0 |v 1\n"), second = put("b.ctf", "1 |v 2\n");
  const Inferred inferred = infer_ctf(std::vector{first, second});
  batchfeed::CtfOptions options{
      .files = {first, second}, .streams = {inferred.streams.at(0).spec}, .seen = inferred.seen};
  batchfeed::Setup setup;
  setup.sources = {options};
  EXPECT_EQ(open_sources(setup)->streams().size(), 1u);
  std::filesystem::remove(second);
  put("b.ctf", "1 |v 2 |w 3\n");
  try {
    open_sources(setup);
    FAIL() << "opened";
  } catch (const batchfeed::Error& error) {
    EXPECT_EQ(error.fault().kind, batchfeed::FaultKind::stale);
    EXPECT_EQ(error.fault().id, "io.changed");
    EXPECT_EQ(error.fault().at.file, second);
    EXPECT_EQ(error.fault().what, "changed or was replaced since it was looked at: 7 bytes then, 12 now");
  }
}

TEST_F(Tools, InfersIdsThatAreWords) {
  EXPECT_TRUE(infer_ctf(put("a.ctf", "utt-a |v 1\nutt-b |v 2\n")).text_ids);
  EXPECT_FALSE(infer_ctf(put("b.ctf", "0 |v 1\n1 |v 2\n")).text_ids);
}

TEST_F(Tools, CheckReportsFaultsInTheOrderOfTheFileWithAnyThreads) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i) + (i % 3 == 0 ? " |v x\n" : " |v 1\n");
  const std::string path = put("a.ctf", text);
  for (const unsigned threads : {1u, 7u}) {
    batchfeed::Setup setup = text_setup(path, 1, 64);
    setup.reader.threads = threads;
    std::vector<std::uint64_t> lines;
    const CheckResult result = check(setup, {}, [&](const Notice& n) {
      if (n.fault.at.line != 0) lines.push_back(n.fault.at.line);
    });
    EXPECT_GE(result.faults, 100u);
    EXPECT_TRUE(std::is_sorted(lines.begin(), lines.end()));
    EXPECT_TRUE(result.complete);
    EXPECT_EQ(result.bytes, text.size());
  }
}

TEST_F(Tools, CheckCountsWhatItDoesNotList) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + " |v x\n";
  std::uint64_t listed = 0;
  CheckOptions options;
  options.max_faults = 5;
  const CheckResult result = check(text_setup(put("a.ctf", text), 1), options, [&](const Notice&) { ++listed; });
  EXPECT_EQ(listed, 5u);
  std::uint64_t counted = 0;
  for (const auto& [id, n] : result.by_id) counted += n;
  EXPECT_EQ(counted, result.faults + result.warnings);
  EXPECT_GE(result.faults, 50u);
}

TEST_F(Tools, CheckGoesOnBehindASourceThatCannotBeOpened) {
  batchfeed::Setup setup = text_setup(put("a.ctf", ""), 1);
  setup.sources.push_back(text_setup(put("b.ctf", "0 |v x\n"), 1).sources[0]);
  std::vector<std::string> files;
  const CheckResult result =
      check(setup, {}, [&](const Notice& n) { files.push_back(std::filesystem::path(n.fault.at.file).filename()); });
  EXPECT_FALSE(result.complete);
  EXPECT_THAT(files, ::testing::IsSupersetOf({"a.ctf", "b.ctf"}));
}

// Frames without labels are not delivered: to whoever reads them that is damage. What has no partner is left out.
TEST_F(Tools, ChecksWhetherAJoinDeliversAll) {
  const auto source = [](const std::vector<std::uint32_t>& lengths, const std::string& name) {
    return std::make_shared<reader::MemorySource>(std::vector(1, lengths), name == "x", name);
  };
  batchfeed::Setup setup;
  setup.sources = {source({3, 2, 1}, "x"), source({2, 2}, "y")};
  setup.reader.pack.kind = Packing::frames;
  std::vector<std::pair<std::string, Severity>> told;
  const CheckResult result = check(setup, {}, [&](const Notice& n) { told.emplace_back(n.fault.id, n.severity); });
  EXPECT_THAT(told,
              ElementsAre(std::pair("join.shorter", Severity::error), std::pair("join.no-partner", Severity::warning)));
  EXPECT_EQ(result.faults, 1u);
  EXPECT_EQ(result.warnings, 1u);
}

TEST_F(Tools, StatesAreSavedWholeAndBounded) {
  const std::string path = folder_ + "/state";
  save_state(path, "{\"a\":1}");
  EXPECT_EQ(load_state(path), "{\"a\":1}");
  Limits small;
  small.state_bytes = 4;
  EXPECT_THROW(load_state(path, small), Error);
  EXPECT_THROW(save_state(folder_ + "/no/such/folder/state", "x"), Error);
}

}  // namespace
}  // namespace batchfeed
