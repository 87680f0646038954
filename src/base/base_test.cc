// SPDX-License-Identifier: MIT
#include <batchfeed/error.h>
#include <batchfeed/hint.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/cpu.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/saturate.h"
#include "base/seeded_hash.h"
#include "base/seen.h"
#include "base/sort_by_key.h"
#include "base/text_list.h"
#include "base/text_table.h"
#include "base/working_folder.h"

namespace batchfeed {
namespace {

constexpr std::uint64_t kMax = ~0ull;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

TEST(Cursor, ReadsLittleEndianFieldsAtAnyAlignment) {
  const auto data = bytes({0xFF, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x80, 0x3F});
  Cursor cursor(data);
  EXPECT_EQ(cursor.field<std::uint8_t>(), 0xFF);
  EXPECT_EQ(cursor.field<std::uint32_t>(), 0x04030201u);
  EXPECT_EQ(cursor.field<float>(), 1.0f);
  EXPECT_EQ(cursor.left(), 0u);
  EXPECT_EQ(cursor.at(), 9u);
}

TEST(Cursor, AFieldThatIsCutOffIsNoFieldAndTakesNothing) {
  const auto data = bytes({1, 2, 3});
  Cursor cursor(data);
  EXPECT_EQ(cursor.field<std::uint32_t>(), std::nullopt);
  EXPECT_EQ(cursor.left(), 3u);
  EXPECT_EQ(cursor.field<std::uint16_t>(), 0x0201);
  EXPECT_EQ(cursor.field<std::uint16_t>(), std::nullopt);
}

TEST(Cursor, TakeComparesBeforeItMultiplies) {
  const std::vector<std::byte> data(64);
  // Multiplied by 8, most of these wrap around to a small number in 64 or 32 bits.
  const std::uint64_t counts[] = {9,    1ull << 29, (1ull << 29) + 1, 1ull << 32, 1ull << 61, (1ull << 61) + 1,
                                  kMax, kMax / 8};
  for (const std::uint64_t count : counts) {
    Cursor cursor(data);
    EXPECT_EQ(cursor.take(count, 8), std::nullopt) << count;
    EXPECT_EQ(cursor.left(), 64u);
  }
  Cursor cursor(data);
  EXPECT_EQ(cursor.take(8, 8)->size(), 64u);
  EXPECT_EQ(cursor.take(0, 8)->size(), 0u);
  EXPECT_EQ(cursor.take(1, 1), std::nullopt);
}

TEST(Cursor, BigEndianIsTheSwappedLittleEndian) {
  const auto data = bytes({0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE, 0xF0});
  EXPECT_EQ((load<std::uint16_t, std::endian::big>(data.data())), 0x1234);
  EXPECT_EQ((load<std::uint32_t, std::endian::big>(data.data())), 0x12345678u);
  EXPECT_EQ((load<std::uint64_t, std::endian::big>(data.data())), 0x123456789ABCDEF0ull);
  EXPECT_EQ((load<std::uint8_t, std::endian::big>(data.data())), 0x12);
  EXPECT_EQ(byte_swap(byte_swap(1.5f)), 1.5f);
}

RC_GTEST_PROP(Cursor, TakesWhatThereIsOrNothing,
              (std::vector<std::uint8_t> data, std::uint64_t count, std::uint8_t each)) {
  const std::size_t size = each == 0 ? 1 : each;
  Cursor cursor(std::as_bytes(std::span(data)));
  const auto taken = cursor.take(count, size);
  if (taken) {
    RC_ASSERT(taken->size() == count * size);
    RC_ASSERT(taken->size() + cursor.left() == data.size());
  } else {
    RC_ASSERT(cursor.left() == data.size());
    RC_ASSERT(count > data.size() / size);
  }
}

TEST(Saturate, StopsAtTheLargestValue) {
  EXPECT_EQ(add_sat(2, 3), 5u);
  EXPECT_EQ(add_sat(kMax, 0), kMax);
  EXPECT_EQ(add_sat(kMax, 1), kMax);
  EXPECT_EQ(add_sat(kMax - 5, 5), kMax);
  EXPECT_EQ(add_sat(1ull << 63, 1ull << 63), kMax);
  EXPECT_EQ(mul_sat(6, 7), 42u);
  EXPECT_EQ(mul_sat(0, kMax), 0u);
  EXPECT_EQ(mul_sat(kMax, 0), 0u);
  EXPECT_EQ(mul_sat(kMax, 1), kMax);
  EXPECT_EQ(mul_sat(1ull << 32, (1ull << 32) - 1), ((1ull << 32) - 1) << 32);
  EXPECT_EQ(mul_sat(1ull << 32, 1ull << 32), kMax);
}

RC_GTEST_PROP(Saturate, EqualsWideArithmeticCutOff, (std::uint64_t a, std::uint64_t b)) {
  __extension__ using Wide = unsigned __int128;
  const Wide sum = static_cast<Wide>(a) + b, product = static_cast<Wide>(a) * b;
  RC_ASSERT(add_sat(a, b) == (sum > kMax ? kMax : static_cast<std::uint64_t>(sum)));
  RC_ASSERT(mul_sat(a, b) == (product > kMax ? kMax : static_cast<std::uint64_t>(product)));
}

// minibatch.md 18.10, X1.
TEST(Hash, KeysHashAsTheReferenceHashesThem) {
  EXPECT_EQ(cntk_key_hash("100"), 193358996u);
  EXPECT_EQ(cntk_key_hash("not"), 193419184u);
  EXPECT_EQ(cntk_key_hash("abcDEF_+123!890x.Y.Z@"), 1661589163364855789u);
  EXPECT_EQ(cntk_key_hash(""), 5381u);
  // Bytes above 127 count as negative numbers.
  EXPECT_EQ(cntk_key_hash("\xE9"), (5381ull * 33) ^ static_cast<std::uint64_t>(-23));
}

TEST(Hash, FingerprintDependsOnOrderAndOnBoundaries) {
  EXPECT_EQ(Fingerprint().add(1).add(2).value(), Fingerprint().add(1).add(2).value());
  EXPECT_NE(Fingerprint().add(1).add(2).value(), Fingerprint().add(2).add(1).value());
  EXPECT_NE(Fingerprint().add("ab").add("c").value(), Fingerprint().add("a").add("bc").value());
  EXPECT_NE(Fingerprint().add(0).value(), Fingerprint().value());
}

TEST(Hash, IsTheSameOnEverySystem) {
  // XXH3 of the empty input, seed 0: a published test vector.
  EXPECT_EQ(hash_text(""), 0x2D06800538D394C2ull);
}

// minibatch.md 18.1, R1-R3.
TEST(Rng, IsTheReferencesGenerator) {
  CntkRng rng;
  rng.seed(5489);
  for (int i = 0; i < 9999; ++i) rng.next();
  EXPECT_EQ(rng.next(), 9981545732273789042ull);
  rng.seed(0);
  EXPECT_EQ(rng.next(), 2947667278772165694ull);
  EXPECT_EQ(rng.next(), 18301848765998365067ull);
  EXPECT_EQ(rng.next(), 729919693006235833ull);
  rng.seed(1);
  EXPECT_EQ(rng.next(), 2469588189546311528ull);
  EXPECT_EQ(rng.next(), 2516265689700432462ull);
  EXPECT_EQ(rng.next(), 8323445853463659930ull);
}

TEST(Rng, ADrawTakesOneNumber) {
  CntkRng rng;
  rng.seed(0);
  EXPECT_EQ(rng.draw(10, 17), 10 + 2947667278772165694ull % 7);
  EXPECT_EQ(rng.draw(0, kMax), 18301848765998365067ull);
  EXPECT_EQ(rng.draw(3, 4), 3u);
}

TEST(Rng, CounterNumbersAreAPureFunctionOfTheKey) {
  CounterRng all(7);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(all.next());
  CounterRng again(7);
  for (const std::uint64_t number : numbers) EXPECT_EQ(again.next(), number);
  EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), 100u);
  EXPECT_NE(CounterRng(8).next(), numbers[0]);
}

