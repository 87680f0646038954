// SPDX-License-Identifier: MIT
//
// Small pieces of real work, each with a fingerprint of everything it delivered. Tests run them again and
// again, and each time let another system call or allocation fail, or kill the process at another call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/faulty_sys.h"

namespace batchfeed::testing {

struct Scenario {
  std::string name;
  // Writes the input; runs without faults.
  std::function<void(const ScratchFolder&)> prepare;
  // Does the work; the fingerprint of what came out.
  std::function<std::uint64_t(const ScratchFolder&)> run;
};

const std::vector<Scenario>& scenarios();

}  // namespace batchfeed::testing
