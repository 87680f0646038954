// SPDX-License-Identifier: MIT
#include "formats/cbf/keys.h"

#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "formats/cbf/golden_testing.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::Call;
using ::batchfeed::testing::every;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::ScratchFolder;
using golden::Opened;

TEST(CbfKeys, ThatTheSystemDoesNotShowAreNoNumbers) {
  const ScratchFolder folder;
  {
    CbfWriter writer(folder / "x.cbf", {.streams = {{.name = "feat", .dim = 2}}, .keys = true});
    const float values[2] = {1, 2};
    writer.append(std::vector<SequenceData>{{.samples = 1, .values = values}}, "a");
    writer.commit();
  }
  for (const int error : {EIO, EACCES, ELOOP}) {
    const Opened opened(folder / "x.cbf");
    {
      const FaultySys sys(every("stat", error));
      const Fault fault = fault_of([&] { (void)opened.source->key_text(0); });
      EXPECT_EQ(fault.kind, FaultKind::io) << fault.text();
      EXPECT_EQ(fault.at.file, folder / "x.cbf.keys");
    }
    EXPECT_EQ(opened.source->key_text(0), "a");
  }
  for (const int error : {ENOENT, ENOTDIR, ENAMETOOLONG, EINTR}) {
    const Opened opened(folder / "x.cbf");
    bool first = true;
    const FaultySys sys(
        [&](const Call& call) { return call.name == "stat" && std::exchange(first, false) ? error : 0; });
    EXPECT_EQ(opened.source->key_text(0), error == EINTR ? "a" : "0");
  }
}

TEST(CbfKeys, InAnotherFolderThatTheProcessIsInStay) {
  const ScratchFolder here, elsewhere;
  const std::string keys = std::string(kKeysHead) + "a\n" + keys_trailer(1, 100);
  here.write("x.cbf.keys", keys);
  elsewhere.write("x.cbf.keys", keys);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());
  CbfWriter writer("x.cbf", {.streams = {{.name = "feat", .dim = 2}}});
  std::filesystem::current_path(elsewhere.path());
  writer.commit();
  std::filesystem::current_path(before);
  EXPECT_EQ(here.names(), std::vector<std::string>{"x.cbf"});
  EXPECT_EQ(elsewhere.names(), std::vector<std::string>{"x.cbf.keys"});
}

// A relative path counts from the folder in which the corpus was named, for its keys as for itself.
TEST(CbfKeys, OfOtherDataAreFoundWhereTheDataAre) {
  const ScratchFolder here, elsewhere;
  const FileSystem files{.folder = std::filesystem::path(here / "x").parent_path()};
  const FileSystem others{.folder = std::filesystem::path(elsewhere / "x").parent_path()};
  here.write("x.cbf.keys", std::string(kKeysHead) + "a\n" + keys_trailer(1, 100));
  EXPECT_FALSE(has_other_keys("x.cbf", 1, 100, files));
  EXPECT_TRUE(has_other_keys("x.cbf", 2, 100, files));
  EXPECT_FALSE(has_other_keys("x.cbf", 2, 100, others));
}

}  // namespace
}  // namespace batchfeed::cbf
