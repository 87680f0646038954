// SPDX-License-Identifier: MIT
//
// Nearly right names that users write, and text of files as messages quote it.
#include "base/words.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "base/quoted.h"

namespace batchfeed {
namespace {

using namespace std::string_view_literals;

TEST(Words, CaseIsOfAsciiLettersAlone) {
  EXPECT_EQ(lower("AZaz09@[`{\xC4"), "azaz09@[`{\xC4");
  EXPECT_TRUE(same_word("", ""));
  EXPECT_TRUE(same_word("MinibatchSize", "minibatchsize"));
  EXPECT_FALSE(same_word("size", "sizes"));
  EXPECT_FALSE(same_word("@", "`")) << "as far apart as letters and their capitals";
}

TEST(Words, EditsAreCountedUpToWhatIsAsked) {
  constexpr struct {
    std::string_view a, b;
    std::size_t edits;
  } cases[] = {{"", "", 0},
               {"abc", "abc", 0},
               {"abc", "ABC", 0},
               {"abc", "abd", 1},
               {"abc", "ab", 1},
               {"abc", "xabc", 1},
               {"abc", "acb", 1},
               {"ab", "ba", 1},
               {"abcd", "badc", 2},
               {"abc", "", 3},
               {"kitten", "sitting", 3},
               {"ca", "abc", 3},
               {"abc", "xyz", 3},
               {"frameMode", "framemdoe", 1},
               {"abXYcd", "aYXbcd", 2}};
  for (const auto& c : cases) {
    EXPECT_EQ(edit_distance(c.a, c.b, 9), c.edits) << c.a << ' ' << c.b;
    EXPECT_EQ(edit_distance(c.b, c.a, 9), c.edits) << c.b << ' ' << c.a;
    EXPECT_EQ(edit_distance(c.a, c.b, c.edits), c.edits) << c.a << ' ' << c.b;
    if (c.edits == 0) continue;
    EXPECT_EQ(edit_distance(c.a, c.b, c.edits - 1), c.edits) << c.a << ' ' << c.b;
    EXPECT_EQ(edit_distance(c.a, c.b, 0), 1u) << "one more than was asked for";
  }
}

RC_GTEST_PROP(Words, DistanceIsTheSameBothWays, (const std::string& a, const std::string& b)) {
  const std::size_t there = edit_distance(a, b, 1000);
  RC_ASSERT(there == edit_distance(b, a, 1000));
  RC_ASSERT((there == 0) == same_word(a, b));
  RC_ASSERT(there <= std::max(a.size(), b.size()));
}

std::string_view nearest(std::string_view meant, std::size_t below, std::initializer_list<std::string_view> words) {
  Nearest best(meant, below);
  for (const std::string_view word : words) best.offer(word);
  return best.best();
}

TEST(Words, TheFirstOfTheNearestIsMeant) {
  EXPECT_EQ(nearest("fiel", 3, {"dim", "file", "files", "field"}), "file");
  EXPECT_EQ(nearest("fiel", 3, {"files", "file"}), "file") << "a nearer one behind it";
  EXPECT_EQ(nearest("fiel", 3, {"field", "file"}), "field") << "both are an edit away";
  EXPECT_EQ(nearest("file", 3, {"File", "file"}), "File") << "nothing is nearer than the word itself";
  EXPECT_EQ(nearest("abcd", 2, {"abxy"}), "") << "two edits are not below two";
  EXPECT_EQ(nearest("abcd", 3, {"abxy"}), "abxy");
  EXPECT_EQ(nearest("abcd", 0, {"abcd"}), "");
  EXPECT_EQ(nearest("abcd", 3, {}), "");
}

TEST(Words, OfWhichNothingIsLeftIsNotMeant) {
  EXPECT_EQ(nearest("S", 2, {"F"}), "");
  EXPECT_EQ(nearest("S", 2, {"F", "S0", "s"}), "s");
  EXPECT_EQ(nearest("ab", 3, {"cd", "x", "ad"}), "ad");
}

TEST(Quoted, TextOfAFileStaysOnItsLineAndShort) {
  EXPECT_EQ(quoted(""sv), "''");
  EXPECT_EQ(quoted("it's"sv), "'it's'");
  EXPECT_EQ(quoted("a\nb\r\t"sv), "'a\\nb\\x0d\\x09'");
  EXPECT_EQ(quoted("\0\x1f\x7f\x80\xff"sv), "'\\x00\\x1f\\x7f\x80\xff'") << "bytes of UTF-8 stay";
  const std::string fits(80, 'a');
  EXPECT_EQ(quoted(fits), '\'' + fits + '\'');
  EXPECT_EQ(quoted(fits + 'b'), '\'' + fits + "...'");
  const std::string front = fits.substr(1);
  EXPECT_EQ(quoted(front + "\xC3\xA9"), '\'' + front + "...'") << "no part of a character";
  EXPECT_EQ(quoted(fits.substr(4) + "\xF0\x9F\x98\x80" + 'b'), '\'' + fits.substr(4) + "\xF0\x9F\x98\x80...'");
  EXPECT_EQ(quoted(std::string(99, '\x80')), '\'' + std::string(80, '\x80') + "...'") << "no UTF-8";
}

TEST(Hex, HasAllDigitsInLowerCase) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0x0123456789ABCDEFull), "0123456789abcdef");
  EXPECT_EQ(hex(~0ull), "ffffffffffffffff");
}

}  // namespace
}  // namespace batchfeed