TEST(Rng, BelowStaysBelowAndReachesEverything) {
  CounterRng rng(1);
  std::array<int, 5> hits{};
  for (int i = 0; i < 5000; ++i) ++hits[static_cast<std::size_t>(rng.below(5))];
  for (const int n : hits) EXPECT_NEAR(n, 1000, 150);
  EXPECT_EQ(rng.below(1), 0u);
  // Just above half of the range nearly every second number is rejected.
  for (int i = 0; i < 100; ++i) EXPECT_LT(rng.below((1ull << 63) + 1), (1ull << 63) + 1);
}

struct Grammar {
  Position at;
  const char* hint;
  const char* text;
};

// The message grammar: FILE[:LINE[:COLUMN]][ (byte N)]: WHAT[; hint: HINT]
TEST(Fault, TextFollowsTheGrammar) {
  const Grammar cases[] = {
      {{}, "", "batchfeed: w"},
      {{}, "h", "batchfeed: w; hint: h"},
      {{.file = "f"}, "", "f: w"},
      {{.file = "f", .line = 3}, "", "f:3: w"},
      {{.file = "f", .line = 3, .column = 9}, "h", "f:3:9: w; hint: h"},
      {{.file = "f", .column = 9}, "", "f: w"},
      {{.file = "f", .byte = 0, .has_byte = true}, "", "f (byte 0): w"},
      {{.file = "f", .byte = 12, .line = 3, .column = 9, .has_byte = true}, "", "f:3:9 (byte 12): w"},
      {{.file = "f", .byte = 12, .line = 3}, "", "f:3: w"},
  };
  for (const Grammar& c : cases) {
    const Fault fault{.kind = FaultKind::format, .id = "x.y", .at = c.at, .what = "w", .hint = c.hint};
    EXPECT_EQ(fault.text(), c.text);
    EXPECT_STREQ(Error(fault).what(), c.text);
    EXPECT_EQ(Error(fault).fault().id, "x.y");
  }
  const Fault odd{.id = "x.y", .at = {.file = "a\nb"}, .what = "key 'c\r\n\x1B'", .hint = "\x7F \xC3\xA9"};
  EXPECT_EQ(odd.text(), "a\\x0ab: key 'c\\x0d\\x0a\\x1b'; hint: \\x7f \xC3\xA9") << "always one line";
}

