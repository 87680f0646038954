// SPDX-License-Identifier: MIT
#include "formats/ctf/kernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kPadding = 64;

// Whether the kernel took the sample; where it did, it must agree with scan_dense in every bit.
template <class T>
bool agrees(const std::string& sample, std::uint64_t dim) {
  const std::string padded = std::string(kPadding, '7') + sample + std::string(kPadding, '7');
  const char* const p = padded.data() + kPadding;
  std::vector<T> fast(dim + 8, T{-1}), slow(dim + 8, T{-1});
  DenseRoom room{.dim = dim};
  const ScanEnd end = scan_dense(p, slow.data(), room);
  const char* const at = kernels_for("").dense<T>()(p, fast.data(), dim);
  if (at == nullptr) return false;
  EXPECT_EQ(end.code, ScanCode::ok) << sample;
  EXPECT_EQ(room.count, dim) << sample;
  EXPECT_EQ(at, end.at) << sample;
  EXPECT_EQ(std::memcmp(fast.data(), slow.data(), dim * sizeof(T)), 0) << sample;
  return true;
}

class Kernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kernels_for("").tier == "scalar") GTEST_SKIP() << "this CPU has no vector tier";
  }
};

TEST_F(Kernel, TakesPlainNumbers) {
  EXPECT_TRUE(agrees<float>(" 1 2 3\n", 3));
  EXPECT_TRUE(agrees<float>(" 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 255 0 0|", 19));
  EXPECT_TRUE(agrees<double>(" 0 1 2 3 4 5 6 7 8 9 0 1 -2 3.5 \r\n", 14));
  EXPECT_TRUE(agrees<float>(" 0.1234 -0 -0.5 .5 -.25 7. 1234567890123456 \x01", 7));
  EXPECT_TRUE(agrees<double>(" 0.1 123456789012345\n", 2));
  EXPECT_TRUE(agrees<float>(" 16777217 16777219 1.00000005960464\n", 3));
}

TEST_F(Kernel, DeclinesWhatItCannotJudge) {
  for (const char* sample : {" 1 2\n", " 1 2 3 4\n", " 1 x 3\n", " 1  2 3\n", " 1 2 3e1\n", " 1\t2 3\n", "\n",
                             " - 1 2\n", " . 1 2\n", " -. 1 2\n", " 1.2.3 1 2\n", " 1-2 1 2\n", " +1 2 3\n",
                             " 1 2 0.12345678901234567\n", " 1 2 3:4\n", " 1 2 /\n", " 1 2 3\xC3\n1"}) {
    agrees<float>(sample, 3);
    agrees<double>(sample, 3);
  }
  EXPECT_FALSE(agrees<float>(" 1 x 3\n", 3));
  EXPECT_FALSE(agrees<float>(" - 1 2\n", 3));
  EXPECT_FALSE(agrees<float>(" 1.2.3 1 2\n", 3));
  EXPECT_FALSE(agrees<float>(" 1 2 3 4\n", 3));
}

TEST_F(Kernel, RandomSamplesAreTheSameInEveryTier) {
  std::mt19937_64 draw(3);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t dim = 1 + draw() % 40;
    const std::uint64_t shape = draw() % 4;
    std::string sample;
    for (std::uint64_t v = 0; v < dim; ++v) {
      sample += ' ';
      if (draw() % 5 == 0 && shape > 0) sample += '-';
      for (std::uint64_t n = shape == 0 ? 1 : 1 + draw() % (shape == 3 ? 9 : 3); n > 0; --n)
        sample += static_cast<char>('0' + draw() % 10);
      if (shape >= 2 && draw() % 2 == 0) {
        sample += '.';
        for (std::uint64_t n = draw() % 8; n > 0; --n) sample += static_cast<char>('0' + draw() % 10);
      }
      if (draw() % 2000 == 0) sample += "x- .:e\t"[draw() % 7];
    }
    sample += "\n| \x02"[draw() % 4];
    sample += "|7\n";
    taken += agrees<float>(sample, dim) ? 1 : 0;
    agrees<double>(sample, dim);
  }
  EXPECT_GT(taken, 15'000);
}

TEST(Kernels, TheTierCanBeForced) {
  EXPECT_EQ(kernels_for("scalar").tier, "scalar");
  EXPECT_EQ(kernels_for("scalar").dense<float>(), nullptr);
}

}  // namespace
}  // namespace batchfeed::ctf
