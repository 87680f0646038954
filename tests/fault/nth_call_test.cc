// SPDX-License-Identifier: MIT
//
// Every system call of every scenario fails in turn, with every error it may
// fail with: the result is a located fault or the same data as without it, no
// descriptor and no temporary file is left, and a second try works.
#include <batchfeed/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "support/faulty_sys.h"
#include "support/scenarios.h"

namespace batchfeed::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class NthCall : public ::testing::TestWithParam<Scenario> {};

TEST_P(NthCall, FailsCleanlyOrNotAtAll) {
  const Scenario& scenario = GetParam();
  const ScratchFolder healthy;
  scenario.prepare(healthy);
  const std::uint64_t expected = scenario.run(healthy);
  const std::size_t descriptors = open_descriptors();
  for (const int error : {EIO, ESTALE, EACCES, ENOSPC, EMFILE, EAGAIN}) {
    std::uint64_t faults = 0;
    for (std::uint64_t n = 1;; ++n) {
      ASSERT_LT(n, 5000u) << "no end in sight";
      const ScratchFolder folder;
      scenario.prepare(folder);
      bool reached = false;
      {
        const FaultySys sys(nth_call(n, error));
        try {
          EXPECT_EQ(scenario.run(folder), expected) << "call " << n << ": " << std::strerror(error);
        } catch (const Error& e) {
          ++faults;
          EXPECT_THAT(e.fault().kind, AnyOf(FaultKind::io, FaultKind::stale)) << e.what();
          EXPECT_THAT(e.fault().at.file, HasSubstr(folder.path().string())) << e.what();
          EXPECT_THAT(e.fault().what, HasSubstr(std::strerror(error)));
        }
        reached = sys.calls() >= n;
      }
      EXPECT_EQ(open_descriptors(), descriptors) << "call " << n;
      for (const std::string& name : folder.names()) EXPECT_THAT(name, Not(HasSubstr(".tmp."))) << "call " << n;
      EXPECT_EQ(scenario.run(folder), expected) << "after call " << n;
      if (!reached) break;
    }
    EXPECT_GT(faults, 0u) << "no call of '" << scenario.name << "' failed: is the table of calls in use?";
  }
}

TEST_P(NthCall, ShortReadsAndInterruptionsAreInvisible) {
  const Scenario& scenario = GetParam();
  const ScratchFolder folder;
  scenario.prepare(folder);
  const std::uint64_t expected = scenario.run(folder);
  for (const std::size_t bytes : {1u, 7u, 100u}) {
    FaultySys sys;
    sys.at_most(bytes);
    EXPECT_EQ(scenario.run(folder), expected) << bytes << " bytes at once";
  }
  // Every second read, write and open is interrupted.
  FaultySys sys([](const Call& call) {
    return call.number % 2 == 0 && (call.name == "pread" || call.name == "write" || call.name == "open") ? EINTR : 0;
  });
  EXPECT_EQ(scenario.run(folder), expected);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, NthCall, ::testing::ValuesIn(scenarios()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace batchfeed::testing
