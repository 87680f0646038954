// SPDX-License-Identifier: MIT
#include "text/number.h"

#include <fast_float/fast_float.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>

namespace batchfeed::text {
namespace {

template <class T>
struct Read {
  std::ptrdiff_t length;  // -1: no number
  T value;
  bool overflow;
};

template <class T>
Read<T> read(const std::string& text, bool fresh = true) {
  std::string padded = text + '\n' + std::string(kOverread, 'x');
  T value = 77;
  bool overflow = false;
  const char* end = read_number(padded.data(), fresh, value, overflow);
  return {end == nullptr ? -1 : end - padded.data(), value, overflow};
}

double nearest(const std::string& text) {
  const bool negative = text[0] == '-';
  const std::size_t skip = negative || text[0] == '+' ? 1 : 0;
  double value = 0;
  fast_float::from_chars(text.data() + skip, text.data() + text.size(), value);
  return negative ? -value : value;
}

void expect_exact(const std::string& text) {
  const double want = nearest(text);
  const auto d = read<double>(text);
  const auto f = read<float>(text);
  ASSERT_EQ(d.length, static_cast<std::ptrdiff_t>(text.size())) << text;
  ASSERT_EQ(f.length, static_cast<std::ptrdiff_t>(text.size())) << text;
  ASSERT_EQ(std::bit_cast<std::uint64_t>(d.value), std::bit_cast<std::uint64_t>(want)) << text;
  ASSERT_EQ(std::bit_cast<std::uint32_t>(f.value), std::bit_cast<std::uint32_t>(static_cast<float>(want))) << text;
}

TEST(Number, Grammar) {
  for (const char* good : {"0", "12", "-3", "+4", "007", "7.", "0.25", "1e5", "1E-2", "2e+10", "9.10e-11", "1e005",
                           ".5", "-.5", "+.5", "5.e3"}) {
    expect_exact(good);
  }
  for (const char* bad : {"", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1e-", "--1", "+-1", "inf", "nan", "x"}) {
    EXPECT_EQ(read<double>(bad).length, -1) << bad;
    EXPECT_EQ(read<float>(bad).length, -1) << bad;
  }
}

TEST(Number, EndsAtTheFirstByteThatCannotContinueIt) {
  EXPECT_EQ(read<double>("1-2").length, 1);
  EXPECT_EQ(read<double>("1.2.3").length, 3);
  EXPECT_EQ(read<double>("0x10").length, 1);
  EXPECT_EQ(read<double>("1e1.5").length, 3);
  EXPECT_EQ(read<double>("123456789012,5").length, 12);
}

// read_short() gives the same value as read_number() whenever it accepts a number, and accepts every short plain one.
TEST(Number, ShortOnesAreThoseThatABlankEnds) {
  const auto check = [](const std::string& text) {
    const std::string padded = text + std::string(kOverread, 'x');
    float f = 77, f_want = 77;
    double d = 77, d_want = 77;
    bool overflow = false;
    const char* const end = read_short(padded.data(), f);
    EXPECT_EQ(read_short(padded.data(), d), end) << text;
    if (end == nullptr) return false;
    EXPECT_EQ(*end, ' ') << text;
    EXPECT_EQ(end, read_number(padded.data(), true, f_want, overflow)) << text;
    EXPECT_EQ(end, read_number(padded.data(), true, d_want, overflow)) << text;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(f), std::bit_cast<std::uint32_t>(f_want)) << text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(d), std::bit_cast<std::uint64_t>(d_want)) << text;
    // read_short<true>() also accepts a number that ends before a tab or a line end, and gives the same value.
    std::string line = padded;
    const auto length = end - padded.data();
    for (const char below : {'\t', '\n', '\r', ' '}) {
      line[static_cast<std::size_t>(length)] = below;
      f = 77;
      EXPECT_EQ(read_short<true>(line.data(), f), line.data() + length) << text;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(f), std::bit_cast<std::uint32_t>(f_want)) << text;
    }
    return true;
  };
  std::mt19937_64 draw(8);
  for (int i = 0; i < 100'000; ++i) {
    std::string digits;
    for (std::uint64_t n = 1 + draw() % 7; n > 0; --n) digits += static_cast<char>('0' + draw() % 10);
    EXPECT_TRUE(check(digits + ' ')) << digits;
    if (digits.size() == 7) digits.pop_back();
    digits.insert(draw() % (digits.size() + 1), ".");
    EXPECT_TRUE(check(digits + ' ')) << digits;
  }
  for (const char* other :
       {" ",         ". ",        "-1 ", "+1 ", "1\t",  "1\n",   "1|",     "1.5\n", "1.2.3 ", "1e2 ", "1- ",
        "12345678 ", "1234.567 ", "x ",  "1x ", "1.x ", "\x80 ", "1\xAD ", ":1 ",   "1:1 ",   "/ ",   "1./ "}) {
    EXPECT_FALSE(check(other)) << other;
    float f = 77;
    EXPECT_EQ(read_short<true>((other + std::string(kOverread, 'x')).data(), f) != nullptr,
              std::string_view(other).find_first_of("\t\n") != std::string::npos)
        << other;
  }
  const std::string bytes = "0123456789.. -:x\xC3\n";
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (int n = 0; n < 9; ++n) text += bytes[draw() % bytes.size()];
    check(text);
  }
}

