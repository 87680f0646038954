// SPDX-License-Identifier: MIT
#include "formats/ctf/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formats/ctf/scan.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kPadding = 64;
constexpr std::size_t kGuard = 32;  // values behind the room, which must stay as they were

std::string padded(const std::string& sample) {
  return std::string(kPadding, '7') + sample + std::string(kPadding, '7');
}

std::vector<std::string> vector_tiers() {
  std::vector<std::string> out;
  for (const char* tier : {"avx2", "avx512", "neon"}) {
    if (kernels_for<float>(tier).tier == tier) out.emplace_back(tier);
  }
  return out;
}

template <class Room>
void expect_same(const std::string& what, ScanEnd got, const Room& fast, ScanEnd end, const Room& slow) {
  EXPECT_EQ(got.code, end.code) << what;
  EXPECT_EQ(got.at, end.at) << what;
  EXPECT_EQ(fast.count, slow.count) << what;
  EXPECT_EQ(fast.overflow, slow.overflow) << what;
}

// What the kernels remember of the samples of all tests before.
KernelMemory memory;

// Reads a sample with a tier and with scan.h alone, compares every bit, and
// returns how many values the kernel took before its first turn ended.
template <class T>
std::uint64_t dense(const std::string& tier, const std::string& sample, std::uint64_t dim) {
  const std::string text = padded(sample);
  const char* const p = text.data() + kPadding;
  const auto room_for = static_cast<std::size_t>(dim) + kGuard;
  std::vector<T> fast(room_for, T{-1}), slow(room_for, T{-1}), alone(room_for);
  DenseRoom fast_room{.dim = dim, .memory = &memory}, slow_room{.dim = dim}, alone_room{.dim = dim};
  const DenseKernel<T> kernel = kernels_for<T>(tier).dense;
  const ScanEnd end = scan_dense(p, slow.data(), slow_room);
  const ScanEnd got = read_dense(kernel, p, fast.data(), fast_room);
  expect_same(tier + sample, got, fast_room, end, slow_room);
  const auto n = static_cast<std::size_t>(std::min(slow_room.count, dim));
  EXPECT_EQ(std::memcmp(fast.data(), slow.data(), n * sizeof(T)), 0) << tier << sample;
  for (std::size_t i = static_cast<std::size_t>(dim); i < room_for; ++i) EXPECT_EQ(fast[i], T{-1}) << tier << sample;
  kernel(p, alone.data(), alone_room);
  return alone_room.count;
}

template <class T>
std::uint64_t sparse(const std::string& tier, const std::string& sample, std::uint64_t dim, std::uint64_t capacity) {
  const std::string text = padded(sample);
  const char* const p = text.data() + kPadding;
  const auto room_for = static_cast<std::size_t>(capacity) + kGuard;
  std::vector<T> fast(room_for, T{-1}), slow(room_for, T{-1});
  std::vector<std::int32_t> fast_at(room_for, -1), slow_at(room_for, -1);
  const auto room = [&](std::vector<T>& values, std::vector<std::int32_t>& indices) {
    return SparseRoom<T>{.values = values.data(), .indices = indices.data(), .capacity = capacity, .dim = dim};
  };
  SparseRoom<T> fast_room = room(fast, fast_at), slow_room = room(slow, slow_at);
  fast_room.memory = &memory;
  const SparseKernel<T> kernel = kernels_for<T>(tier).sparse;
  const ScanEnd end = scan_sparse(p, slow_room);
  const ScanEnd got = read_sparse(kernel, p, fast_room);
  expect_same(tier + sample, got, fast_room, end, slow_room);
  const auto n = static_cast<std::size_t>(std::min(slow_room.count, capacity));
  EXPECT_EQ(std::memcmp(fast.data(), slow.data(), n * sizeof(T)), 0) << tier << sample;
  EXPECT_EQ(std::memcmp(fast_at.data(), slow_at.data(), n * sizeof(std::int32_t)), 0) << tier << sample;
  for (std::size_t i = static_cast<std::size_t>(capacity); i < room_for; ++i) {
    EXPECT_EQ(fast[i], T{-1}) << tier << sample;
    EXPECT_EQ(fast_at[i], -1) << tier << sample;
  }
  SparseRoom<T> alone = room(fast, fast_at);
  kernel(p, alone);
  return alone.count;
}

class Kernel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (vector_tiers().empty()) GTEST_SKIP() << "this CPU has no vector tier";
  }
};

