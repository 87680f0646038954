// SPDX-License-Identifier: MIT
#include "formats/mlf/cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/hash.h"
#include "formats/mlf/mlf.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::mlf {
namespace {

using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::ScratchFolder;

const std::string kText =
    "#!MLF!#\n\"*/u.lab\"\n0 300000 a 0\n300000 500000 b 1\n.\nnoquotes\n0 3 a 0\n.\n\"v\"\n0 2 b 1\n.\n";

class MlfCache : public ::testing::Test {
 protected:
  MlfOptions options(bool cache = true) { return {.name = "labels", .files = {path_}, .dim = 2, .cache_index = cache}; }
  // Keys, lengths, classes and the ids of notices, as one text.
  std::string read(const MlfOptions& options, KeyMode mode = KeyMode::text) {
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(mode);
    reported_.clear();
    context.report = [this](const Notice& n) {
      if (n.severity != Severity::info) reported_ += n.fault.id + ' ';
    };
    const auto source = open(options, context);
    std::string out;
    std::vector<SequenceInfo> table;
    Chunk chunk;
    for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
      source->sequences(c, table);
      source->read(c, chunk);
      for (const SequenceInfo& s : table) out += source->key_text(s.key) + ':' + std::to_string(s.samples) + ' ';
      for (std::size_t i = 0; i < chunk.columns[0].indices.size(); ++i)
        out += std::to_string(chunk.columns[0].indices[i]);
    }
    for (const Notice& n : source->notices()) out += " " + n.fault.id + "=" + n.fault.at.file + n.fault.what;
    return out;
  }

  ScratchFolder folder_;
  std::string path_ = folder_.write("x.mlf", kText);
  std::string reported_;
};

TEST_F(MlfCache, GivesWhatIndexingGivesWithoutReadingTheFile) {
  const std::string plain = read(options(false));
  EXPECT_EQ(folder_.names().size(), 1u);
  EXPECT_EQ(read(options()), plain);
  ASSERT_EQ(folder_.names().size(), 2u);
  EXPECT_EQ(read(options()), plain);
  EXPECT_EQ(reported_, "");
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  const CacheState state = find_cache(options(), path_, context);
  EXPECT_TRUE(state.valid);
  EXPECT_EQ(state.utterances, 2u);
}

TEST_F(MlfCache, IsBuiltAgainWhenTheFileOrTheOptionsChange) {
  (void)read(options());
  folder_.write("x.mlf", kText + "\"w\"\n0 1 a 0\n.\n");
  EXPECT_NE(read(options()).find("w:1"), std::string::npos);
  EXPECT_EQ(reported_, "mlf.index-rebuilt ");
  MlfOptions legacy = options();
  legacy.legacy = true;
  (void)read(legacy);
  EXPECT_EQ(reported_, "mlf.index-rebuilt ");
}

TEST_F(MlfCache, KeysByNumberAndByHashHaveTheirOwn) {
  path_ = folder_.write("n.mlf", "#!MLF!#\n\"12.lab\"\n0 3 a 0\n.\n\"7x\"\n0 2 b 1\n.\n");
  for (const KeyMode mode : {KeyMode::numeric, KeyMode::hashed}) {
    const std::string plain = read(options(false), mode);
    EXPECT_EQ(read(options(), mode), plain);
    EXPECT_EQ(read(options(), mode), plain);
  }
}

// Changes the number of frames of the last utterance in a cache, and makes the checksum fit.
void lie(const std::string& path, std::uint32_t samples) {
  std::ifstream in(path, std::ios::binary);
  std::string cache(std::istreambuf_iterator<char>(in), {});
  in.close();
  constexpr std::size_t kChecksumAt = 80, kHeader = 88;
  std::memcpy(cache.data() + cache.size() - 8, &samples, sizeof samples);
  RunningHash hash;
  hash.add(cache.data(), kChecksumAt);
  hash.add(cache.data() + kHeader, cache.size() - kHeader);
  const std::uint64_t sum = hash.value();
  std::memcpy(cache.data() + kChecksumAt, &sum, sizeof sum);
  std::ofstream(path, std::ios::binary) << cache;
}

TEST_F(MlfCache, BeyondALimitIsBuiltAgain) {
  path_ = folder_.write("n.mlf", "#!MLF!#\nbare\n.\n\"12.lab\"\n0 300000 a 0\n.\n\"7x\"\n0 200000 b 1\n.\n");
  const std::string plain = read(options(false), KeyMode::numeric);
  (void)read(options(), KeyMode::numeric);
  lie(path_ + ".bfindex", 0xFFFFFFF0u);
  EXPECT_EQ(read(options(), KeyMode::numeric), plain) << "one entry left out, not two";
  EXPECT_EQ(reported_, "mlf.index-rebuilt ");
  EXPECT_EQ(read(options(), KeyMode::numeric), plain);
  EXPECT_EQ(reported_, "") << "it is sound again";
}

TEST_F(MlfCache, OfFramesBeyondALimitTheFileTellsTheLine) {
  (void)read(options());
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  context.limits.label_frames = 4;
  const Fault fault = ::batchfeed::testing::fault_of([&] { (void)open(options(), context); });
  EXPECT_EQ(fault.id, "limit.label-frames");
  EXPECT_EQ(fault.at.line, 2u);
}

TEST_F(MlfCache, AFileWithoutItsLastEndLineSaysSoEachTime) {
  path_ = folder_.write("open.mlf", "#!MLF!#\n\"u\"\n0 3 a 0\n");
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(read(options()), "u:3 000");
    EXPECT_EQ(reported_, "mlf.no-end-line ");
  }
}

TEST_F(MlfCache, OfNoUtteranceThereIsNone) {
  path_ = folder_.write("x.mlf", "#!MLF!#\n");
  for (int i = 0; i < 2; ++i) {
    read(options());
    EXPECT_EQ(reported_.find("mlf.index-rebuilt"), std::string::npos);
  }
  EXPECT_EQ(folder_.names().size(), 1u);
}

TEST_F(MlfCache, ACheckReadsEveryLine) {
  (void)read(options());
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  context.check = true;
  std::string ids;
  context.report = [&](const Notice& n) { ids += n.fault.id + ' '; };
  (void)open(options(), context);
  EXPECT_EQ(ids, "mlf.unquoted-key ");
}

TEST_F(MlfCache, WorksWhereNothingCanBeWritten) {
  const std::string plain = read(options(false));
  const FaultySys faulty([](const testing::Call& call) { return call.name == "mkostemp" ? EROFS : 0; });
  EXPECT_EQ(read(options()), plain);
}

}  // namespace
}  // namespace batchfeed::mlf