TEST(Fault, KindsHaveTheirNames) {
  EXPECT_EQ(name(FaultKind::usage), "usage");
  EXPECT_EQ(name(FaultKind::internal), "internal");
  EXPECT_EQ(name(static_cast<FaultKind>(200)), "");  // not an enumerator
}

RC_GTEST_PROP(TextTable, NumbersTextsAsTheyAppear, (const std::vector<std::string>& texts)) {
  TextTable table;
  std::vector<std::string> fresh;
  for (const std::string& text : texts) {
    const auto known = std::find(fresh.begin(), fresh.end(), text);
    const auto number = static_cast<std::uint64_t>(known - fresh.begin());
    RC_ASSERT(table.find(text) == (known == fresh.end() ? std::nullopt : std::optional(number)));
    if (known == fresh.end()) fresh.push_back(text);
    RC_ASSERT(table.number(text) == number);
  }
  RC_ASSERT(table.size() == fresh.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) RC_ASSERT(table[i] == fresh[i]);
}

// Unsorted names with common prefixes, some repeated within a call and some in a later one; tens and thousands a call.
TEST(TextTable, NumbersManyAtOnceAsOneByOne) {
  std::mt19937_64 draw(7);
  for (const bool reserved : {false, true}) {
    TextTable one, many;
    std::set<std::string> before;
    for (int round = 0; round < 60; ++round) {
      std::vector<std::string> texts(draw() % (round % 10 == 9 ? 9000 : 70));
      for (std::string& text : texts) {
        text = "a-corpus-of-speech/" + std::string(draw() % 20, '-') + std::to_string(draw() % 30'000);
        if (draw() % 9 == 0) text = texts[draw() % texts.size()];
      }
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      std::vector<std::uint64_t> numbers(texts.size());
      if (reserved) many.reserve(many.size() + texts.size());
      many.numbers(views, numbers);
      for (std::size_t i = 0; i < texts.size(); ++i) {
        ASSERT_EQ(numbers[i], one.number(texts[i]));
        ASSERT_EQ(many[numbers[i]], texts[i]);
        ASSERT_EQ(many.find(texts[i]), numbers[i]);
      }
      ASSERT_EQ(many.size(), one.size());
    }
    EXPECT_GT(one.size(), 20'000u);
  }
}

TEST(TextTable, OfOneCntkHashTheFirstIsKept) {
  TextTable table(TextTable::Same::cntk_hash);
  EXPECT_EQ(table.find_cntk_hash(5858886), std::nullopt);
  const std::vector<std::string_view> texts = {"a", "!B", "\"!", "b", "\"!"};
  std::vector<std::uint64_t> numbers(texts.size());
  table.numbers(texts, numbers);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 1, 1, 2, 1}));
  for (int i = 0; i < 1000; ++i) table.number("utterance " + std::to_string(i));
  EXPECT_EQ(table.find_cntk_hash(5858886), 1u);
  EXPECT_EQ(table.number("\"!"), 1u);
  EXPECT_EQ(table[1], "!B");
}

