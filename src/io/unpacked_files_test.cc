// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "compressed/compressed.h"
#include "io/file.h"
#include "io/room.h"
#include "support/counted_files.h"
#include "support/fault_of.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::CountedFiles;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::stored_gzip;

std::string text_of(std::size_t size, const char* word = "a line of text ") {
  std::string out;
  while (out.size() < size) out += word + std::to_string(out.size()) + "\n";
  out.resize(size);
  return out;
}

std::string all_of(const FileSystem& file_system, const Limits& limits = {}) {
  const File file("x://a.gz", file_system, limits);
  std::string out(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(out)));
  return out;
}

class Shared : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!compressed::supported(compressed::Codec::gzip)) GTEST_SKIP() << "built without zlib";
    files_.content["x://a.gz"] = stored_gzip(text_);
  }

  // How many times all of the file was read since the last call.
  double passes() {
    return static_cast<double>(files_.bytes_read.exchange(0)) / static_cast<double>(files_.content["x://a.gz"].size());
  }

  const std::string text_ = text_of(3'000'000);
  CountedFiles files_;
};

TEST_F(Shared, APassIsMadeOnceForAllWhoOpenTheFile) {
  FileSystem file_system = files_.file_system();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all_of(file_system), text_);
  EXPECT_NEAR(passes(), 6, 0.2);  // one to open it, one to read it
  file_system.unpacked = share_unpacked();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all_of(file_system), text_);
  EXPECT_NEAR(passes(), 4, 0.2);
}

TEST_F(Shared, OfLinesAndOfAnIndexNoMoreIsHeldThanThePackedSizeAllows) {
  files_.content["x://a"] = text_;
  const FileSystem file_system = files_.file_system();
  const File plain("x://a", file_system, Limits()), packed("x://a.gz", file_system, Limits());
  const std::uint64_t size = files_.content["x://a.gz"].size();
  Limits limits;
  const auto line = [&](const File& file) {
    const Room room = room_for_line(file, limits);
    return std::pair(room.bytes, std::string(room.limit));
  };
  for (const std::uint64_t ratio : {1u, 100u}) {
    limits.unpack_held_ratio = ratio;
    EXPECT_EQ(line(plain), std::pair(limits.line_bytes, std::string("line_bytes")));
    EXPECT_EQ(room_for_index(plain, limits).bytes, ~0ull);
    EXPECT_EQ(line(packed), std::pair(ratio == 1 ? kAnyCompressed : 100 * size, std::string("unpack_held_ratio")));
    EXPECT_EQ(room_for_index(packed, limits).bytes, ratio == 1 ? kAnyCompressedIndex : 100 * size);
  }
  limits.line_bytes = 1000;
  EXPECT_EQ(line(packed), std::pair(limits.line_bytes, std::string("line_bytes")));
}

TEST_F(Shared, WhatIsSmallIsUnpackedOnce) {
  FileSystem file_system = files_.file_system();
  file_system.unpacked = share_unpacked(text_.size());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all_of(file_system), text_);
  EXPECT_NEAR(passes(), 1, 0.1);
  files_.version = "2";  // no room is left for another
  EXPECT_EQ(all_of(file_system), text_);
  EXPECT_NEAR(passes(), 2, 0.2);
  file_system.unpacked = share_unpacked(text_.size() - 1);
  EXPECT_EQ(all_of(file_system), text_);
  EXPECT_NEAR(passes(), 2, 0.2);
}

TEST_F(Shared, AnotherFileOfThatNameIsRead) {
  FileSystem file_system = files_.file_system();
  file_system.unpacked = share_unpacked(1 << 30);
  EXPECT_EQ(all_of(file_system), text_);
  const std::string other = text_of(text_.size(), "another line ");
  files_.content["x://a.gz"] = stored_gzip(other);
  files_.version = "2";
  EXPECT_EQ(all_of(file_system), other);
  // Without a version nobody knows.
  files_.version = "";
  EXPECT_EQ(all_of(file_system), other);
  files_.content["x://a.gz"] = stored_gzip(text_);
  EXPECT_EQ(all_of(file_system), text_);
}

TEST_F(Shared, LimitsAreThoseOfEachOpening) {
  FileSystem file_system = files_.file_system();
  file_system.unpacked = share_unpacked(1 << 30);
  EXPECT_EQ(all_of(file_system), text_);
  Limits narrow;
  narrow.unpacked_bytes = text_.size() - 1;
  EXPECT_EQ(fault_of([&] { all_of(file_system, narrow); }).id, "limit.unpacked");
  EXPECT_EQ(all_of(file_system), text_);
}

}  // namespace
}  // namespace batchfeed::io
