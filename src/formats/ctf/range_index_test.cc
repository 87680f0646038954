// SPDX-License-Identifier: MIT
//
// The index of lines taken together against the one that looks at every line, which
// slow_model_test.cc compares with the rules.
#include "formats/ctf/range_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include "base/cpu.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/counted_files.h"
#include "support/faulty_sys.h"
#include "support/tier.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::ScratchFolder;

// The index in words: entries and notes, or the fault.
std::string indexed(const char* tier, const std::string& path, const CtfOptions& options, KeyMode keys,
                    std::uint64_t range, bool every_line = false) {
  const testing::Tier forced(tier);
  OpenContext context = quiet_context(keys);
  context.threads = 3;
  std::string out;
  try {
    const CtfSource source(options, path, context, {.range = range, .every_line = every_line});
    for (const IndexEntry& e : source.index().entries) {
      for (const std::uint64_t n : {e.key, e.begin, e.bytes, std::uint64_t{e.samples}}) out += std::to_string(n) + ' ';
      if (keys != KeyMode::numeric) out += source.key_text(e.key);
      out += '\n';
    }
    for (const Notice& n : source.notices()) out += n.fault.text() + '\n';
  } catch (const Error& e) {
    out += e.what();
  }
  return out;
}

// Lines of one kind, as corpora have them, and now and then something else.
class Corpus {
 public:
  explicit Corpus(std::uint64_t seed) : draw_(seed), kind_(below(6)), odd_(below(3) == 0 ? 0 : 4 + below(200)) {
    name_ = pick(
        {"utt-", "utt-", "an-utterance-with-a-long-name-", "0123456789012345678901234567890123456789012345678901234"});
    blank_ = pick({"\t", "\t", " ", "", "\t "});
  }