TEST(TextList, HoldsTextsOneBehindTheOther) {
  TextList list{"a", "", std::string_view("b\0c", 3)};
  list.add(std::string(300, 'x'));
  EXPECT_EQ(list.size(), 4u);
  std::vector<std::string> out;
  for (const std::string_view text : list) out.emplace_back(text);
  EXPECT_EQ(out, (std::vector<std::string>{"a", "", std::string("b\0c", 3), std::string(300, 'x')}));
  EXPECT_FALSE((list == TextList{"a", "", "b"}));
  EXPECT_FALSE((TextList{"ab", "c"} == TextList{"a", "bc"}));
  EXPECT_TRUE((TextList{"ab", "c"} == TextList{"ab", "c"}));
  list.clear();
  EXPECT_TRUE(list.empty());
}

TEST(TextTable, KeepsTextsOfAnyLengthWhereTheyAre) {
  TextTable table;
  std::vector<std::string> texts;
  for (const std::size_t size : {0u, 1u, 126u, 127u, 128u, 129u, 1023u, 1024u, 4093u, 4096u, 16383u, 16384u, 3000000u})
    texts.emplace_back(size, static_cast<char>('a' + texts.size()));
  for (int i = 0; i < 20'000; ++i) texts.push_back("utterance " + std::to_string(i * 7919));
  std::vector<std::string_view> kept;
  for (const std::string& text : texts) kept.push_back(table[table.number(text)]);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(kept[i], texts[i]);
    ASSERT_EQ(table[i].data(), kept[i].data());
    ASSERT_EQ(table.number(texts[i]), i);
  }
  EXPECT_EQ(table.find("utterance"), std::nullopt);
  EXPECT_EQ(table.size(), texts.size());
}

RC_GTEST_PROP(Seen, TellsTheFirstTimeFromTheOthers, (const std::vector<std::string>& texts)) {
  Seen seen;
  std::set<std::string> known;
  for (const std::string& text : texts) RC_ASSERT(seen.add(text) == known.insert(text).second);
  RC_ASSERT(seen.size() == known.size());
}

