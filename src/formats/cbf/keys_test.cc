// SPDX-License-Identifier: MIT
#include "formats/cbf/keys.h"

#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/cbf/golden.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::Call;
using ::batchfeed::testing::every;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::nth_call;
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

void write_one(const std::string& path, float value, const std::string& key, bool keys, bool replace) {
  CbfWriter writer(path, {.streams = {{.name = "feat", .dim = 1}}, .keys = keys, .replace = replace});
  writer.append(std::vector<SequenceData>{{.samples = 1, .values = &value}}, key);
  writer.commit();
}

// Its value and its key, "?" where it was told that there are keys of other data.
std::string one_of(const std::string& path) {
  const Opened opened(path);
  Chunk chunk;
  chunk.reset(opened.source->streams());
  opened.source->read(0, chunk);
  const bool told = !opened.notices.empty() && opened.notices[0].fault.id == "cbf.keys-not-used";
  return std::to_string(static_cast<int>(chunk.columns[0].as<float>()[chunk.columns[0].begin[0]])) +
         (told ? "?" : opened.source->key_text(0));
}

// Two files alike in everything their keys say of them.
TEST(CbfKeys, AreNeverThoseOfAnotherFileWhateverFailsOrEndsIt) {
  for (const bool keys : {true, false}) {
    const std::string due = keys ? "2new" : "20";
    for (const bool ends : {false, true}) {  // nothing works any more, as for who is killed
      std::set<std::string> seen;
      for (std::uint64_t n = 1;; ++n) {
        const ScratchFolder folder;
        write_one(folder / "x.cbf", 1, "old", true, true);
        bool failed = false;
        {
          const FaultySys sys(
              [&](const Call& call) { return call.number == n || (ends && call.number > n) ? EIO : 0; });
          try {
            write_one(folder / "x.cbf", 2, "new", keys, true);
          } catch (const Error&) {
            failed = true;
          }
          if (sys.calls() < n) break;
        }
        seen.insert(one_of(folder / "x.cbf") + (failed ? "" : " well"));
      }
      std::set<std::string> allowed = {"1old", due, "2?", due + " well"};
      if (ends) allowed.insert("1?");
      EXPECT_TRUE(std::includes(allowed.begin(), allowed.end(), seen.begin(), seen.end()))
          << ::testing::PrintToString(seen);
      EXPECT_TRUE(seen.contains("1old") && seen.contains(due + " well") && seen.contains("2?"));
    }
  }
}

TEST(CbfKeys, WithoutThemANewFileIsTakenBack) {
  std::uint64_t taken_back = 0;
  for (std::uint64_t n = 1;; ++n) {
    const ScratchFolder folder;
    folder.write("x.cbf.keys", "#batchfeed-keys 1\nold\n");
    bool failed = false;
    {
      const FaultySys sys(nth_call(n, EIO));
      try {
        write_one(folder / "x.cbf", 2, "new", true, false);
      } catch (const Error&) {
        failed = true;
      }
      if (sys.calls() < n) break;
    }
    const std::vector<std::string> names = folder.names();
    if (std::find(names.begin(), names.end(), "x.cbf") != names.end()) {
      EXPECT_EQ(one_of(folder / "x.cbf"), "2new") << n;
    } else {
      EXPECT_TRUE(failed) << n;
      ++taken_back;
    }
  }
  EXPECT_GT(taken_back, 5u);
}

}  // namespace
}  // namespace batchfeed::cbf
