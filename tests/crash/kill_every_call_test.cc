// SPDX-License-Identifier: MIT
//
// A conversion is killed at each of its system calls in turn: the target is
// absent, old or complete, its keys are those of the data or none, what remains
// has a temporary name of this target, and a later run clears it away.
#include <batchfeed/tools.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <regex>
#include <string>

#include "support/faulty_sys.h"
#include "support/scenarios.h"

namespace batchfeed::testing {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;

Contents contents(const ScratchFolder& folder) {
  Contents out;
  for (const std::string& name : folder.names()) out[name] = content_of(folder / name);
  return out;
}

// Runs the scenario in a process of its own that is killed at call n; false: it
// ended before.
bool killed_at(std::uint64_t n, const Scenario& scenario, const ScratchFolder& folder) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    const FaultySys sys([n](const Call& call) {
      if (call.number == n) ::kill(::getpid(), SIGKILL);
      return 0;
    });
    try {
      scenario.run(folder);
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  if (WIFSIGNALED(status)) return true;
  EXPECT_EQ(WEXITSTATUS(status), 0) << "call " << n;
  return false;
}

bool is_temporary(const std::string& name, const std::string& target) {
  return std::regex_match(name, std::regex(target + R"((\.keys)?\.tmp\.\w{6}(/.*)?)"));
}

// As if the run had been killed hours ago.
void grow_old(const ScratchFolder& folder, const std::string& target) {
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (!is_temporary(fs::relative(entry.path(), folder.path()).string(), target)) continue;
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
}

class KillEveryCall : public ::testing::TestWithParam<Scenario> {};

TEST_P(KillEveryCall, LeavesTheTargetAbsentOldOrComplete) {
  const Scenario& scenario = GetParam();
  const ScratchFolder healthy;
  scenario.prepare(healthy);
  const Contents before = contents(healthy);
  const auto old = std::find_if(before.begin(), before.end(), [](const auto& f) { return f.second == "old"; });
  ASSERT_NE(old, before.end());
  const std::string target = old->first;
  scenario.run(healthy);
  const Contents whole = contents(healthy);
  std::map<std::string, int> states;
  std::uint64_t n = 1;
  for (bool killed = true; killed; ++n) {
    ASSERT_LT(n, 5000u) << "no end in sight";
    for (const bool had_one : {true, false}) {
      const ScratchFolder folder;
      scenario.prepare(folder);
      if (!had_one) fs::remove(folder / target);
      killed = killed_at(n, scenario, folder);
      const Contents now = contents(folder);
      const auto found = now.find(target);
      const std::string state = found == now.end()                  ? "absent"
                                : found->second == "old"            ? "old"
                                : found->second == whole.at(target) ? "complete"
                                                                    : "torn";
      ++states[state];
      EXPECT_NE(state, "torn") << "call " << n;
      EXPECT_NE(state, had_one ? "absent" : "old") << "call " << n;
      for (const auto& [name, content] : now) {
        if (is_temporary(name, target) || name == target || before.count(name) != 0) continue;
        ASSERT_EQ(whole.count(name), 1u) << "call " << n << ": a stranger is left: " << name;
        EXPECT_EQ(content, whole.at(name)) << "call " << n;
        EXPECT_EQ(state, "complete") << "call " << n << ": keys without their data";
      }
      grow_old(folder, target);
      scenario.run(folder);
      EXPECT_EQ(contents(folder), whole) << "after call " << n;
    }
  }
  EXPECT_GT(n, 20u) << "is the table of calls in use?";
  for (const char* state : {"absent", "old", "complete"}) EXPECT_GT(states[state], 1) << state;
}

std::vector<Scenario> conversions() {
  std::vector<Scenario> out;
  for (const Scenario& s : scenarios()) {
    if (s.name.rfind("convert_", 0) == 0) out.push_back(s);
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Conversions, KillEveryCall, ::testing::ValuesIn(conversions()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace batchfeed::testing
