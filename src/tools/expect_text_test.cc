// SPDX-License-Identifier: MIT
#include <batchfeed/tools.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::ScratchFolder;
using ::testing::HasSubstr;

// The fault of inferring the streams of a file with these bytes; empty if that succeeds.
Fault said(const std::string& bytes, bool alone) {
  const ScratchFolder folder;
  const std::string file = folder.write("x.ctf", bytes);
  try {
    alone ? infer_ctf(file) : infer_ctf(std::vector<std::string>{file});
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().at.file, file);
    return error.fault();
  }
}

std::string by_chance(std::size_t size) {
  std::string out(size, '\0');
  std::uint32_t state = 1;
  for (char& c : out) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

TEST(ExpectText, BytesByChance) {
  for (const bool alone : {true, false}) {
    const Fault fault = said(by_chance(20000), alone);
    EXPECT_EQ(fault.id, "infer.no-text");
    EXPECT_THAT(fault.what, HasSubstr("of the first 20000 bytes are control characters"));
    EXPECT_THAT(fault.hint, HasSubstr("make or fetch it again"));
  }
}

TEST(ExpectText, WhatItBeginsAs) {
  for (const auto& [beginning, words] : std::vector<std::pair<std::string, std::string>>{{"\x89PNG\r\n\x1a\n", "PNG"},
                                                                                         {"\xFF\xD8\xFF\xE0", "JPEG"},
                                                                                         {"PK\3\4", ".npz"},
                                                                                         {"PAR1", "from_parquet()"},
                                                                                         {"\x93NUMPY\1", "Arrays()"},
                                                                                         {"BZh9", "bzip2"},
                                                                                         {"\xFD"
                                                                                          "7zXZ",
                                                                                          "xz; unpack it first"}})
    EXPECT_THAT(said(beginning + by_chance(5000), false).hint, HasSubstr(words));
}

TEST(ExpectText, TablesWithBars) {
  for (const char* table : {"id|a|b\n1|2|3\n4|5|6\n", "id,a|b,c\n1,2|3,4\n", "a|b\n"}) {
    for (const bool alone : {true, false}) {
      const Fault fault = said(table, alone);
      EXPECT_EQ(fault.id, "infer.no-value");
      EXPECT_THAT(fault.hint, HasSubstr("a table with '|'"));
    }
  }
}

// Text with some damage is still text.
TEST(ExpectText, TextWithSomeOfIt) {
  EXPECT_EQ(said("0 |x 1\n", false).id, "");
  EXPECT_EQ(said("0 |x 1\n0 |x \x01\n" + std::string(200, ' ') + "\n", false).id, "");
  EXPECT_EQ(said("0 |x 1" + std::string(5000, '\0') + "\n", false).id, "");
  EXPECT_EQ(said("0 |x\n1 |x 1\n", false).id, "");
  EXPECT_EQ(said("0 |\xC3\xA4\xFF\xFE 1\n", false).id, "");
}

}  // namespace
}  // namespace batchfeed
