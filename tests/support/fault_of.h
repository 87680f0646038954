// SPDX-License-Identifier: MIT
#pragma once

#include <batchfeed/error.h>
#include <gtest/gtest.h>

namespace batchfeed::testing {

// What an action fails with; that it does not fail is a failure of the test.
template <class Do>
Fault fault_of(Do&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.fault();
  }
  ADD_FAILURE() << "no fault";
  return {};
}

}  // namespace batchfeed::testing
