// SPDX-License-Identifier: MIT
#include "formats/mlf/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::mlf {
namespace {

using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Infer : public ::testing::Test {
 protected:
  MlfOptions of(const std::string& lines) {
    MlfOptions options;
    options.files = {folder_.write("l.mlf", "#!MLF!#\n\"u\"\n" + lines + ".\n")};
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    context.limits = limits_;
    infer(options, context);
    return options;
  }
  ScratchFolder folder_;
  Limits limits_;
};

TEST_F(Infer, AFourthColumnOfNumbersIsTheClass) {
  const MlfOptions options = of("0 1 b 3\n1 2 a 7\n2 3 c 0\n");
  EXPECT_FALSE(options.binary);
  EXPECT_EQ(options.dim, 8u);
  EXPECT_THAT(options.labels, IsEmpty());
}

TEST_F(Infer, ElseTheThirdIsItsName) {
  for (const char* odd : {"2 3 c\n", "2 3 c x\n", "2 3 c 7x\n", "2 3 c 7 8\n", "2 3 c -1\n"}) {
    const MlfOptions options = of(std::string("0 1 b 3\n1 2 a 7\n1 2 b 7\n") + odd);
    EXPECT_THAT(options.labels, ElementsAre("a", "b", "c")) << odd;
    EXPECT_EQ(options.dim, 3u) << odd;
  }
}

TEST_F(Infer, ALineOfTwoColumnsNamesNothing) { EXPECT_THAT(of("0 1 a\n1 2\n").labels, ElementsAre("a")); }

TEST_F(Infer, MoreNamesThanThereMayBeAreNotCollected) {
  limits_.mlf_states = 2;
  EXPECT_EQ(of("0 1 a\n1 2 b\n2 3 c\n3 4 d\n").labels.size(), 3u);  // one above the limit, so that opening fails
}

}  // namespace
}  // namespace batchfeed::mlf
