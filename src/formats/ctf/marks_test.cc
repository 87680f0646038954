// SPDX-License-Identifier: MIT
#include "formats/ctf/marks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>

#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"
#include "support/tier.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kBehind = 80;  // bytes that may be looked at behind a block

std::string block_of(std::mt19937& random, std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    text += std::to_string(random() % 1000);
    for (std::size_t n = random() % 4; n > 0; --n) text += random() % 5 == 0 ? " |# 1 |a 2" : " |a 1";
    if (random() % 20 == 0) text.append(random() % 2000, ' ');
    text += '\n';
  }
  return text;
}

TEST(Marks, AreThoseOfALoopAndEndWithTheLastNewline) {
  std::mt19937 random(7);
  const Limits limits;
  const OneHotNames names(Schema(options_for({"a:s8"}), limits));
  for (const char* tier : {"scalar", "avx2", "avx512"}) {
    for (int round = 0; round < 60; ++round) {
      const std::string text = block_of(random, 1 + random() % 60);
      // Exactly as much memory as may be looked at, with marks behind the block.
      const auto memory = std::make_unique<char[]>(text.size() + kBehind);
      std::memset(memory.get(), '|', text.size() + kBehind);
      std::memcpy(memory.get(), text.data(), text.size());
      const char* const begin = memory.get();
      const char* const end = begin + text.size();
      std::vector<std::ptrdiff_t> wanted, got;
      for (const char* p = begin; p < end; ++p) {
        if (*p == '\n' || (*p == '|' && p[1] != '#')) wanted.push_back(p - begin);
      }
      MarkList marks(list_marks(tier), find_one_hots(tier), names);
      marks.block(end);
      marks.go_to(begin);
      for (std::size_t i = 0; i < wanted.size(); ++i, marks.next()) got.push_back(marks.now() - begin);
      ASSERT_EQ(got, wanted) << tier;
      for (int i = 0; i < 3; ++i, marks.next()) ASSERT_EQ(marks.now(), end - 1) << tier;
      marks.go_to(begin);  // back: what was taken is gone
      ASSERT_EQ(marks.now(), end - 1);
      marks.go_to(end);
    }
  }
}

// As if the file had been written again between two looks at it.
TEST(Marks, TextThatDoesNotFitItsIndexIsReadToAnEnd) {
  std::mt19937 random(11);
  const auto lines = [&](std::size_t bytes) {
    std::string text;
    for (unsigned id = 0; text.size() < bytes; ++id) {
      text += std::to_string(id / (1 + random() % 3)) + " |a " + std::to_string(random() % 100) +
              (random() % 3 == 0 ? " |b 1:2" : "") + (random() % 40 == 0 ? std::string(random() % 300, ' ') : "") +
              '\n';
    }
    text.resize(bytes - 1);
    return text + '\n';
  };
  const ::batchfeed::testing::ScratchFolder folder;
  for (const char* tier : {"scalar", "avx2", "avx512"}) {
    const testing::Tier forced(tier);
    for (int round = 0; round < 30; ++round) {
      const std::string path = folder.write("c.ctf", lines(5000));
      CtfOptions options = options_for({"a:d1", "b:s8"}, ~0ull);
      options.chunk_bytes = 500;
      options.trace_level = 0;
      const CtfSource source(options, path, quiet_context(), {.block = 1u + random() % 700});
      const auto time = std::filesystem::last_write_time(path);
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << lines(5000);
      std::filesystem::last_write_time(path, time);
      Chunk chunk;
      for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
        try {
          source.read(c, chunk);
        } catch (const Error& e) {
          EXPECT_FALSE(e.fault().id.empty());
        }
      }
    }
  }
}

}  // namespace
}  // namespace batchfeed::ctf
