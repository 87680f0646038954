// SPDX-License-Identifier: MIT
//
// Samples drawn by chance, the same in every tier.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "formats/ctf/kernels.h"
#include "formats/ctf/kernels_testing.h"

namespace batchfeed::ctf {
namespace {

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
  std::string long_number(bool exponent, bool small = false) {
    std::string out = below(2) == 0 ? "-" : "";
    out += (small ? "0" : digits(below(60) == 0 ? 1 + below(20) : 1)) + '.';
    if (small) out.append(static_cast<std::size_t>(below(7)), '0');
    out += digits(below(60) == 0 ? below(21) : exponent ? 7 + below(12) : 14 + below(5));
    if (!exponent) return out;
    static const std::vector<std::string> kMarks = {"e-", "e+", "e", "E-", "E+", "e0"};
    return out += kMarks[static_cast<std::size_t>(below(kMarks.size()))] +
                  digits(below(16) == 0 ? 1 + below(22) : 1 + below(2));
  }
  // As "%g" prints it where it is small.
  std::string with_exponent() {
    static const std::vector<std::string> kMarks = {"e-0", "e-0", "e-", "e+0", "E-1", "e"};
    return number(below(3) == 0 ? 4 : 3) + kMarks[static_cast<std::size_t>(below(kMarks.size()))] + digits(1);
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

TEST(Kernel, RandomSamplesAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
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
      taken += compare_dense<float>(tier, sample, dim);
      all += dim;
      compare_dense<double>(tier, sample, dim);
    }
    EXPECT_GT(taken * 10, all * (tier == "scalar" ? 3 : 9)) << tier;
  }
}

// Nothing but whole numbers, most of them of a digit or two, between one blank or more.
TEST(Kernel, WholeNumbersAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    Draw draw(11);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = 1 + draw.below(100), widest = 1 + draw.below(5), blanks = 1 + draw.below(8) / 6;
      const std::uint64_t others = draw.below(4) == 0 ? 20 : 1'000'000;
      std::string values;
      for (std::uint64_t v = 0; v < n; ++v) {
        values += ' ';
        if (draw.below(blanks) != 0) values += " \t"[draw.below(2)];
        if (draw.below(others) == 0) values += '-';
        values += draw.digits(1 + draw.below(widest));
        if (draw.below(others) == 0) values += ".5";
        draw.odd(values, 5000);
      }
      draw.end(values);
      taken += compare_dense<float>(tier, values, n + 2 - std::min<std::uint64_t>(draw.below(5), n));
      all += n;
      compare_dense<double>(tier, values, n);
    }
    EXPECT_GT(taken * 10, all * 6) << tier;
  }
}

TEST(Kernel, EveryWholeNumberOfFourDigitsInEveryPlace) {
  for (const std::string& tier : tiers()) {
    for (std::uint64_t number = 0; number < 10'000; ++number) {
      std::string sample = number % 2 == 0 ? " 7" : " 38";
      const std::uint64_t n = 1 + number % 26;
      for (std::uint64_t v = 1; v < n; ++v) sample += v % 5 == 3 ? " 0" : " 1";
      sample += ' ' + std::to_string(number) + " 9999 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
      EXPECT_GE(compare_dense<float>(tier, sample, n + 32), n + 1) << tier;
    }
  }
}

TEST(Kernel, RandomPairsAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
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
      taken += compare_sparse<float>(tier, sample, dim, n + draw.below(3));
      all += n;
      compare_sparse<double>(tier, sample, dim, n);
      if (n > 0) compare_sparse<float>(tier, sample, dim, draw.below(n));
    }
    EXPECT_GT(taken * 10, all * (tier == "scalar" ? 3 : 7)) << tier;
  }
}

