// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::ScratchFolder;

class Comments : public ::testing::Test {
 protected:
  batchfeed::Setup text(const std::string& name, const std::string& content) {
    batchfeed::Setup setup;
    setup.sources = {CtfOptions{.files = {folder_.write(name, content)}, .streams = {{.name = "x", .dim = 1}}}};
    return setup;
  }
  static std::vector<Fault> told(const std::vector<const batchfeed::Setup*>& corpora) {
    std::vector<Fault> out;
    warn_of_comments(corpora, [&](const Notice& notice) { out.push_back(notice.fault); });
    return out;
  }
  ScratchFolder folder_;
};

TEST_F(Comments, TheFirstIsToldWithItsPlace) {
  const batchfeed::Setup setup = text("a.ctf", "0 |x 1\n1 |x 2 |# two\n2 |x 3 |# three\n");
  const std::vector<Fault> faults = told({&setup});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].id, "convert.comments");
  EXPECT_EQ(
      faults[0].text(),
      folder_ / "a.ctf" +
          ":2:8 (byte 14): comments are not written, nor class names in them; hint: keep this text if they are needed");
}

TEST_F(Comments, OfManyTextsOneIsToldOf) {
  const batchfeed::Setup none = text("a.ctf", "0 |x 1\n");
  batchfeed::Setup shards = text("b.ctf", "|# b\n0 |x 1\n");
  std::get<CtfOptions>(shards.sources[0]).files.push_back(folder_.write("c.ctf", "|# c\n0 |x 1\n"));
  const std::vector<Fault> faults = told({&none, &shards, &shards});
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].at.file, folder_ / "b.ctf");
  EXPECT_EQ(faults[0].at.column, 1u);
  batchfeed::Setup mixture;
  mixture.mix = {none.sources, shards.sources};
  EXPECT_EQ(told({&mixture}).size(), 1u);
  EXPECT_TRUE(told({&none}).empty());
}

TEST_F(Comments, ATextThatIsNotThereIsAFault) {
  batchfeed::Setup setup = text("a.ctf", "0 |x 1\n");
  std::get<CtfOptions>(setup.sources[0]).files = {folder_ / "b.ctf"};
  EXPECT_EQ(fault_of([&] { told({&setup}); }).kind, FaultKind::io);
  warn_of_comments({&setup}, {});  // nobody to be told
}

}  // namespace
}  // namespace batchfeed