TEST(Seen, HoldsManyTexts) {
  Seen seen;
  for (const bool fresh : {true, false})
    for (int i = 0; i < 100'000; ++i) ASSERT_EQ(seen.add("utterance " + std::to_string(i)), fresh);
  EXPECT_EQ(seen.size(), 100'000u);
}

TEST(WorkingFolder, IsTheWholePathOrNothing) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  EXPECT_EQ(working_folder(), before.string());
  const fs::path gone = fs::temp_directory_path() / "batchfeed_base_test_gone";
  fs::create_directories(gone);
  fs::current_path(gone);
  fs::remove(gone);
  EXPECT_EQ(working_folder(), "");
  fs::current_path(before);
}

// Consecutive keys must not get consecutive places: a hostile file would rely on that.
TEST(SeededHash, SpreadsWhatLiesInARow) {
  const SeededHash hash, again;
  std::array<int, 64> places{};
  for (std::uint64_t i = 0; i < 6400; ++i) {
    ++places[hash(i * 64) % places.size()];
    EXPECT_EQ(hash(i), again(i));
    EXPECT_NE(hash(i), hash(i + 1));
  }
  EXPECT_LT(*std::max_element(places.begin(), places.end()), 200);
  EXPECT_EQ(hash(std::string_view("ab")), again(std::string("ab")));
  EXPECT_NE(hash(std::string_view("ab")), hash(std::string_view("ba")));
  EXPECT_NE(SeededHash{1}(std::uint64_t{7}), SeededHash{2}(std::uint64_t{7}));
}

TEST(SortByKey, IsAStableSort) {
  struct Record {
    std::uint64_t key;
    std::size_t place;
    bool operator==(const Record&) const = default;
  };
  CounterRng draw(1);
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{2'047}, std::size_t{2'048}, std::size_t{9'000}}) {
    for (unsigned bits = 0; bits <= 64; bits += 4) {
      const std::uint64_t low = draw.next();  // the keys differ in `bits` bits only, with equal bits above and below
      std::vector<Record> records;
      for (std::size_t i = 0; i < n; ++i)
        records.push_back({bits == 64 ? draw.next() : low ^ (draw.next() & ((1ull << bits) - 1)) << (bits % 16), i});
      std::vector<Record> expected = records;
      std::stable_sort(expected.begin(), expected.end(),
                       [](const Record& a, const Record& b) { return a.key < b.key; });
      sort_by_key(records, [](const Record& r) { return r.key; });
      EXPECT_TRUE(records == expected) << n << ' ' << bits;
    }
  }
}

TEST(Counted, OneIsNotMany) {
  EXPECT_EQ(counted(0, "sample"), "0 samples");
  EXPECT_EQ(counted(1u, "byte"), "1 byte");
  EXPECT_EQ(counted(-1, "stream"), "-1 streams");
  EXPECT_EQ(counted(kMax, "entry"), "18446744073709551615 entries");
  EXPECT_EQ(counted(2, "minibatch") + ", " + counted(3, "alias"), "2 minibatches, 3 aliases");
}

TEST(Hint, NamesAreInTheWordsOfWhoAsks) {
  const auto flag = [](std::string_view name, std::string_view value) {
    return "<" + std::string(name) + '|' + std::string(value) + '>';
  };
  EXPECT_EQ(with_names("choose one: `section = Train.reader`", flag), "choose one: <section|Train.reader>");
  EXPECT_EQ(with_names("`check()` lists them; or `force` it", flag), "<check()|> lists them; or <force|> it");
  EXPECT_EQ(with_names("`set = x = 3` ", flag), "<set|x = 3> ");
  EXPECT_EQ(with_names("a ` alone, `", flag), "a < alone, |>");
  for (const char* const plain : {"", "no names", "one ` only"}) EXPECT_EQ(with_names(plain, flag), plain);
}

TEST(Cpu, ATierIsTheBestThatIsThereAndWanted) {
  EXPECT_EQ(cpu_tier("scalar"), "scalar");
  EXPECT_NE(cpu_tier("avx2"), "avx512");
  EXPECT_EQ(cpu_tier("avx512"), cpu_tier(""));
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  EXPECT_EQ(cpu_tier("avx2"), avx2 ? "avx2" : "scalar");
  if (__builtin_cpu_supports("avx512vbmi2")) {
    EXPECT_EQ(cpu_tier(""), "avx512");
  } else {
    EXPECT_EQ(cpu_tier(""), cpu_tier("avx2"));
  }
#endif
}

}  // namespace
}  // namespace batchfeed