TEST(Kernel, LongNumbersAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    Draw draw(8);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = 1 + draw.below(30), kind = draw.below(3);
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        const std::string number =
            kind == 2 && draw.below(4) == 0 ? draw.number(4) : draw.long_number(kind == 1, kind == 2 && v % 2 == 0);
        values += ' ' + number;
        pairs += ' ' + draw.digits(1 + draw.below(9)) + ':' + number;
        draw.odd(values, 1000);
        draw.odd(pairs, 1000);
      }
      draw.end(values);
      draw.end(pairs);
      const std::uint64_t some = compare_dense<float>(tier, values, n + 1 - draw.below(3));
      if (kind == 0) {
        taken += some;
        all += n;
      }
      compare_dense<double>(tier, values, n);
      compare_sparse<float>(tier, pairs, draw.below(8) == 0 ? 1000 : 2'147'483'647, n + 1 - draw.below(3));
      compare_sparse<double>(tier, pairs, 2'147'483'647, n);
    }
    if (tier == "scalar") continue;  // takes no long numbers
    EXPECT_GT(taken * 10, all * 7) << tier;
    EXPECT_LE(compare_dense<float>(tier, " 1.5e1 1.5e300 2e1\n", 3), 1u);
    EXPECT_EQ(compare_dense<float>(tier, " 1.25e-2 -3E+4 0e9 7.e0\n", 4), tier == "avx512" ? 4u : 3u);
  }
}

TEST(Kernel, ExponentsHereAndThereAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    Draw draw(9);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = 1 + draw.below(40), shape = 2 + draw.below(3);
      const std::uint64_t rarity =
          std::vector<std::uint64_t>{1, 2, 5, 20, 100}[static_cast<std::size_t>(draw.below(5))];
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        const std::string number = draw.below(rarity) == 0 ? draw.with_exponent() : draw.number(shape);
        values += ' ' + number;
        pairs += ' ' + draw.digits(1 + draw.below(9)) + ':' + number;
        draw.odd(values, 2000);
        draw.odd(pairs, 2000);
      }
      draw.end(values);
      draw.end(pairs);
      taken += compare_dense<float>(tier, values, n + 1 - draw.below(3));
      all += n;
      compare_dense<double>(tier, values, n);
      compare_sparse<float>(tier, pairs, 2'147'483'647, n + 1 - draw.below(3));
      compare_sparse<double>(tier, pairs, 2'147'483'647, n);
    }
    if (tier == "avx512") {
      EXPECT_GT(taken * 10, all * 8);
    }
  }
}

// Columns that stand in line.
TEST(Kernel, SeveralBlanksAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    Draw draw(10);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = 1 + draw.below(40), shape = draw.below(5), most = 1 + draw.below(12);
      const bool tabs = draw.below(8) == 0;
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        std::string number = draw.below(50) == 0 ? draw.with_exponent() : draw.number(shape);
        std::string blanks = " ";
        for (std::uint64_t blank = draw.below(most); blank > 0; --blank)
          blanks += tabs && draw.below(2) == 0 ? '\t' : ' ';
        values += blanks + number;
        pairs += blanks + draw.digits(1 + draw.below(9)) + ':' + number;
        draw.odd(values, 2000);
        draw.odd(pairs, 2000);
      }
      if (draw.below(3) == 0) values += "   ";
      draw.end(values);
      draw.end(pairs);
      taken += compare_dense<float>(tier, values, n + 1 - draw.below(3));
      all += n;
      compare_dense<double>(tier, values, n);
      compare_sparse<float>(tier, pairs, 2'147'483'647, n + 1 - draw.below(3));
      compare_sparse<double>(tier, pairs, 2'147'483'647, n);
    }
    compare_dense<float>(tier, std::string(200, ' ') + "1" + std::string(200, ' ') + "2\n", 2);
    EXPECT_TRUE(taken * 10 > all * 6 || tier == "scalar") << tier;
  }
}

TEST(Kernel, NumbersWithAPlusAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    Draw draw(11);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t n = 1 + draw.below(40), shape = draw.below(5), rarity = 1 + draw.below(4);
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        std::string number = draw.number(shape);
        if (draw.below(number[0] == '-' ? 500 : rarity) == 0) number.insert(0, "+");
        values += (draw.below(20) == 0 ? "  " : " ") + number;
        pairs += (draw.below(500) == 0 ? " +" : " ") + draw.digits(1 + draw.below(6)) + ':' + number;
      }
      draw.end(values);
      draw.end(pairs);
      taken += compare_dense<float>(tier, values, n + 1 - draw.below(3));
      all += n;
      compare_dense<double>(tier, values, n);
      compare_sparse<float>(tier, pairs, 1'000'000, n);
    }
    EXPECT_TRUE(taken * 10 > all * 8 || tier == "scalar") << tier;
  }
}

// Text with a fixed number of digits, whose blocks look alike: every number of up to four digits, with a point
// anywhere.
TEST(Kernel, NumbersOfFixedWidthAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
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
        EXPECT_EQ(compare_dense<float>(tier, values + "\n", all), all) << tier << width << fraction;
        compare_dense<double>(tier, values + "\n", all);
        EXPECT_EQ(compare_sparse<float>(tier, pairs + "\n", 10'000, all), all) << tier << width << fraction;
      }
    }
  }
}

