// SPDX-License-Identifier: MIT
#include "formats/ctf/row_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "formats/ctf/kernels_testing.h"

namespace batchfeed::ctf {
namespace {

// A line, and what its samples are.
struct Line {
  std::string text;
  std::vector<std::vector<std::uint32_t>> indices = {};  // of each sample
  std::vector<std::vector<std::string>> values = {};
};

template <class T>
T number(const std::string& text) {
  T out{};
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

template <class T>
class Forms {
 public:
  using Part = typename RowForms<T>::Part;

  Forms(const std::string& tier, const std::vector<Part>& parts) : forms_(tier) { forms_.start(parts, {}, true); }

  const RowForm<T>* read(const std::string& line) {
    const std::string text = padded(line);
    used_ = forms_.use();
    const RowForm<T>* const form = used_ ? forms_.read(text.data() + kPadding, numbers_) : nullptr;
    if (form != nullptr) {
      EXPECT_EQ(numbers_.bytes, line.size());
    }
    return form;
  }
  // A line that read() did not read.
  void missed(const std::string& line) {
    const std::string text = padded(line);
    if (used_) forms_.learn(text.data() + kPadding, line.size());
  }
  // Whether a line that had to be learned, if need be, can be read.
  bool knows(const std::string& line) {
    if (read(line) == nullptr) missed(line);
    return read(line) != nullptr;
  }

  // Whether it was read, and then as it should be.
  bool reads(const Line& line) {
    const RowForm<T>* const form = read(line.text);
    if (form == nullptr) return false;
    for (std::size_t i = 0; i < line.values.size(); ++i) {
      const std::size_t first = form->samples[i].first, count = form->samples[i].count;
      EXPECT_EQ(count, line.values[i].size()) << line.text;
      const std::size_t pairs = line.indices[i].size();
      for (std::size_t n = 0; n < pairs; ++n)
        EXPECT_EQ(static_cast<std::uint32_t>(numbers_.indices[first + n]), line.indices[i][n]) << line.text;
      for (std::size_t n = 0; n < count; ++n) {
        const T value = numbers_.values[first + pairs + n], wanted = number<T>(line.values[i][n]);
        EXPECT_EQ(std::memcmp(&value, &wanted, sizeof value), 0) << line.text << line.values[i][n] << ' ' << value;
      }
    }
    return true;
  }
  T value(std::size_t n) const { return numbers_.values[n]; }

 private:
  RowForms<T> forms_;
  bool used_ = false;
  RowNumbers<T> numbers_;
};

class RowFormsOf : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tiers().empty()) GTEST_SKIP() << "this CPU has no tier that knows forms";
  }
  static std::vector<std::string> tiers() {
    std::vector<std::string> out = ctf::tiers();
    std::erase(out, "scalar");
    std::erase(out, "neon");
    return out;
  }
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : draw_(seed) {}
  std::uint64_t below(std::uint64_t n) { return draw_() % n; }

  std::string digits(std::uint64_t n) {
    std::string out;
    for (std::uint64_t i = 0; i < n; ++i) out += static_cast<char>('0' + below(10));
    return out;
  }
  std::string value() {
    std::string out = below(3) == 0 ? "-" : "";
    const std::uint64_t front = 1 + below(3), behind = below(3) == 0 ? 0 : 1 + below(2);
    out += digits(front);
    return behind == 0 ? out : out + '.' + digits(behind);
  }

 private:
  std::mt19937_64 draw_;
};

template <class T>
void compare_random_lines(const std::string& tier, std::uint64_t seed) {
  using Part = typename Forms<T>::Part;
  Random random(seed);
  const std::vector<Part> parts = {{.name = 2, .dim = 2 + seed % 2 * 2, .sparse = false},
                                   {.name = 4, .dim = 1000, .sparse = true},
                                   {.name = 3, .dim = 1, .sparse = false}};
  const std::vector<std::string> names = {"|a", "|S07", "|l9"};
  std::vector<std::vector<std::string>> words;  // a few, so that lines come back
  for (int i = 0; i < 3; ++i) {
    words.emplace_back();
    for (int n = 0; n < 9; ++n) words.back().push_back(random.value());
  }
  Forms<T> forms(tier, parts);
  std::size_t read = 0, all = 0;
  for (; all < 2'000; ++all) {
    Line line;
    const std::vector<std::string>& like = words[random.below(words.size())];
    const auto alike = [&](std::size_t n) {  // other digits in its places
      std::string out = like[n];
      for (char& c : out) c = c == '-' || c == '.' ? c : static_cast<char>('0' + random.below(10));
      return out;
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      line.text += names[i];
      std::vector<std::string> values;
      std::vector<std::uint32_t> indices;
      for (std::size_t n = 0; n < (parts[i].sparse ? 1 : parts[i].dim); ++n) {
        values.push_back(alike(i + n));
        line.text += ' ';
        if (parts[i].sparse) {
          indices.push_back(static_cast<std::uint32_t>(random.below(parts[i].dim)));
          line.text += std::to_string(indices.back()) + ':';
        }
        line.text += values.back();
      }
      line.values.push_back(values);
      line.indices.push_back(indices);
      line.text += i + 1 == parts.size() ? "\r\n" : " ";
    }
    if (forms.reads(line)) {
      ++read;
    } else {
      forms.missed(line.text);
    }
  }
  EXPECT_GT(read, all * 9 / 10) << tier << " seed " << seed;
}

