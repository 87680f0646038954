// SPDX-License-Identifier: MIT
//
// Every allocation of every scenario fails in turn: std::bad_alloc or a fault
// comes out, nothing leaks (the leak sanitizer looks at the end), no descriptor
// stays open, and a second try works.
#include <batchfeed/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "support/faulty_sys.h"
#include "support/scenarios.h"

namespace {

// Allocations left until one fails; negative: none fails.
std::atomic<std::int64_t> left{-1};
std::atomic<bool> failed{false};

void* allocate(std::size_t size, std::size_t alignment) {
  if (left.load(std::memory_order_relaxed) >= 0 && left.fetch_sub(1) == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  void* memory = alignment == 0 ? std::malloc(size == 0 ? 1 : size)
                                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new[](std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

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
    failed = false;
    left = n;
    try {
      const std::uint64_t result = scenario.run(folder);
      left = -1;
      EXPECT_EQ(result, expected);
    } catch (const std::bad_alloc&) {
      left = -1;
      ++failures;
    } catch (const Error& e) {
      left = -1;
      ++failures;
      EXPECT_EQ(e.fault().kind, FaultKind::limit) << e.what();
    }
    EXPECT_EQ(open_descriptors(), descriptors) << "allocation " << n;
    for (const std::string& name : folder.names()) {
      EXPECT_THAT(name, ::testing::Not(::testing::HasSubstr(".tmp."))) << "allocation " << n;
    }
    if (!failed) break;
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(scenario.run(folder), expected);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, NthAllocation, ::testing::ValuesIn(scenarios()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace batchfeed::testing
