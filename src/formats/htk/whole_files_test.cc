// SPDX-License-Identifier: MIT
//
// Lists of whole files, one for each utterance: each is opened only once, both to count its frames and to check it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/htk/htk.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::htk {
namespace {

using ::batchfeed::testing::Call;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::HtkFile;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;
using ::testing::HasSubstr;

class HtkWholeFiles : public ::testing::Test {
 protected:
  // Writes `count` files of 1, 2, 3 ... frames, and returns the lines of their list.
  std::string list(std::size_t count) {
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = "u" + std::to_string(i);
      lines += name + "=" + folder_.write(name, htk_file(ramp(2 * (i + 1)), {.dim = 2})) + "\n";
    }
    return lines;
  }
  std::unique_ptr<Source> open(const std::string& lines) {
    HtkOptions options;
    options.name = "f";
    options.scp_files = {folder_.write("x.scp", lines)};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    context.report = [this](const Notice& n) { told_.push_back(n.fault.id); };
    return htk::open(options, context);
  }
  static std::size_t opened(const FaultySys& sys, const std::string& path) {
    const std::vector<Call> log = sys.log();
    return static_cast<std::size_t>(std::count_if(
        log.begin(), log.end(), [&](const Call& call) { return call.name == "open" && call.path == path; }));
  }

  ScratchFolder folder_;
  std::vector<std::string> told_;
};

TEST_F(HtkWholeFiles, AreOpenedOnce) {
  const std::string lines = list(10);
  const FaultySys sys;
  const auto source = open(lines);
  EXPECT_EQ(source->chunks()[0].samples, 55u);
  // The first is opened twice, as the others are compared with it.
  for (int i = 0; i < 10; ++i) EXPECT_EQ(opened(sys, folder_ / ("u" + std::to_string(i))), i == 0 ? 2u : 1u) << i;
  Chunk chunk;
  source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].first_sample[10], 55u);
  EXPECT_TRUE(told_.empty()) << ::testing::PrintToString(told_);
}

TEST_F(HtkWholeFiles, ThatDifferAreToldAsInRanges) {
  for (const auto& [what, odd] : {std::pair{"values", HtkFile{.dim = 3}},
                                  {"period", HtkFile{.dim = 2, .period = 50'000}},
                                  {"kind", HtkFile{.dim = 2, .kind = 6}}}) {
    for (const std::size_t at : {0u, 1u, 4u}) {
      const std::string lines = list(5);
      folder_.write("u" + std::to_string(at), htk_file(ramp(12), odd));
      const Fault fault = fault_of([&] { open(lines); });
      EXPECT_EQ(fault.id, "htk.mixed");
      EXPECT_THAT(fault.what, HasSubstr(what));
      // If the first file is the odd one, the second is told as different from it.
      EXPECT_THAT(fault.at.file, ::testing::EndsWith("u" + std::to_string(at == 0 ? 1 : at)));
    }
  }
}

TEST_F(HtkWholeFiles, ThatEndEarlyOrLateAreTold) {
  for (const auto& [id, frames] : {std::pair{"htk.cut-short", 7}, {"htk.more-frames", 2}}) {
    const std::string lines = list(4);
    folder_.write("u2", htk_file(ramp(8), {.dim = 2, .header_frames = frames}));
    told_.clear();
    std::string refused;
    try {
      open(lines);
    } catch (const Error& error) {
      refused = error.fault().id;
    }
    EXPECT_EQ(told_, std::vector<std::string>{id});
    EXPECT_EQ(refused, frames > 4 ? "htk.range" : "") << "frames that are not there";
  }
}

// A list may also name a range of a whole file, before or behind it.
TEST_F(HtkWholeFiles, MayBeListedInRangesAsWell) {
  const std::string lines = list(3);
  const std::string u1 = folder_ / "u1";
  EXPECT_EQ(open("a=" + u1 + "[1,1]\n" + lines + "b=" + u1 + "[0,1]\n")->chunks()[0].samples, 1u + 6u + 2u);
  const Fault fault = fault_of([&] { open(lines + "b=" + u1 + "[0,2]\n"); });
  EXPECT_EQ(fault.id, "htk.range");
  EXPECT_THAT(fault.what, HasSubstr("which has 2"));
}

// A file that is replaced after the list was read is refused.
TEST_F(HtkWholeFiles, ThatWereReplacedAreNotRead) {
  const auto source = open(list(3));
  folder_.write("new", htk_file(ramp(4), {.dim = 2}));
  std::filesystem::rename(folder_ / "new", folder_ / "u1");
  Chunk chunk;
  EXPECT_EQ(fault_of([&] { source->read(0, chunk); }).kind, FaultKind::stale);
}

}  // namespace
}  // namespace batchfeed::htk