  std::string text(std::size_t bytes, KeyMode keys) {
    std::string out;
    std::uint64_t id = below(1000);
    if (below(2) == 0)
      id = std::array<std::uint64_t, 3>{99'999'970, 12'345'678'901'234, 9'999'999'999'999'970}[below(3)];
    const std::uint64_t run = below(4) == 0 ? 1 : 1 + below(below(2) == 0 ? 3 : 40);
    const std::uint64_t any = below(3) == 0 ? 1ull << below(56) : 0;  // numbers below it, in no order
    const bool lines = keys == KeyMode::numeric && below(3) == 0;
    while (out.size() < bytes) {
      if (below(run) == 0) id = any == 0 ? id + 1 : below(any);
      if (run == 1 && below(25) == 0) id += below(4) - 2;  // again, back, or one is left out
      const bool alone = below(20) == 0 && !out.empty();   // goes on without an id
      if (!lines && !alone)
        out += (keys == KeyMode::numeric ? "" : name_) + (below(80) == 0 ? "0" : "") + std::to_string(id) +
               (below(40) == 0 ? " " : blank_);
      if (odd_ != 0 && below(odd_) == 0) {
        out += pick({"x", "7", "|", "| ", "||", "|S0|S1", " ", "\t\r", "|#", "\xC3", "|S0x 1", "|Q 1 ", "|S0\t1"});
      }
      if (odd_ == 0 || below(odd_) != 0) values(out);
      if (below(9) == 0) out += "\t|# a note, |Q of somebody";
      out += below(30) == 0 ? "\r\n" : "\n";
      if (odd_ != 0 && below(odd_) == 0) out += pick({"\n", " \n", "|# only\n", "00", "  ", "|Q 1\n", "5x\n"});
    }
    if (below(2) == 0) out.pop_back();
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return draw_() % n; }
  const char* pick(std::initializer_list<const char*> from) { return from.begin()[below(from.size())]; }
  void values(std::string& out) {
    if (kind_ != 1 || below(3) == 0) out += "|S0 " + std::to_string(below(100'000)) + ":1 ";
    if (kind_ == 2) out += "|# word";
    if (kind_ != 3 || below(20) == 0) out += "|S1 1:1";
    if (kind_ == 4) out += " |S1 2:1 |S1 3:1";
    if (kind_ == 5) {
      out += " |features";
      for (std::uint64_t n = below(400); n > 0; --n) out += " 0.5";
    }
  }

  std::mt19937_64 draw_;
  std::uint64_t kind_, odd_;
  std::string name_, blank_;
};

TEST(IndexTogether, IsTheIndexOfEveryLine) {
  const ScratchFolder folder;
  std::size_t sequences = 0, failed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Corpus corpus(seed);
    const KeyMode keys = seed % 4 == 3 ? KeyMode::text : KeyMode::numeric;
    const std::string path = folder.write("t.ctf", corpus.text(seed % 7 == 0 ? 300'000 : 1 + seed * 40, keys));
    CtfOptions options = options_for(seed % 3 == 0   ? std::vector<std::string>{"S0:s100000", "S1:s100"}
                                     : seed % 3 == 1 ? std::vector<std::string>{"S0:s100000!", "S1:s100", "features:d9"}
                                                     : std::vector<std::string>{"S1:s100", "features:d9", "S0:s9"});
    options.skip_sequence_ids = keys == KeyMode::numeric && seed % 5 == 0;
    const std::string slow = indexed("scalar", path, options, keys, 8 << 20, true);
    for (const char* fast : {"scalar", "avx2", "avx512"}) {
      ASSERT_EQ(indexed(fast, path, options, keys, 8 << 20), slow) << fast << " seed " << seed;
      ASSERT_EQ(indexed(fast, path, options, keys, 1 + seed % 999), slow) << fast << " in ranges, seed " << seed;
    }
    sequences += static_cast<std::size_t>(std::count(slow.begin(), slow.end(), '\n'));
    failed += slow.find("t.ctf") != std::string::npos && slow.find('\n') == std::string::npos ? 1U : 0U;
  }
  EXPECT_GT(sequences, 40'000u);
  EXPECT_LT(failed, 150u);
}

// A range in which no line begins reads no further than its end: of one line there may be many such.
TEST(IndexTogether, OneLongLineIsReadByOneRange) {
  testing::CountedFiles files;
  std::string& text = files.content["mem://t.ctf"];
  while (text.size() < (std::size_t{2} << 20)) text += "|A 1 2 3 4\r";
  OpenContext context = quiet_context();
  context.file_system = files.file_system();
  context.threads = 16;
  const CtfSource source(options_for({"A:d4"}), "mem://t.ctf", context, {.range = 1});
  ASSERT_EQ(source.index().entries.size(), 1u);
  EXPECT_EQ(source.index().entries[0].bytes, text.size());
  EXPECT_LT(files.bytes_read, 4 * text.size()) << "twice to index it, once to find where data begin";
}

// Against a map, where keys lie near each other and far apart, where they rise and where a few or many come back.
TEST(IndexTogether, KeysThatComeBackAreFound) {
  std::mt19937_64 draw(9);
  std::size_t none = 0;
  for (std::size_t round = 0; round < 400; ++round) {
    const std::size_t n = draw() % (round % 20 == 0 ? 20'000 : 300);
    const std::uint64_t below = 1 + draw() % (round % 2 == 0 ? 300 : 30'000), step = draw() % 3;
    const std::uint64_t apart = draw() % 2 == 0 ? 1 : 1'000'003;
    IndexEntries entries;
    std::map<std::uint64_t, std::uint64_t> first;
    std::optional<IndexNotes::Repeated> expected;
    std::uint64_t key = draw() >> (draw() % 64);
    for (std::size_t i = 0; i < n; ++i) {
      key = step == 0 ? key + 1 + draw() % 1000 : step == 1 && draw() % 500 != 0 ? key + 1 : draw() % below * apart;
      entries.push_back({.key = key, .begin = 10 * i, .bytes = 10, .samples = 1});
      const auto [at, fresh] = first.emplace(key, 10 * i);
      if (!fresh && !expected) expected = {.key = key, .first = at->second, .second = 10 * i, .sequences = 0};
      if (!fresh) ++expected->sequences;
    }
    entries.close();
    const std::optional<IndexNotes::Repeated> found = find_repeated(entries);
    ASSERT_EQ(found.has_value(), expected.has_value()) << round;
    none += found ? 0u : 1u;
    if (!found) continue;
    EXPECT_EQ(found->key, expected->key);
    EXPECT_EQ(found->first, expected->first);
    EXPECT_EQ(found->second, expected->second);
    EXPECT_EQ(found->sequences, expected->sequences);
  }
  EXPECT_GT(none, 100u);
  EXPECT_LT(none, 300u);
}

TEST(IndexTogether, NamesAreFoundWhereTheyStand) {
  static const std::vector<std::vector<std::string>> kStreams = {
      {"A:d1", "Ab:d1", "features:d2", "S0:s9"}, {"Ab:d1", "S0:s9"}, {"A:d1"}};
  std::mt19937_64 draw(7);
  for (const char* tier : {"avx2", "avx512"}) {
    const FindNames find = find_names(tier);
    if (find == nullptr || cpu_tier(tier) != tier) continue;
    for (std::size_t i = 0; i < 2'000; ++i) {
      const Schema schema(options_for(kStreams[i % kStreams.size()]), Limits());
      const Names names(schema);
      ASSERT_TRUE(names.usable());
      std::string text;
      while (text.size() < 256 + Names::kBytes + 1) {
        static const std::vector<std::string> kWords = {"|A", "|Ab", "|features", "|S0", "|", "\n",
                                                        " ",  "\t1", "|#",        "|S",  "x", "|featuresx"};
        text += kWords[draw() % kWords.size()];
      }
      std::array<Piece, 4> pieces;
      bool open = draw() % 2 == 0, each = true;  // the line at hand holds a name; all that end here do
      bool named = open;
      const Found found = find(text.data(), 4, names, named, pieces.data());
      std::size_t marks = 0;
      std::uint32_t lines = 0;
      std::array<std::uint32_t, Piece::kNames> counts{};
      for (const Piece& piece : std::span(pieces).first(found.pieces)) {
        const auto at = static_cast<std::size_t>(piece.at - text.data());
        ASSERT_EQ(at % Piece::kBytes, 0u);
        ASSERT_EQ(piece.lines, lines);
        for (std::size_t s = 0; s < names.size(); ++s) ASSERT_EQ(piece.counts[s], counts[s]);
        for (std::size_t b = 0; b < Piece::kBytes; ++b) {
          const char c = text[at + b];
          ASSERT_EQ((piece.newlines >> b & 1) != 0, c == '\n');
          const int stream = c == '|' ? schema.match(text.data() + at + b + 1, 0) : Schema::kNone;
          for (std::size_t s = 0; s < names.size(); ++s) {
            const bool here = stream == static_cast<int>(names.stream(s));
            ASSERT_EQ((piece.names[s] >> b & 1) != 0, here) << text.substr(at + b, 12);
            counts[s] += here ? 1 : 0;
          }
          open |= stream != Schema::kNone;
          ASSERT_EQ((piece.rows >> b & 1) != 0, c == '\n' && open);
          if (c == '\n') {
            each &= open;
            open = false;
            ++lines;
          }
          marks += c == '\n' || stream != Schema::kNone ? 1U : 0U;
        }
      }
      ASSERT_EQ(named, open);
      ASSERT_EQ(found.rows, each);
      std::size_t expected = 0;
      for (std::size_t b = 0; b < 256; ++b)
        expected +=
            text[b] == '\n' || (text[b] == '|' && schema.match(text.data() + b + 1, 0) != Schema::kNone) ? 1U : 0U;
      ASSERT_EQ(marks, expected);
    }
  }
}

TEST(IndexTogether, ManyOrLongNamesAreReadLineByLine) {
  const Limits limits;
  EXPECT_FALSE(Names(Schema(options_for({"a_long_name:d1"}), limits)).usable());
  EXPECT_FALSE(Names(Schema(options_for({"a:d1", "b:d1", "c:d1", "d:d1", "e:d1"}), limits)).usable());
  EXPECT_TRUE(Names(Schema(options_for({"a:d1", "b:d1", "c:d1", "d:d1", "e:d1!"}), limits)).usable());
}

}  // namespace
}  // namespace batchfeed::ctf
