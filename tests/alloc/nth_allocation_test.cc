// SPDX-License-Identifier: MIT
//
// Every allocation of every scenario fails in turn: std::bad_alloc or a fault
// comes out, nothing leaks (the leak sanitizer looks at the end), no descriptor
// stays open, and a second try works.
#include <batchfeed/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "support/allocations.h"
#include "support/faulty_sys.h"
#include "support/scenarios.h"

namespace batchfeed::testing {
namespace {

class NthAllocation : public ::testing::TestWithParam<Scenario> {};

TEST_P(NthAllocation, FailsCleanly) {
  const Scenario& scenario = GetParam();
  const ScratchFolder folder;
  scenario.prepare(folder);
  const std::uint64_t expected = scenario.run(folder);
  const std::size_t descriptors = open_descriptors();
  std::int64_t failures = 0;
  for (std::int64_t n = 0;; ++n) {
    ASSERT_LT(n, 100'000) << "no end in sight";
    allocation_failed = false;
    allocations_left = n;
    try {
      const std::uint64_t result = scenario.run(folder);
      allocations_left = -1;
      EXPECT_EQ(result, expected);
    } catch (const std::bad_alloc&) {
      allocations_left = -1;
      ++failures;
    } catch (const Error& e) {
      allocations_left = -1;
      ++failures;
      EXPECT_EQ(e.fault().kind, FaultKind::limit) << e.what();
    }
    EXPECT_EQ(open_descriptors(), descriptors) << "allocation " << n;
    for (const std::string& name : folder.names()) {
      EXPECT_THAT(name, ::testing::Not(::testing::HasSubstr(".tmp."))) << "allocation " << n;
    }
    if (!allocation_failed) break;
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(scenario.run(folder), expected);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, NthAllocation, ::testing::ValuesIn(scenarios()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace batchfeed::testing