TEST_F(RowFormsOf, LinesThatComeBackInOtherDigitsAreReadExactly) {
  for (const std::string& tier : tiers()) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      compare_random_lines<float>(tier, seed);
      compare_random_lines<double>(tier, seed);
    }
  }
}

// Every byte of a line of a known form replaced by every other: it is read only if a digit of a number became another
// one.
TEST_F(RowFormsOf, NoOtherByteIsTakenForADigit) {
  const std::string line = "|x1 12:3.5 7:-0.25 |y 42 -1.5\n";
  for (const std::string& tier : tiers()) {
    Forms<float> forms(tier, {{.name = 3, .dim = 100, .sparse = true}, {.name = 2, .dim = 2, .sparse = false}});
    ASSERT_TRUE(forms.knows(line));
    for (std::size_t at = 0; at < line.size(); ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string other = line;
        other[at] = static_cast<char>(c);
        const bool digits = other == line || (at > 3 && std::isdigit(line[at]) != 0 && c >= '0' && c <= '9');
        ASSERT_EQ(forms.read(other) != nullptr, digits) << tier << ' ' << at << ' ' << c;
      }
    }
  }
}

TEST_F(RowFormsOf, NumbersAreReadAsFarAsTheirTypeHoldsThem) {
  for (const std::string& tier : tiers()) {
    Forms<float> floats(tier, {{.name = 2, .dim = 1, .sparse = false}});
    EXPECT_TRUE(floats.knows("|a 16777216\n"));
    EXPECT_EQ(floats.value(0), 16777216.0F);
    EXPECT_EQ(floats.read("|a 16777217\n"), nullptr) << tier << ": no float";
    EXPECT_TRUE(floats.knows("|a 0.999999\n"));
    EXPECT_EQ(floats.value(0), 0.999999F);
    EXPECT_TRUE(floats.knows("|a -0\n"));
    EXPECT_TRUE(std::signbit(floats.value(0)));
    EXPECT_EQ(floats.knows("|a 1.2345678\n"), tier == "avx512") << "nine bytes";
    EXPECT_FALSE(floats.knows("|a 123456789\n"));
    EXPECT_FALSE(floats.knows("|a 1e3\n"));
    EXPECT_FALSE(floats.knows("|a 1.\n"));
    EXPECT_FALSE(floats.knows("|a .5\n"));
    EXPECT_FALSE(floats.knows("|a +5\n"));
    EXPECT_FALSE(floats.knows("|a 1 2\n"));
    EXPECT_FALSE(floats.knows("|a\n"));
    Forms<double> doubles(tier, {{.name = 2, .dim = 1, .sparse = false}});
    EXPECT_TRUE(doubles.knows("|a 99999999\n"));
    EXPECT_EQ(doubles.value(0), 99999999.0);
  }
}