TEST_F(Kernel, TakesPlainNumbers) {
  for (const std::string& tier : vector_tiers()) {
    EXPECT_EQ(dense<float>(tier, " 1 2 3\n", 3), 3u);
    EXPECT_EQ(dense<float>(tier, " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 255 0 0|", 19), 19u);
    EXPECT_EQ(dense<double>(tier, " 0 1 2 3 4 5 6 7 8 9 0 1 -2 3.5 \r\n", 14), 14u);
    EXPECT_EQ(dense<float>(tier, " 0.1234 -0 -0.5 .5 -.25 7. 123456789012345 \x01", 7), 7u);
    EXPECT_EQ(dense<double>(tier, " 0.1 123456789012345\n", 2), 2u);
    EXPECT_EQ(dense<float>(tier, " 9999 0.0001 -12.34 0.00000000000001\n", 4), 4u);
    EXPECT_EQ(dense<float>(tier, "\n", 4), 0u);
  }
}

TEST_F(Kernel, LeavesTheRestToTheScan) {
  for (const std::string& tier : vector_tiers()) {
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
      dense<float>(tier, sample, 3);
      dense<double>(tier, sample, 3);
    }
    EXPECT_LE(dense<float>(tier, " 1 x 3\n", 3), 1u);
    EXPECT_EQ(dense<float>(tier, " - 1 2\n", 3), 0u);
    EXPECT_EQ(dense<float>(tier, " 1.2.3 1 2\n", 3), 0u);
    EXPECT_LE(dense<float>(tier, " 1 2 3 4\n", 3), 3u);
  }
}

// What comes before a byte that it cannot judge is not read twice: a long sample of such values would take for ever.
TEST_F(Kernel, KeepsWhatIsBeforeAnOddByte) {
  std::string values, pairs;
  for (int i = 0; i < 200; ++i) {
    values += " 0.25";
    pairs += " 17:0.25";
  }
  for (const std::string& tier : vector_tiers()) {
    for (const char* odd : {"+1", "1,5", "1/2", "1#", "1 2 x"}) {
      EXPECT_GE(dense<float>(tier, values + ' ' + odd + "\n", 300), 180u) << tier << odd;
      EXPECT_GE(dense<double>(tier, values + ' ' + odd + "\n", 300), 180u) << tier << odd;
      EXPECT_GE(sparse<float>(tier, pairs + " 17:" + odd + "\n", 100, 300), 180u) << tier << odd;
      EXPECT_GE(sparse<double>(tier, pairs + ' ' + odd + ":1\n", 100, 300), 180u) << tier << odd;
    }
  }
}

TEST_F(Kernel, TakesPlainPairs) {
  for (const std::string& tier : vector_tiers()) {
    EXPECT_EQ(sparse<float>(tier, " 1:1 2:0.5 30:-4\n", 100, 3), 3u);
    EXPECT_EQ(sparse<double>(tier, " 1234567:0.1234 2:5 99999999:.25 |", 2'000'000'000, 8), 3u);
    EXPECT_EQ(sparse<float>(tier, "|", 100, 3), 0u);
    for (const char* sample :
         {" 1:1 2\n", " 1:1 2:\n", " 1 :1\n", " 1: 1\n", " :1 2:3\n", " 1:1:1 2:2\n", " -1:1 2:2\n", " 1.5:1 2:2\n",
          " 100:1 2:2\n", " 1:1 2:2 100:5\n", " 1:1 2:2 3:3 4:4 5:5\n", " 1:1-2 2:2\n", " 4294967297:1\n",
          " 1:1  2:2 \n", "\t1:1\t2:2\t|", " 1:+1 2:1e3 3:x\n", " 0.5:3 1:1\n", " 12345678901234567890:1\n"}) {
      sparse<float>(tier, sample, 100, 4);
      sparse<double>(tier, sample, 100, 4);
    }
  }
}

// Numbers of many shapes, now and then something else.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : draw_(seed) {}
  std::uint64_t below(std::uint64_t n) { return draw_() % n; }

  std::string digits(std::uint64_t n) {
    std::string out;
    while (n-- > 0) out += static_cast<char>('0' + below(10));
    return out;
  }
  std::string number(std::uint64_t shape) {
    std::string out;
    if (shape > 0 && below(5) == 0) out += '-';
    if (shape == 4 && below(2) == 0) {
      out += "0.";
      return out += digits(1 + below(14));
    }
    out += digits(shape == 0 ? 1 : 1 + below(shape == 3 ? 9 : 3));
    if (shape >= 2 && below(2) == 0) {
      out += '.';
      out += digits(below(8));
    }
    return out;
  }
  // As programs write floating-point numbers: up to 21 digits, with or without an exponent.
  std::string long_number(bool exponent) {
    std::string out = below(2) == 0 ? "-" : "";
    out += digits(below(60) == 0 ? 1 + below(20) : 1) + '.';
    out += digits(below(60) == 0 ? below(21) : exponent ? 7 + below(12) : 14 + below(5));
    if (!exponent) return out;
    static const std::vector<std::string> kMarks = {"e-", "e+", "e", "E-", "E+", "e0"};
    return out += kMarks[static_cast<std::size_t>(below(kMarks.size()))] +
                  digits(below(16) == 0 ? 1 + below(22) : 1 + below(2));
  }
  void odd(std::string& sample, std::uint64_t rarity) {
    if (below(rarity) != 0) return;
    static const std::vector<std::string> kOdd = {"x", "-", " ", ".", ":", "e", "\t", "e-05", "+", "1e39"};
    sample += kOdd[static_cast<std::size_t>(below(kOdd.size()))];
  }
  void end(std::string& sample) {
    sample += "\n| \x02\t"[below(5)];
    sample += "|7\n";
  }

 private:
  std::mt19937_64 draw_;
};

TEST_F(Kernel, RandomSamplesAreTheSameInEveryTier) {
  for (const std::string& tier : vector_tiers()) {
    Draw draw(3);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t dim = 1 + draw.below(40), shape = draw.below(5);
      std::string sample;
      for (std::uint64_t v = 0; v < dim; ++v) {
        sample += ' ';
        sample += draw.number(shape);
        draw.odd(sample, 2000);
      }
      draw.end(sample);
      taken += dense<float>(tier, sample, dim);
      all += dim;
      dense<double>(tier, sample, dim);
    }
    EXPECT_GT(taken * 10, all * 9) << tier;
  }
}