// Numbers of one width but for their signs, as features around zero are; now and then a byte is something else.
TEST(Kernel, SignsInFrontOfAnyNumberAreTheSameInEveryTier) {
  static const std::string kBytes = "0123456789 .-:|\n\t+e/x\x01\x80\xB0";
  for (const std::string& tier : tiers()) {
    Draw draw(14);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 10'000; ++i) {
      // The same for some samples, whose form is known by then.
      Draw kind(static_cast<std::uint64_t>(i / 32));
      const std::uint64_t whole = kind.below(3), fraction = (whole == 0 ? 1 : 0) + kind.below(7),
                          n = 20 + draw.below(60);
      const std::uint64_t signs = 1 + kind.below(4);
      std::string values, pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        const std::string sign = draw.below(signs + 1) == 0 ? "-" : "";
        const std::string number = sign + draw.digits(whole) + (fraction == 0 ? "" : ".") + draw.digits(fraction);
        values += ' ' + number;
        pairs += ' ' + draw.digits(5) + ':' + number;
      }
      for (std::string* const sample : {&values, &pairs}) {
        if (draw.below(4) == 0)
          (*sample)[static_cast<std::size_t>(draw.below(sample->size()))] =
              kBytes[static_cast<std::size_t>(draw.below(kBytes.size()))];
        draw.end(*sample);
      }
      taken += compare_dense<float>(tier, values, n + 1 - draw.below(3));
      all += n;
      compare_dense<double>(tier, values, n);
      compare_sparse<float>(tier, pairs, 100'000, n + 1 - draw.below(3));
      compare_sparse<double>(tier, pairs, 100'000, n);
    }
    EXPECT_GT(taken * 10, all * 7) << tier;
  }
}

// As "%e" prints them, and as long as a kernel's window and longer; now and then a byte is something else.
TEST(Kernel, ExponentsOfFixedWidthAreTheSameInEveryTier) {
  static const std::string kBytes = "0123456789 .-:|\n\t+eE(*,/x\x01\x80\xB0";
  for (const std::string& tier : tiers()) {
    Draw draw(15);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t whole = draw.below(8) == 0 ? draw.below(4) : 1, fraction = draw.below(20),
                          n = 1 + draw.below(30), exponent = draw.below(8) == 0 ? draw.below(5) : 2;
      const std::uint64_t signs = draw.below(4), tens = draw.below(16) == 0 ? 10 : 3;
      std::string values;
      for (std::uint64_t v = 0; v < n; ++v) {
        values += signs == 0 || draw.below(signs + 1) != 0 ? " " : draw.below(8) == 0 ? " +" : " -";
        values += draw.digits(whole) + (fraction == 0 && draw.below(2) == 0 ? "" : ".") + draw.digits(fraction);
        values += std::string(i % 7 == 0 ? "E" : "e") + "+-"[draw.below(2)];
        if (exponent > 1) values += std::string(exponent - 2, '0') + static_cast<char>('0' + draw.below(tens));
        if (exponent > 0) values += draw.digits(1);
      }
      if (draw.below(4) == 0) {
        values[static_cast<std::size_t>(draw.below(values.size()))] =
            kBytes[static_cast<std::size_t>(draw.below(kBytes.size()))];
      }
      draw.end(values);
      taken += compare_dense<float>(tier, values, n + 1 - draw.below(3));
      all += n;
      compare_dense<double>(tier, values, n);
    }
    EXPECT_TRUE(taken * 10 > all * 6 || tier == "scalar") << tier;
  }
}