TEST_F(RowFormsOf, IndicesLieInTheirDimension) {
  for (const std::string& tier : tiers()) {
    Forms<float> forms(tier,
                       {{.name = 2, .dim = 2'147'483'647, .sparse = true}, {.name = 2, .dim = 60, .sparse = true}});
    EXPECT_TRUE(forms.knows("|a 99999999:1 |b 59:1\n"));
    EXPECT_EQ(forms.read("|a 99999999:1 |b 60:1\n"), nullptr);
    EXPECT_NE(forms.read("|a 00000000:1 |b 00:1\n"), nullptr);
    EXPECT_TRUE(forms.knows("|a |b 1:1 2:2\n"));
    EXPECT_FALSE(forms.knows("|a 1:1 |b -1:1\n"));
    EXPECT_FALSE(forms.knows("|a 1:1 |b 1.5:1\n"));
    EXPECT_FALSE(forms.knows("|a 1:1 |b 1 :1\n"));
  }
}

TEST_F(RowFormsOf, LinesHaveSoManyBytesAndNumbers) {
  for (const std::string& tier : tiers()) {
    for (const std::size_t n : {std::size_t{8}, std::size_t{9}, kRowNumbers, kRowNumbers + 1}) {
      Forms<float> forms(tier, {{.name = 2, .dim = n, .sparse = false}});
      std::string line = "|a";
      for (std::size_t i = 0; i < n; ++i) line += ' ' + std::to_string(i + 1);
      EXPECT_EQ(forms.knows(line + "\n"), n <= kRowNumbers) << tier << ' ' << n;
      for (std::size_t i = 0; i < n && n <= kRowNumbers; ++i)
        EXPECT_EQ(forms.value(i), static_cast<float>(i + 1)) << tier;
    }
    for (const std::size_t bytes : {kRowBytes - 1, kRowBytes, kRowBytes + 1}) {
      Forms<float> forms(tier, {{.name = 2, .dim = 1, .sparse = false}});
      const std::string line = "|a 0.5" + std::string(bytes - 7, ' ') + "\n";
      EXPECT_EQ(forms.knows(line), bytes <= kRowBytes) << tier << ' ' << bytes;
    }
    Forms<float> all(tier, std::vector<Forms<float>::Part>(kRowSamples, {.name = 2, .dim = 2, .sparse = true}));
    EXPECT_TRUE(all.knows("|a |a |a |a 0:1 |a |a |a |a 1:2\n"));
  }
}

// The last line of a file may have no newline: it has no form, whether any is known or none.
TEST_F(RowFormsOf, DigitsAloneAreOfNoForm) {
  for (const std::string& tier : tiers()) {
    Forms<float> forms(tier, {{.name = 2, .dim = 1, .sparse = false}});
    for (const char* const line : {"", "3", "34"}) EXPECT_EQ(forms.read(line), nullptr) << tier;
    EXPECT_TRUE(forms.knows("|a 5\n"));
    for (const char* const line : {"", "3", "34"}) EXPECT_EQ(forms.read(line), nullptr) << tier;
    // Also where its bytes are known.
    RowForms<float> raw(tier);
    raw.start(std::vector<RowForms<float>::Part>{{.name = 2, .dim = 1, .sparse = false}}, {}, true);
    RowNumbers<float> numbers;
    for (const std::string line : {"3", "34", "|a 5"})
      EXPECT_EQ(raw.read(padded(line).data() + kPadding, numbers, line.size()), nullptr) << tier;
  }
}

// Samples in front of others end at the pipe of the next one, wherever the line ends.
TEST_F(RowFormsOf, SamplesInFrontOfOthersAreReadByThemselves) {
  using Part = RowForms<float>::Part;
  for (const std::string& tier : tiers()) {
    RowForms<float> forms(tier);
    forms.start(std::vector<Part>{{.name = 2, .dim = 2, .sparse = false}, {.name = 2, .dim = 50, .sparse = true}}, {},
                false);
    RowNumbers<float> numbers;
    const auto read = [&](const std::string& line) {
      const std::string text = padded(line);
      return forms.read(text.data() + kPadding, numbers) != nullptr;
    };
    const std::string known = "|a 0.5 12 |b 7:1 |";
    forms.learn(padded(known).data() + kPadding, known.size());
    EXPECT_TRUE(read("|a 2.5 34 |b 9:2 |# and more\n"));
    EXPECT_EQ(numbers.bytes, known.size() - 1);
    EXPECT_EQ(numbers.values[0], 2.5F);
    EXPECT_EQ(numbers.values[1], 34.0F);
    EXPECT_EQ(numbers.indices[2], 9);
    EXPECT_EQ(numbers.values[3], 2.0F);
    EXPECT_TRUE(read("|a 2.5 34 |b 9:2 |"));
    EXPECT_FALSE(read("|a 2.5 34 |b 9:2\n|a 2.5 34 |b 9:2\n"));
    EXPECT_FALSE(read("|a 2.5 34 |b 9:2 \n|"));
    EXPECT_FALSE(read("|a 2.5 34 |c 9:2 |d 1\n"));
    EXPECT_FALSE(read("|a 2.5 34 |b 9:2 " + std::string(kRowBytes, ' ') + "|c\n")) << "the pipe is too far away";
    const std::string at_the_end = "|a 0.5 12 |b 7:1";
    forms.learn(padded(at_the_end + "|").data() + kPadding, at_the_end.size() + 1);
    EXPECT_TRUE(read(at_the_end + "|c\n"));
    EXPECT_EQ(numbers.bytes, at_the_end.size());
  }
}

// Comments and streams that nobody reads are cut out, wherever they end: in front of, between and behind the samples.
class Gaps : public RowFormsOf {
 protected:
  using Part = RowForms<float>::Part;
  using Gap = RowForms<float>::Gap;

  static Gap gap(std::size_t samples, const std::string& name) {
    Gap out{.samples = samples, .name = {}};
    out.name.take(padded(name).data() + kPadding, name.size());
    return out;
  }
  void start(const std::string& tier, const std::vector<Gap>& gaps, const std::string& known, bool to_end = true) {
    forms_.emplace(tier);
    forms_->start(std::vector<Part>{{.name = 2, .dim = 2, .sparse = false}, {.name = 3, .dim = 5'000, .sparse = true}},
                  gaps, to_end);
    forms_->learn(padded(known).data() + kPadding, known.size());
  }
  // Whether it was read, and then these numbers.
  bool reads(const std::string& line, const std::array<float, 3>& values = {2.5F, -34, 7}, std::int32_t index = 1024) {
    const std::string text = padded(line + "|a 0.5 -12 |bb 4711:3\n");
    if (forms_->read(text.data() + kPadding, numbers_) == nullptr) return false;
    EXPECT_EQ(numbers_.values[0], values[0]) << line;
    EXPECT_EQ(numbers_.values[1], values[1]) << line;
    EXPECT_EQ(numbers_.indices[2], index) << line;
    EXPECT_EQ(numbers_.values[3], values[2]) << line;
    return true;
  }

  RowNumbers<float> numbers_;
  std::optional<RowForms<float>> forms_;
};

TEST_F(Gaps, AreCutOut) {
  for (const std::string& tier : tiers()) {
    for (std::size_t n = 0; n < 150; ++n) {
      for (unsigned there = 0; there < 8; ++there) {
        const std::string text(n, 'x');
        std::vector<Gap> gaps;
        std::string line;
        const auto maybe = [&](unsigned bit, std::size_t samples, const std::string& name, const std::string& rest) {
          if ((there & bit) == 0) return;
          gaps.push_back(gap(samples, name));
          line += name + rest;
        };
        maybe(1, 0, "|#", text);
        line += "|a 2.5 -34 ";
        maybe(2, 1, "|q ", text + " ");
        line += "|bb 1024:7";
        maybe(4, 2, "|#", text + "\r");
        line += "\n";
        start(tier, gaps, "|a 0.5 -12 |bb 4711:3\n");
        EXPECT_TRUE(reads(line)) << tier << ' ' << line;
        EXPECT_EQ(numbers_.bytes, line.size());
      }
    }
  }
}

TEST_F(Gaps, OfOtherKindsAreNotCutOut) {
  for (const std::string& tier : tiers()) {
    start(tier, {gap(1, "|#")}, "|a 0.5 -12 |bb 4711:3\n");
    for (const std::size_t n : {0u, 70u}) {
      const std::string text(n, ' ');
      EXPECT_TRUE(reads("|a 2.5 -34 |# " + text + "|bb 1024:7\n"));
      EXPECT_FALSE(reads("|a 2.5 -34 |bb 1024:7\n"));
      EXPECT_FALSE(reads("|a 2.5 -34 |q " + text + "|bb 1024:7\n"));
      EXPECT_FALSE(reads("|a 2.5 -34 |# " + text + "|# |bb 1024:7\n"));
      EXPECT_FALSE(reads("|a 2.5 -34 |bb 1024:7 |# " + text + "\n"));
      EXPECT_FALSE(reads("|a 2.5 -34 |# " + text + "\n"));
      EXPECT_FALSE(reads("|# " + text + "|a 2.5 -34 |bb 1024:7\n"));
      EXPECT_FALSE(reads("x|a 2.5 -34 |# " + text + "|bb 1024:7\n"));
      EXPECT_FALSE(reads("|a 2.5 -34\n|# " + text + "|bb 1024:7\n"));
    }
  }
}

TEST_F(Gaps, MayStandInFrontOfAnotherGroup) {
  for (const std::string& tier : tiers()) {
    start(tier, {gap(1, "|#"), gap(2, "|#")}, "|a 0.5 -12 |bb 4711:3 |", false);
    for (const std::size_t n : {1u, 30u, 64u, 500u}) {
      const std::string text(n, 'x');
      const std::string line = "|a 2.5 -34 |#" + text + "|bb 1024:7 |#" + text;
      EXPECT_TRUE(reads(line + "|c\n")) << tier << ' ' << n;
      EXPECT_EQ(numbers_.bytes, line.size());
      EXPECT_FALSE(reads(line + "\n"));
    }
  }
}

// All that there may be, of any length, as many lines as make each tier read over the end of what it holds.
TEST_F(Gaps, ThereMayBeSoMany) {
  std::mt19937_64 draw(7);
  for (const std::string& tier : tiers()) {
    RowForms<double> forms(tier);
    std::vector<RowForms<double>::Part> parts;
    std::vector<RowForms<double>::Gap> gaps;
    for (std::size_t i = 0; i < kRowSamples; ++i) {
      parts.push_back({.name = 2, .dim = 1, .sparse = false});
      gaps.push_back({.samples = i + draw() % 2, .name = gap(0, "|#").name});
    }
    std::sort(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.samples < b.samples; });
    forms.start(parts, gaps, true);
    RowNumbers<double> numbers;
    std::size_t read = 0;
    for (int n = 0; n < 500; ++n) {
      std::string line, left;
      auto next = gaps.begin();
      const auto add_gaps = [&](std::size_t samples) {
        for (; next != gaps.end() && next->samples == samples; ++next) line += "|#" + std::string(draw() % 90, 'y');
      };
      for (std::size_t i = 0; i < kRowSamples; ++i) {
        add_gaps(i);
        const std::string sample = "|a " + std::to_string(n % 10 + static_cast<int>(i) * 10 + 10) + ' ';
        line += sample;
        left += sample;
      }
      add_gaps(kRowSamples);
      const std::string text = padded(line + "\n");
      if (forms.read(text.data() + kPadding, numbers) == nullptr) {
        left += '\n';
        forms.learn(padded(left).data() + kPadding, left.size());
        continue;
      }
      ++read;
      ASSERT_EQ(numbers.bytes, line.size() + 1);
      for (std::size_t i = 0; i < kRowSamples; ++i)
        ASSERT_EQ(numbers.values[i], static_cast<double>(n % 10) + static_cast<double>(i) * 10 + 10);
    }
    EXPECT_EQ(read, 499u) << tier;
  }
}

// Two forms have room in one place of the table, of which a third of the places here is used twice.
TEST_F(RowFormsOf, ManyFormsAreKnownAtOnce) {
  for (const std::string& tier : tiers()) {
    Forms<float> forms(tier, {{.name = 2, .dim = 3, .sparse = false}});
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < 125; ++i) {
      const auto digits = [](std::size_t n) { return ' ' + std::string(n + 1, '1'); };
      lines.push_back("|a" + digits(i % 5) + digits(i / 5 % 5) + digits(i / 25) + "\n");
    }
    for (const std::string& line : lines) EXPECT_TRUE(forms.knows(line));
    std::size_t known = 0;
    for (const std::string& line : lines) known += forms.read(line) != nullptr ? 1u : 0u;
    EXPECT_GT(known, 100u) << tier;
  }
}

// Where no line looks like another, forms are learned for a while, and then only now and then.
TEST_F(RowFormsOf, LinesThatNeverComeBackAreLeftAlone) {
  for (const std::string& tier : tiers()) {
    Forms<float> forms(tier, {{.name = 2, .dim = 1, .sparse = false}});
    const auto lonely = [](std::size_t n) { return "|a 1" + std::string(1 + n % 50, ' ') + "\n"; };
    std::size_t known = 0;
    for (std::size_t n = 0; n < 150; ++n) {
      EXPECT_EQ(forms.read("|a 1e" + std::to_string(n) + "\n"), nullptr);
      forms.missed("|a 1e" + std::to_string(n) + "\n");
    }
    for (std::size_t n = 0; n < 400; ++n) known += forms.knows(lonely(n)) ? 1u : 0u;
    EXPECT_EQ(known, 0u) << tier;
    for (std::size_t n = 0; n < 200; ++n) known += forms.knows("|a 5\n") ? 1u : 0u;
    EXPECT_GT(known, 0u) << tier << ": they are looked for again";
  }
}

}  // namespace
}  // namespace batchfeed::ctf
