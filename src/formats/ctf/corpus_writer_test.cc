// SPDX-License-Identifier: MIT
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/ctf/ctf.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::ScratchFolder;

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

struct Rows {
  explicit Rows(const ScratchFolder& folder)
      : source(options_for({"A:d1", "B:s9"}), folder.write("rows", "4 |A 1 |B 3:1\n4 |A 2 |B 1:2\n"), quiet_context()) {
    source.read(0, chunk);
  }
  CtfSource source;
  Chunk chunk;
};

TEST(CtfWriter, WritesWholeOrNothing) {
  const ScratchFolder folder;
  const Rows rows(folder);
  const std::string path = folder / "out.ctf";
  {
    CtfWriter writer(path, {.streams = rows.source.streams()});
    writer.append(rows.chunk, 0, "x");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  CtfWriter writer(path, {.streams = rows.source.streams()});
  writer.append(rows.chunk, 0, "x");
  writer.append(rows.chunk, 0);
  EXPECT_EQ(writer.sequences(), 2u);
  EXPECT_EQ(writer.samples(), 4u);
  writer.commit();
  EXPECT_EQ(contents(path), "x |A 1 |B 3:1\nx |A 2 |B 1:2\n1 |A 1 |B 3:1\n1 |A 2 |B 1:2\n");
}

TEST(CtfWriter, TellsNumbersApartByTheirTextWhereAnIdIsNone) {
  const ScratchFolder folder;
  const Rows rows(folder);
  CtfWriter writer(folder / "out.ctf", {.streams = rows.source.streams()});
  for (const char* const key : {"0", "u", "7", "007", "07", "00"}) writer.append(rows.chunk, 0, key);
  EXPECT_EQ(writer.sequences(), 6u);
}

TEST(CtfWriter, RefusesWhatWouldNotComeBackAndGoesOn) {
  const ScratchFolder folder;
  const Rows rows(folder);
  CtfWriter writer(folder / "out.ctf", {.streams = rows.source.streams()});
  writer.append(rows.chunk, 0, "4");
  const auto id_of = [&](std::uint32_t row, const char* key) {
    try {
      writer.append(rows.chunk, row, key);
    } catch (const Error& error) {
      return error.fault().id;
    }
    return std::string();
  };
  EXPECT_EQ(id_of(0, "4"), "ctf.write-same-id");
  EXPECT_EQ(id_of(0, "004"), "ctf.write-same-id") << "who reads numbers takes it for 4";
  Chunk without = {};
  without.reset(rows.source.streams());
  for (Column& column : without.columns) {
    column.first_sample.push_back(0);
    column.begin.push_back(0);
  }
  try {
    writer.append(without, 0, "9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "ctf.write-no-sample");
  }
  writer.append(rows.chunk, 0, "5");
  writer.commit();
  EXPECT_EQ(contents(folder / "out.ctf"), "4 |A 1 |B 3:1\n4 |A 2 |B 1:2\n5 |A 1 |B 3:1\n5 |A 2 |B 1:2\n");
}

}  // namespace
}  // namespace batchfeed::ctf