TEST(Number, BarePointsNeedAFreshStart) {
  EXPECT_EQ(read<double>(".5", false).length, -1);
  EXPECT_EQ(read<double>("-.5", false).length, -1);
  EXPECT_EQ(read<double>("5.e3", false).length, -1);
  EXPECT_EQ(read<double>("5.", false).length, 2);
}

TEST(Number, SignOfZero) {
  EXPECT_TRUE(std::signbit(read<double>("-0").value));
  EXPECT_TRUE(std::signbit(read<float>("-0.0").value));
  EXPECT_FALSE(std::signbit(read<float>("+0").value));
}

TEST(Number, OverflowAndUnderflow) {
  EXPECT_TRUE(std::isinf(read<double>("1e400").value));
  EXPECT_TRUE(read<double>("1e400").overflow);
  EXPECT_EQ(read<double>("-1e400").value, -HUGE_VAL);
  EXPECT_TRUE(read<float>("1e39").overflow);
  EXPECT_FALSE(read<double>("1e39").overflow);
  EXPECT_EQ(read<double>("1e-400").value, 0);
  EXPECT_FALSE(read<double>("1e-400").overflow);
  EXPECT_EQ(read<float>("1e-46").value, 0.0F);
  EXPECT_TRUE(std::isinf(read<double>("1e999999999999999999999").value));
  EXPECT_TRUE(std::isinf(read<double>(std::string(400, '9')).value));
  EXPECT_EQ(read<double>("0." + std::string(100'000, '0') + '1').value, 0);
}

TEST(Number, HardCases) {
  expect_exact("16777217");  // halfway between two floats
  expect_exact("16777219");
  expect_exact("9007199254740993");  // halfway between two doubles
  expect_exact("0.10000000149011611938");
  expect_exact("1.00000005960464477539062500");
  expect_exact("1.0000000596046448");  // as a double first, it would round to halfway between two floats
  expect_exact("3.4028235e38");
  expect_exact("3.4028235677973366e38");
  expect_exact("4.9e-324");
  expect_exact("123456789012345678");
  expect_exact("0.000000000000000001");
  expect_exact("18446744073709551616");
  expect_exact("2.2250738585072011e-308");
}

TEST(Number, RandomNumbersAreTheNearest) {
  std::mt19937_64 draw(1);
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    const std::uint64_t shape = draw();
    if ((shape & 3) == 0) text += (shape & 4) != 0 ? '-' : '+';
    const std::uint64_t longest = (shape & 256) != 0 ? 12 : 28;
    for (std::uint64_t n = 1 + (shape >> 9) % longest; n > 0; --n) text += static_cast<char>('0' + draw() % 10);
    if ((shape & 24) != 0) {
      text += '.';
      for (std::uint64_t n = (shape >> 16) % longest; n > 0; --n) text += static_cast<char>('0' + draw() % 10);
    }
    if ((shape & 96) == 0) text += 'e' + std::to_string(static_cast<int>((shape >> 24) % 140) - 70);
    expect_exact(text);
  }
}

// Up to 19 digits at every power of ten, as programs write floating-point numbers.
TEST(Number, EveryPowerOfTen) {
  std::mt19937_64 draw(3);
  char text[64];
  for (int power = -340; power <= 320; ++power) {
    for (int i = 0; i < 100; ++i) {
      const double mantissa = 1 + static_cast<double>(draw() >> 11) * 0x1p-53 * 9;
      std::snprintf(text, sizeof text, "%.*fe%d", static_cast<int>(draw() % 19), mantissa, power);
      const double want = nearest(text);
      const auto d = read<double>(text);
      const auto f = read<float>(text);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(d.value), std::bit_cast<std::uint64_t>(want)) << text;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(f.value), std::bit_cast<std::uint32_t>(static_cast<float>(want))) << text;
      ASSERT_EQ(d.overflow, std::isinf(want)) << text;
      ASSERT_EQ(f.overflow, std::isinf(static_cast<float>(want))) << text;
    }
  }
}

