// SPDX-License-Identifier: MIT
#include "formats/htk/scp.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fault_of.h"

namespace batchfeed::htk {
namespace {

struct Good {
  std::string line;
  std::string key, path;
  std::uint32_t first = 0, frames = 0;
  bool whole = false;
};

ScpRules rules(const std::string& prefix = "", const std::string& directory = "d") {
  return {.prefix = normalise_prefix(prefix), .directory = directory, .path_map = {}, .limits = {}};
}

TEST(Scp, LinesMeanWhatTheySay) {
  const std::vector<Good> cases = {
      {"u1.mfc=a.chunk[0,9]", "u1", "a.chunk", 0, 10},
      {"An4/71/71/cen5-fjam-b.mfc=F/x.chunk[0,367]", "An4/71/71/cen5-fjam-b", "F/x.chunk", 0, 368},
      {"a.b.c=x[4,4]", "a.b", "x", 4, 1},
      {"u=x[0,1]", "u", "x", 0, 2},
      {"dir.v1/u=x[0,1]", "dir.v1/u", "x", 0, 2},
      {"dir.v1\\u.mfc=x[0,1]", "dir.v1\\u", "x", 0, 2},
      {"u=a[0,9]\r", "u", "a", 0, 10},
      {"u=a[0,9] \t", "u", "a", 0, 10},
      {"u=a[ 5, 9 ]", "u", "a", 5, 5},
      {"u=a[+5,+9]", "u", "a", 5, 5},
      {"u=a=b[0,9]", "u", "a=b", 0, 10},
      {"u=a", "u", "a", 0, 0, true},
      {"feat/u.mfc", "feat/u", "feat/u.mfc", 0, 0, true},
      {"u = a[0,1]", "u", "a", 0, 2},
      {"u=a [0,1]", "u", "a", 0, 2},
      {"u=.../f[0,1]", "u", "d/f", 0, 2},
      {"#c=x[0,0]", "#c", "x", 0, 1},
      {"u=//host/share/a.chunk[0,0]", "u", "//host/share/a.chunk", 0, 1},
      {"u=\\\\host\\share\\a.chunk[0,0]", "u", "\\\\host\\share\\a.chunk", 0, 1},
      {"u=my files/a.chunk[2,3]", "u", "my files/a.chunk", 2, 2},
      {"u=-a[0,0]", "u", "-a", 0, 1},
  };
  for (const Good& c : cases) {
    SCOPED_TRACE(c.line);
    const ScpEntry e = parse_scp_line(c.line, rules(), {.file = "x.scp", .line = 1, .column = 1});
    EXPECT_EQ(e.key, c.key);
    EXPECT_EQ(e.path, c.path);
    EXPECT_EQ(e.first, c.first);
    EXPECT_EQ(e.frames, c.frames);
    EXPECT_EQ(e.whole, c.whole);
  }
  EXPECT_TRUE(parse_scp_line("u = a[0,1]", rules(), {}).blanks);
  EXPECT_FALSE(parse_scp_line("u=a[0,1]", rules(), {}).blanks);
}

TEST(Scp, PrefixDotsAndMapMakePathsOfThisMachine) {
  const auto path = [](std::string_view line, const ScpRules& r) { return parse_scp_line(line, r, {}).path; };
  EXPECT_EQ(normalise_prefix("p\\q//"), "p/q/");
  EXPECT_EQ(path("u=f[0,1]", rules("p\\q//")), "p/q/f");
  EXPECT_EQ(path("u=.../f[0,1]", rules("p\\q//")), "p/q/.../f");
  EXPECT_EQ(path("u=.../f[0,1]", rules("", ".")), "./f");
  const ScpEntry plain = parse_scp_line("x/f", rules("p"), {});
  EXPECT_EQ(plain.path, "p/x/f");
  EXPECT_EQ(plain.key, "p/x/f");

  ScpRules r = rules("p");
  r.path_map = {{"//host/share/", "/data/"}, {"X:\\", "/x/"}};
  EXPECT_EQ(path("u=\\\\host\\share\\dir\\a.chunk[0,1]", r), "/data/dir/a.chunk");
  EXPECT_EQ(path("u=X:/dir/a.chunk[0,1]", r), "/x/dir/a.chunk");
  EXPECT_EQ(path("u=Y:/a[0,1]", r), "p/Y:/a");
}

TEST(Scp, TheMapIsForPathsAsTheyAreToldToo) {
  ScpRules r = rules("/gone");
  r.path_map = {{"/gone/", "here/"}};
  EXPECT_EQ(parse_scp_line("u=f[0,1]", r, {}).path, "here/f");
  const ScpEntry plain = parse_scp_line("x/f.mfc", r, {});
  EXPECT_EQ(plain.path, "here/x/f.mfc");
  EXPECT_EQ(plain.key, "/gone/x/f") << "as without a map";
  r = rules("", "lists");
  r.path_map = {{"lists/old/", "lists/"}};
  EXPECT_EQ(parse_scp_line("u=.../old/f[0,1]", r, {}).path, "lists/f");
}

struct Bad {
  std::string line, id;
  std::uint64_t column;
};

TEST(Scp, DamagedLinesAreLocated) {
  const std::vector<Bad> cases = {
      {"u1.mfc=../data/a.chunk[5", "scp.range", 23},
      {"u=a[0,9", "scp.range", 4},
      {"u=a[5]", "scp.range", 4},
      {"u=a[5,", "scp.range", 4},
      {"u=a[]0,9", "scp.range", 4},
      {"u=a[0,9]x", "scp.after-range", 9},
      {"u=a[9,0]", "scp.range-order", 5},
      {"u=a[5,4]", "scp.range-order", 5},
      {"u=a[-1,3]", "scp.frame-number", 5},
      {"u=a[x,y]", "scp.frame-number", 5},
      {"u=a[0,1x]", "scp.frame-number", 7},
      {"u=a[0,]", "scp.frame-number", 7},
      {"u=a[0,4294967296]", "scp.frame-number", 7},
      {"u=a[0,4294967295]", "limit.sequence", 5},
      {"=x[0,1]", "scp.no-key", 1},
      {".mfc=x[0,1]", "scp.no-key", 1},
      {"x[0,1]", "scp.no-key", 1},
      {"u=[0,1]", "io.no-path", 3},
      {"u=cat x |[0,1]", "io.pipe", 3},
      {"u=cat x |", "io.pipe", 3},
      {"u=-", "io.stdin", 3},
      {std::string("u=a\0b", 5), "io.bad-path", 3},
      {std::string(5000, 'k') + "=x[0,1]", "limit.key", 1},
  };
  for (const Bad& c : cases) {
    SCOPED_TRACE(c.line.substr(0, 40));
    try {
      parse_scp_line(c.line, rules(), {.file = "x.scp", .byte = 100, .line = 7, .column = 1, .has_byte = true});
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.fault().id, c.id) << e.what();
      EXPECT_EQ(e.fault().at.line, 7u);
      EXPECT_EQ(e.fault().at.column, c.column) << e.what();
      EXPECT_EQ(e.fault().at.byte, 99 + c.column);
    }
  }
}

TEST(Scp, ALimitThatCannotBeRaisedIsNotToldToBe) {
  const auto fault = [](std::string_view line, std::uint64_t limit) {
    ScpRules r = rules();
    r.limits.sequence_samples = limit;
    return ::batchfeed::testing::fault_of([&] { parse_scp_line(line, r, {}); });
  };
  EXPECT_EQ(fault("u=a[0,9]", 9).hint, "raise limits.sequence_samples");
  EXPECT_EQ(fault("u=a[0,4294967295]", 4294967294).hint, "raise limits.sequence_samples");
  for (const std::uint64_t limit : {std::uint64_t{4294967295}, std::uint64_t{8589934592}}) {
    EXPECT_EQ(fault("u=a[0,4294967295]", limit).what, "the range has 4294967296 frames, the limit is 4294967295");
    EXPECT_EQ(fault("u=a[0,4294967295]", limit).hint, "");
  }
}

}  // namespace
}  // namespace batchfeed::htk