// Indices that go up, so that most of a sample's are of one width, with values of one kind.
TEST(Kernel, PairsInOrderAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    Draw draw(12);
    std::uint64_t taken = 0, all = 0;
    for (int i = 0; i < 10'000; ++i) {
      const std::uint64_t n = draw.below(100), dim = static_cast<std::uint64_t>(std::pow(10, 1 + draw.below(9)));
      const std::uint64_t whole = draw.below(9), fraction = whole == 0 ? 1 + draw.below(10) : draw.below(9);
      const std::uint64_t signs = 1 + draw.below(3);  // all, or one of so many
      std::vector<std::uint64_t> indices;
      for (std::uint64_t v = 0; v < n; ++v) indices.push_back(draw.below(dim));
      std::sort(indices.begin(), indices.end());
      std::string pairs;
      for (std::uint64_t v = 0; v < n; ++v) {
        pairs += ' ' + std::to_string(indices[static_cast<std::size_t>(v)]) + ':';
        if (i % 3 == 0 && v % signs == 0) pairs += '-';
        pairs += draw.digits(whole) + (fraction == 0 ? "" : '.' + draw.digits(fraction));
        draw.odd(pairs, 5000);
      }
      draw.end(pairs);
      // Now and then the last ones are too high, or too many.
      const std::uint64_t allowed = draw.below(8) == 0 ? dim - dim / 8 : dim;
      taken += compare_sparse<float>(tier, pairs, allowed, n + 2 - std::min<std::uint64_t>(draw.below(8), n));
      all += n;
      compare_sparse<double>(tier, pairs, allowed, n);
    }
    EXPECT_GT(taken * 10, all * (tier == "scalar" ? 2 : 7)) << tier;
  }
}

// Indices that are filled up with zeros and then are not: digits where there were none that count.
TEST(Kernel, IndicesOfFixedWidthAreTheSameInEveryTier) {
  for (const std::string& tier : tiers()) {
    for (std::size_t width = 2; width <= 17; ++width) {
      for (const std::string value : {"1", "0.25", "-12.345", "123456.75", "0.00000012345"}) {
        std::string pairs;
        for (unsigned v = 0; v < 80; ++v) {
          std::string index(width, '0');
          index[0] = v < 40 ? '0' : '1';
          index.back() = static_cast<char>('0' + v % 10);
          pairs += ' ' + index + ':' + value;
        }
        const std::uint64_t taken = compare_sparse<float>(tier, pairs + "\n", 2'147'483'647, 80);
        if (width <= 8 && (tier != "scalar" || value.size() <= 8)) {
          EXPECT_EQ(taken, 80u) << tier << pairs;
        }
        compare_sparse<double>(tier, pairs + "\n", 2'147'483'647, 80);
      }
    }
  }
}

// The same with more digits, and with a byte somewhere that is something else.
TEST(Kernel, OddBytesInTextOfFixedWidthAreTheSameInEveryTier) {
  static const std::string kBytes = "0123456789 .-:|\n\t+e/x\x01\x80\xB0";
  for (const std::string& tier : tiers()) {
    Draw draw(7);
    for (int i = 0; i < 10'000; ++i) {
      const std::uint64_t n = 20 + draw.below(60);
      const std::uint64_t most = draw.below(4) == 0 ? 16 : 5;
      const std::uint64_t whole = draw.below(5),
                          fraction = draw.below(whole == 0 ? most + 2 : most) + (whole == 0 ? 1 : 0);
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
      compare_dense<float>(tier, values, n + 1 - draw.below(3));
      compare_dense<double>(tier, values, n);
      const std::uint64_t dim =
          draw.below(4) == 0 ? 1 + static_cast<std::uint64_t>(std::pow(10, width) * 0.99) : 2'147'483'647;
      compare_sparse<float>(tier, pairs, dim, n + 1 - draw.below(3));
      compare_sparse<double>(tier, pairs, dim, n);
    }
  }
}

// Whatever byte comes wherever it likes: in front of, across and behind the ends of blocks of 64 bytes.
TEST(Kernel, OddBytesAtEveryOffsetAreTheSameInEveryTier) {
  static const std::vector<std::string> kOdd = {"",      " ",  "  ",   "\t", ".",    "-",    "--1", "+2",
                                                "e1",    ":",  ":1",   " -", "- ",   " .",   ". ",  "-.",
                                                "|",     "\n", "\x02", "/",  "\x80", "\xAD", "x",   "1234567890123456",
                                                ".5 -.5"};
  for (const std::string& tier : tiers()) {
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
          compare_dense<float>(tier, sample + "\n", 100);
          compare_dense<double>(tier, sample.substr(0, at + odd.size()) + "|7\n", 100);
          sample = pairs;
          sample.insert(at, odd);
          compare_sparse<float>(tier, sample + "\n", 1'000'000'000, 100);
          compare_sparse<double>(tier, sample.substr(0, at + odd.size()) + "|7\n", 10'000'000, 100);
        }
      }
    }
  }
}

}  // namespace
}  // namespace batchfeed::ctf
