// SPDX-License-Identifier: MIT
#include "base/lookalike.h"

#include <gtest/gtest.h>

namespace batchfeed {
namespace {

TEST(Lookalike, SaysWhatItIsAndWhatWasMeant) {
  const struct {
    const char *text, *told;
  } kCases[] = {
      {"", ""},
      {"-1.5 'plain' \"text\"", ""},
      {"f\xC3\xBCr \xE6\x97\xA5", ""},  // letters of other languages look like no ASCII
      {"\xE2\x88\x92"
       "1",
       "U+2212 is a minus sign; write '-'"},
      {"1\xC2\xA0"
       "2",
       "U+00A0 is a no-break space; write a plain blank"},
      {"\xE2\x80\x89", "U+2009 is a space of another width; write a plain blank"},
      {"\xEF\xBC\x97", "U+FF17 is a full-width character; write '7'"},
      {"\xEF\xBC\xBB", "U+FF3B is a full-width character; write '['"},
      {"\xD9\xA3", "U+0663 is an Arabic digit; write '3'"},
      {"\xE2\x80\x9C"
       "a\xE2\x80\x9D",
       "U+201C is a curly quote; write '\"'"},
      {"\xE2\x80\x99", "U+2019 is a curly quote; write \"'\""},
      {"\xEF\xBB\xBF"
       "0",
       "U+FEFF is a byte order mark, which may stand at the very beginning of a file only; take it out"},
      {"a\xE2\x80\x8B", "U+200B is an invisible character; take it out"},
      {"\xE2\x80\xA8", "U+2028 is a line separator; end the line with a line feed"},
      {"\x96"
       "1",
       "byte 0x96 (no UTF-8) is a dash; write '-'"},
      {"\xE2\x88", ""},  // cut off
      {"\xF4\x90\x80\x80\xFF", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(lookalike(c.text), c.told) << c.text;
}

TEST(Lookalike, StandsInFrontOfAnotherHint) {
  EXPECT_EQ(lookalike_or("1", "see there"), "see there");
  EXPECT_EQ(lookalike_or("\xC2\xA0", ""), "U+00A0 is a no-break space; write a plain blank");
  EXPECT_EQ(lookalike_or("\xC2\xA0", "see there"), "U+00A0 is a no-break space; write a plain blank; see there");
}

}  // namespace
}  // namespace batchfeed
