// SPDX-License-Identifier: MIT
#include "formats/ctf/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "formats/ctf/kernels_testing.h"

namespace batchfeed::ctf {
namespace {

TEST(Kernel, TakesPlainNumbers) {
  for (const std::string& tier : tiers()) {
    EXPECT_EQ(compare_dense<float>(tier, " 1 2 3\n", 3), 3u);
    EXPECT_EQ(compare_dense<double>(tier, " 0 1 2 3 4 5 6 7 8 9 0 1 -2 3.5 \r\n", 14), 14u);
    EXPECT_EQ(compare_dense<float>(tier, " 9999 0.000001 -12.34 0.5\n", 4), 4u);
    EXPECT_EQ(compare_dense<float>(tier, "\n", 4), 0u);
    // Those of more than eight bytes, or with a pipe behind them, are not for `scalar`.
    const unsigned one = tier == "scalar" ? 1 : 0;
    EXPECT_EQ(compare_dense<float>(tier, " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 255 0 0|", 19), 19u - one);
    EXPECT_EQ(compare_dense<float>(tier, " 0.1234 -0 -0.5 .5 -.25 7. 123456789012345 \x01", 7), 7u - one);
    EXPECT_EQ(compare_dense<double>(tier, " 0.1 123456789012345\n", 2), 2u - one);
    EXPECT_EQ(compare_dense<float>(tier, " 9999 0.0001 -12.34 0.00000000000001\n", 4), 4u - one);
  }
}

TEST(Kernel, LeavesTheRestToTheScan) {
  for (const std::string& tier : tiers()) {
    for (const char* sample : {" 1 2\n",
                               " 1 2 3 4\n",
                               " 1 x 3\n",
                               " 1  2 3\n",
                               " 1 2 3e1\n",
                               " 1\t2 3\n",
                               "\n",
                               " - 1 2\n",
                               " . 1 2\n",
                               " -. 1 2\n",
                               " 1.2.3 1 2\n",
                               " 1-2 1 2\n",
                               " +1 2 3\n",
                               " 1 2 0.12345678901234567\n",
                               " 1 2 3:4\n",
                               " 1 2 /\n",
                               " 1 2 3\xC3\n1",
                               " 0. 1 -0.\n",
                               " 1e39 1 2\n",
                               " 1 2 3    \t\t \n",
                               " --1 2 3\n",
                               " -0x1 2 3\n",
                               "\t1\t2\t3\t|"}) {
      compare_dense<float>(tier, sample, 3);
      compare_dense<double>(tier, sample, 3);
    }
    EXPECT_LE(compare_dense<float>(tier, " 1 x 3\n", 3), 1u);
    EXPECT_EQ(compare_dense<float>(tier, " - 1 2\n", 3), 0u);
    EXPECT_EQ(compare_dense<float>(tier, " 1.2.3 1 2\n", 3), 0u);
    EXPECT_LE(compare_dense<float>(tier, " 1 2 3 4\n", 3), 3u);
  }
}

// What is odd is odd as well where all blocks look alike.
TEST(Kernel, LeavesWhatComesAgainAndAgainToTheScan) {
  const std::string digits(100, '1');
  for (const std::string& tier : tiers()) {
    for (const std::string& odd :
         {std::string("1.2.3"), std::string("1-2"), std::string("1x2"), std::string("--1"), std::string("+1"),
          std::string("1:2"), std::string("-"), std::string("."), std::string("1  2"), std::string("1\t2"),
          std::string("1e5"), std::string("0.12345678901234567"), digits}) {
      std::string again;
      for (int i = 0; i < 100; ++i) again += ' ' + odd;
      for (const std::string& sample : {again + "\n", " 1 0.5" + again + " 2|", " 7" + again + "\n"}) {
        compare_dense<float>(tier, sample, 250);
        compare_dense<double>(tier, sample, 250);
      }
    }
  }
}

// What comes before a byte that it cannot judge is not read twice: a long sample of such values would take for ever.
TEST(Kernel, KeepsWhatIsBeforeAnOddByte) {
  std::string values, pairs;
  for (int i = 0; i < 200; ++i) {
    values += " 0.25";
    pairs += " 17:0.25";
  }
  for (const std::string& tier : tiers()) {
    for (const char* odd : {"+1", "1,5", "1/2", "1#", "1 2 x"}) {
      EXPECT_GE(compare_dense<float>(tier, values + ' ' + odd + "\n", 300), 180u) << tier << odd;
      EXPECT_GE(compare_dense<double>(tier, values + ' ' + odd + "\n", 300), 180u) << tier << odd;
      EXPECT_GE(compare_sparse<float>(tier, pairs + " 17:" + odd + "\n", 100, 300), 180u) << tier << odd;
      EXPECT_GE(compare_sparse<double>(tier, pairs + ' ' + odd + ":1\n", 100, 300), 180u) << tier << odd;
    }
  }
}

TEST(Kernel, TakesPlainPairs) {
  for (const std::string& tier : tiers()) {
    EXPECT_EQ(compare_sparse<float>(tier, " 1:1 2:0.5 30:-4\n", 100, 3), 3u);
    EXPECT_EQ(compare_sparse<double>(tier, " 1234567:0.1234 2:5 99999999:.25 |", 2'000'000'000, 8), 3u);
    EXPECT_EQ(compare_sparse<float>(tier, "|", 100, 3), 0u);
    for (const char* sample :
         {" 1:1 2\n", " 1:1 2:\n", " 1 :1\n", " 1: 1\n", " :1 2:3\n", " 1:1:1 2:2\n", " -1:1 2:2\n", " 1.5:1 2:2\n",
          " 100:1 2:2\n", " 1:1 2:2 100:5\n", " 1:1 2:2 3:3 4:4 5:5\n", " 1:1-2 2:2\n", " 4294967297:1\n",
          " 1:1  2:2 \n", "\t1:1\t2:2\t|", " 1:+1 2:1e3 3:x\n", " 0.5:3 1:1\n", " 12345678901234567890:1\n"}) {
      compare_sparse<float>(tier, sample, 100, 4);
      compare_sparse<double>(tier, sample, 100, 4);
    }
  }
}

// The decimals around the middle between two floats, where a careless rounding shows.
TEST(Kernel, MidpointsRoundAsEverywhere) {
  for (const std::string& tier : tiers()) {
    std::mt19937_64 draw(5);
    for (int i = 0; i < 20'000; ++i) {
      std::string sample, pairs;
      for (int v = 0; v < 8; ++v) {
        // The whole numbers between two floats above 2^24, and their neighbours; shifted by decimals.
        const std::uint64_t bits = 24 + draw() % 25;
        std::uint64_t whole = (std::uint64_t{1} << bits) + (draw() & ((std::uint64_t{1} << bits) - 1));
        whole = (whole >> (bits - 24) << (bits - 24)) + (std::uint64_t{1} << (bits - 24)) / 2 + draw() % 3 - 1;
        std::string digits = std::to_string(whole);
        if (draw() % 2 == 0) digits.insert(draw() % (digits.size() + 1), ".");
        sample += ' ' + digits;
        pairs += ' ' + std::to_string(v) + ':' + digits;
      }
      sample += "\n";
      pairs += "\n";
      compare_dense<float>(tier, sample, 8);
      compare_dense<double>(tier, sample, 8);
      sample.pop_back();  // the same in blocks that look alike
      for (int again = 0; again < 3; ++again) sample += sample;
      compare_dense<float>(tier, sample + "\n", 64);
      compare_sparse<float>(tier, pairs, 8, 8);
      compare_sparse<double>(tier, pairs, 8, 8);
    }
  }
}

// Of thirteen decimals, the nearest to the middle between two floats from 1 to 2: of a thousand one is on the other
// side of it where it is multiplied by 1e-13, which is not exact. They come behind others of that width that any tier
// reads, so that their form is known.
TEST(Kernel, MidpointsOfFixedWidthRoundAsEverywhere) {
  for (const std::string& tier : tiers()) {
    std::mt19937_64 draw(13);
    for (int i = 0; i < 2'000; ++i) {
      std::string values, pairs;
      const auto append = [&](const std::string& number) {
        values += ' ' + number;
        pairs += " 7:" + number;
      };
      for (int v = 0; v < 16; ++v) append("1.2000000000000");
      for (int v = 0; v < 40; ++v) {
        __extension__ using Wide = unsigned __int128;
        const Wide middle = (Wide{1} << 24) + 2 * (draw() >> 41) + 1;  // in units of 2^-24
        const auto nearest = static_cast<std::uint64_t>((middle * 10'000'000'000'000u + (1u << 23)) >> 24);
        append(std::to_string(nearest).insert(1, "."));
      }
      compare_dense<float>(tier, values + "\n", 56);
      compare_sparse<float>(tier, pairs + "\n", 8, 56);
    }
  }
}

#if defined(__x86_64__)
// As avx512_forms.h divides.
__attribute__((target("fma"))) std::uint64_t different_quotients(float ten, float tenth) {
  std::uint64_t different = 0;
  for (float whole = 0; whole < 1e7F; ++whole) {
    const float quotient = whole * tenth;
    const float rest = __builtin_fmaf(-quotient, ten, whole);
    different += __builtin_fmaf(rest, tenth, quotient) != whole / ten ? 1 : 0;
  }
  return different;
}
TEST(Kernel, ReciprocalsGiveWhatDivisionGives) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this CPU has no fused multiply-add, nor a kernel that uses it";
  EXPECT_EQ(different_quotients(1e1F, 1e-1F), 0u);
  EXPECT_EQ(different_quotients(1e2F, 1e-2F), 0u);
  EXPECT_EQ(different_quotients(1e3F, 1e-3F), 0u);
  EXPECT_EQ(different_quotients(1e4F, 1e-4F), 0u);
  EXPECT_EQ(different_quotients(1e5F, 1e-5F), 0u);
  EXPECT_EQ(different_quotients(1e6F, 1e-6F), 0u);
  EXPECT_EQ(different_quotients(1e7F, 1e-7F), 0u);
}
#endif

TEST(Kernels, TheTierCanBeForced) {
  EXPECT_EQ(cpu_tier("scalar"), "scalar");
  EXPECT_NE(kernels_for<float>("scalar").dense, nullptr);
  EXPECT_NE(kernels_for<double>("scalar").sparse, nullptr);
  if (cpu_tier("") == "avx512") {
    EXPECT_EQ(cpu_tier("avx2"), "avx2");
  }
}

}  // namespace
}  // namespace batchfeed::ctf