// Decimals of 17 to 19 digits close to halfway between two doubles, and whole numbers exactly halfway.
TEST(Number, MiddlesBetweenDoubles) {
  std::mt19937_64 draw(4);
  for (int i = 0; i < 100'000; ++i) {
    const auto a = std::bit_cast<double>((1023ull - 80 + draw() % 140) << 52 | draw() >> 12);
    const long double middle =
        (static_cast<long double>(a) + static_cast<long double>(std::nextafter(a, HUGE_VAL))) / 2;
    char text[64];
    for (const int digits : {17, 18, 19}) {
      std::snprintf(text, sizeof text, "%.*Lg", digits, middle);
      expect_exact(text);
    }
    const std::uint64_t bits = 54 + draw() % 10;
    const std::uint64_t whole = 1ull << (bits - 1) | draw() >> (65 - bits);
    const std::uint64_t half = 1ull << (bits - 54);
    expect_exact(std::to_string((whole & ~(2 * half - 1)) + half));
    expect_exact(std::to_string((whole & ~(2 * half - 1)) + half + draw() % 3 - 1) + "." +
                 (draw() % 2 == 0 ? "0" : ""));
  }
}

TEST(Number, MiddlesBetweenFloats) {
  std::mt19937_64 draw(2);
  for (int i = 0; i < 100'000; ++i) {
    const float a = std::bit_cast<float>(static_cast<std::uint32_t>(0x3A000000 + draw() % 0x0E000000));
    const double middle = (static_cast<double>(a) + static_cast<double>(std::nextafter(a, HUGE_VALF))) / 2;
    char text[64];
    for (const int digits : {8, 9, 12, 17}) {
      std::snprintf(text, sizeof text, "%.*g", digits, middle);
      expect_exact(text);
    }
  }
}

TEST(Unsigned, RangeIsExact) {
  const auto read_one = [](std::string text, std::uint64_t& value) {
    text += '\n' + std::string(kOverread, 'x');
    return read_unsigned(text.data(), value).overflow;
  };
  std::uint64_t value = 0;
  EXPECT_FALSE(read_one("18446744073709551615", value));
  EXPECT_EQ(value, ~0ull);
  EXPECT_TRUE(read_one("18446744073709551616", value));
  EXPECT_TRUE(read_one("30000000000000000000", value));
  EXPECT_FALSE(read_one("000000000000000000000000018", value));
  EXPECT_EQ(value, 18u);
  EXPECT_FALSE(read_one("12345678", value));
  EXPECT_EQ(value, 12345678u);
}

}  // namespace
}  // namespace batchfeed::text
