// SPDX-License-Identifier: MIT
#pragma once

#include <batchfeed/error.h>
#include <gtest/gtest.h>

#include <string>

namespace batchfeed::testing {

// The fault of the Error that an action throws; if it throws none, the test fails.
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

// The id of the fault that an action fails with; "" if it does not.
template <class Do>
std::string id_of(Do&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.fault().id;
  }
  return "";
}

}  // namespace batchfeed::testing