TEST_F(Kernel, RandomPairsAreTheSameInEveryTier) {
  for (const std::string& tier : vector_tiers()) {
    Draw draw(4);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = draw.below(40), shape = draw.below(5), width = 1 + draw.below(9);
      const std::uint64_t dim = draw.below(8) == 0 ? 1000 : 2'147'483'647;
      std::string sample;
      for (std::uint64_t v = 0; v < n; ++v) {
        sample += ' ';
        sample += draw.digits(1 + draw.below(width)) + ':' + draw.number(shape);
        draw.odd(sample, 2000);
      }
      draw.end(sample);
      taken += sparse<float>(tier, sample, dim, n + draw.below(3));
      all += n;
      sparse<double>(tier, sample, dim, n);
      if (n > 0) sparse<float>(tier, sample, dim, draw.below(n));
    }
    EXPECT_GT(taken * 10, all * 7) << tier;
  }
}

TEST_F(Kernel, LongNumbersAreTheSameInEveryTier) {
  for (const std::string& tier : vector_tiers()) {
    Draw draw(8);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = 1 + draw.below(30), kind = draw.below(3);
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        const std::string number = kind == 2 && draw.below(4) == 0 ? draw.number(4) : draw.long_number(kind == 1);
        values += ' ' + number;
        pairs += ' ' + draw.digits(1 + draw.below(9)) + ':' + number;
        draw.odd(values, 1000);
        draw.odd(pairs, 1000);
      }
      draw.end(values);
      draw.end(pairs);
      const std::uint64_t some = dense<float>(tier, values, n + 1 - draw.below(3));
      if (kind == 0) {
        taken += some;
        all += n;
      }
      dense<double>(tier, values, n);
      sparse<float>(tier, pairs, draw.below(8) == 0 ? 1000 : 2'147'483'647, n + 1 - draw.below(3));
      sparse<double>(tier, pairs, 2'147'483'647, n);
    }
    if (tier == "avx512") {
      EXPECT_GT(taken * 10, all * 7);
    }
    EXPECT_LE(dense<float>(tier, " 1.5e1 1.5e300 2e1\n", 3), 1u);
    EXPECT_EQ(dense<float>(tier, " 1.25e-2 -3E+4 0e9 7.e0\n", 4), tier == "avx512" ? 4u : 0u);
  }
}

// Whatever byte comes wherever it likes: in front of, across and behind the ends of blocks of 64 bytes.
TEST_F(Kernel, OddBytesAtEveryOffsetAreTheSameInEveryTier) {
  static const std::vector<std::string> kOdd = {"",      " ",  "  ",   "\t", ".",    "-",    "--1", "+2",
                                                "e1",    ":",  ":1",   " -", "- ",   " .",   ". ",  "-.",
                                                "|",     "\n", "\x02", "/",  "\x80", "\xAD", "x",   "1234567890123456",
                                                ".5 -.5"};
  for (const std::string& tier : vector_tiers()) {
    Draw draw(6);
    for (const std::uint64_t shape : {0u, 1u, 2u, 3u, 4u, 5u, 6u}) {
      const auto number = [&] { return shape < 5 ? draw.number(shape) : draw.long_number(shape == 6); };
      std::string values, pairs;
      while (values.size() < 150) values += ' ' + number();
      while (pairs.size() < 150) pairs += ' ' + draw.digits(1 + draw.below(shape == 4 ? 9 : 6)) + ':' + number();
      for (std::size_t at = 0; at <= 150; ++at) {
        for (const std::string& odd : kOdd) {
          std::string sample = values;
          sample.insert(at, odd);
          dense<float>(tier, sample + "\n", 100);
          dense<double>(tier, sample.substr(0, at + odd.size()) + "|7\n", 100);
          sample = pairs;
          sample.insert(at, odd);
          sparse<float>(tier, sample + "\n", 1'000'000'000, 100);
          sparse<double>(tier, sample.substr(0, at + odd.size()) + "|7\n", 10'000'000, 100);
        }
      }
    }
  }
}

// The decimals around the middle between two floats, where a careless rounding shows.
TEST_F(Kernel, MidpointsRoundAsEverywhere) {
  for (const std::string& tier : vector_tiers()) {
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
      dense<float>(tier, sample, 8);
      dense<double>(tier, sample, 8);
      sparse<float>(tier, pairs, 8, 8);
      sparse<double>(tier, pairs, 8, 8);
    }
  }
}

// Text with a fixed number of digits, whose blocks look alike: every number of up to four digits, with a point
// anywhere.
TEST_F(Kernel, NumbersOfFixedWidthAreTheSameInEveryTier) {
  for (const std::string& tier : vector_tiers()) {
    for (unsigned width = 1; width <= 4; ++width) {
      const auto all = static_cast<unsigned>(std::pow(10, width));
      for (unsigned fraction = 0; fraction <= width + 1; ++fraction) {
        std::string values, pairs;
        for (unsigned i = 0; i < all; ++i) {
          std::string digits = std::to_string(all + i).substr(1);
          if (fraction != 0) digits.insert(width - fraction + 1, ".");
          if (fraction == width + 1) digits = "-0." + digits.substr(1);
          values += ' ' + digits;
          pairs += ' ' + std::to_string(1000 + i % 9000) + ':' + digits;
        }
        EXPECT_EQ(dense<float>(tier, values + "\n", all), all) << tier << width << fraction;
        dense<double>(tier, values + "\n", all);
        EXPECT_EQ(sparse<float>(tier, pairs + "\n", 10'000, all), all) << tier << width << fraction;
      }
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
TEST_F(Kernel, ReciprocalsGiveWhatDivisionGives) {
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

// The same with more digits, and with a byte somewhere that is something else.
TEST_F(Kernel, OddBytesInTextOfFixedWidthAreTheSameInEveryTier) {
  static const std::string kBytes = "0123456789 .-:|\n\t+e/x\x01\x80\xB0";
  for (const std::string& tier : vector_tiers()) {
    Draw draw(7);
    for (int i = 0; i < 10'000; ++i) {
      const std::uint64_t n = 20 + draw.below(60);
      const std::uint64_t whole = draw.below(5), fraction = draw.below(whole == 0 ? 7 : 5) + (whole == 0 ? 1 : 0);
      const std::string sign = draw.below(4) == 0 ? "-" : "";
      const std::uint64_t width = 1 + draw.below(8);
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        const std::string number =
            (whole == 0 ? "0" : draw.digits(whole)) + (fraction == 0 ? "" : ".") + draw.digits(fraction);
        values += ' ' + sign + number;
        pairs += ' ' + draw.digits(width) + ':' + sign + number;
      }
      for (std::string* const sample : {&values, &pairs}) {
        if (draw.below(2) == 0)
          (*sample)[static_cast<std::size_t>(draw.below(sample->size()))] =
              kBytes[static_cast<std::size_t>(draw.below(kBytes.size()))];
        draw.end(*sample);
      }
      dense<float>(tier, values, n + 1 - draw.below(3));
      dense<double>(tier, values, n);
      const std::uint64_t dim =
          draw.below(4) == 0 ? 1 + static_cast<std::uint64_t>(std::pow(10, width) * 0.99) : 2'147'483'647;
      sparse<float>(tier, pairs, dim, n + 1 - draw.below(3));
      sparse<double>(tier, pairs, dim, n);
    }
  }
}

TEST(Kernels, TheTierCanBeForced) {
  EXPECT_EQ(kernels_for<float>("scalar").tier, "scalar");
  EXPECT_EQ(kernels_for<float>("scalar").dense, nullptr);
  EXPECT_EQ(kernels_for<double>("scalar").sparse, nullptr);
  if (kernels_for<float>("").tier == "avx512") {
    EXPECT_EQ(kernels_for<float>("avx2").tier, "avx2");
  }
}

}  // namespace
}  // namespace batchfeed::ctf
