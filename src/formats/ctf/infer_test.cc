// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "formats/ctf/ctf.h"
#include "support/counted_files.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::ScratchFolder;

Inferred infer(const std::string& path, std::uint64_t bytes = ~0ull, const Limits& limits = {},
               const InferTuning& tuning = {}) {
  return ctf::infer(io::File(path, {}, limits), bytes, {}, limits, tuning);
}

TEST(Infer, NamesStorageDimsAndRanges) {
  const ScratchFolder folder;
  const Inferred guess = infer(folder.write("t", "0 |w 5:1 |x 1 2.5 -3 |# c\n0 |w 7:1 |x 4\n1 |w 2:1 |x |y\n"));
  ASSERT_EQ(guess.streams.size(), 3u);
  EXPECT_TRUE(guess.has_ids);
  EXPECT_TRUE(guess.whole_file);
  EXPECT_EQ(guess.streams[0].spec.name, "w");
  EXPECT_EQ(guess.streams[0].spec.storage, Storage::sparse);
  EXPECT_EQ(guess.streams[0].spec.dim, 8u);
  EXPECT_TRUE(guess.streams[0].one_hot);
  EXPECT_EQ(guess.streams[0].samples, 3u);
  EXPECT_EQ(guess.streams[1].spec.storage, Storage::dense);
  EXPECT_EQ(guess.streams[1].spec.dim, 3u);
  EXPECT_FALSE(guess.streams[1].integral);
  EXPECT_EQ(guess.streams[1].min, -3);
  EXPECT_EQ(guess.streams[1].max, 4);
  EXPECT_EQ(guess.streams[1].values, 4u);
  EXPECT_EQ(guess.streams[2].spec.dim, 1u);
}

// As they are read: a sign behind a digit begins the next value, whose point needs a digit before it then.
TEST(Infer, ValuesWithoutBlanksBetweenThem) {
  const ScratchFolder folder;
  const Inferred guess = infer(folder.write("t", "1 |x 1-2+3 4-5 \n2 |x 4 5 6 .5 -.5\n3 |y 1:2-3:4\n4 |z 1-.5\n"));
  ASSERT_EQ(guess.streams.size(), 3u);
  EXPECT_EQ(guess.streams[0].spec.dim, 5u);
  EXPECT_EQ(guess.streams[0].values, 10u);
  EXPECT_EQ(guess.streams[0].min, -5);
  EXPECT_EQ(guess.streams[1].values, 0u) << "an index has no sign";
  EXPECT_EQ(guess.streams[2].values, 1u) << "'.5' is refused there";
}

TEST(Infer, ANameThatIsTooLongIsNotLost) {
  const ScratchFolder folder;
  const std::string path = folder.write("t", "|x 1 |" + std::string(5000, 'n') + " 1 2\n");
  Limits limits;
  limits.name_bytes = 10;
  const Inferred guess = infer(path, ~0ull, limits);
  ASSERT_EQ(guess.streams.size(), 2u);
  EXPECT_EQ(guess.streams[1].spec.name, std::string(11, 'n'));  // which no source takes
  EXPECT_EQ(guess.streams[1].values, 2u);
  limits.name_bytes = 5000;
  EXPECT_EQ(infer(path, ~0ull, limits).streams.at(1).spec.name.size(), 5000u);
}

TEST(Infer, APartOfAFile) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "|x 1 2 3\n";
  const Inferred guess = infer(folder.write("t", text + "|y 1\n"), 4000);
  EXPECT_FALSE(guess.whole_file);
  EXPECT_FALSE(guess.has_ids);
  ASSERT_EQ(guess.streams.size(), 1u);
  EXPECT_EQ(guess.streams[0].samples, 444u);
}

std::string describe(const Inferred& guess) {
  std::string out = std::string(guess.has_ids ? "ids" : "lines") + (guess.whole_file ? "" : " part");
  for (const Inferred::Stream& s : guess.streams) {
    out += "\n" + s.spec.name + (s.spec.storage == Storage::sparse ? " sparse " : " dense ") +
           std::to_string(s.spec.dim) + ' ' + std::to_string(s.samples) + ' ' + std::to_string(s.values) + ' ' +
           std::to_string(s.min) + ' ' + std::to_string(s.max) + (s.integral ? " integral" : "") +
           (s.one_hot ? " one-hot" : "") + " of " + std::to_string(s.sequences) + " first " +
           std::to_string(s.first_byte);
  }
  out += "\n" + std::to_string(guess.sequences);
  return out;
}

// Lines of many shapes, long and short, with damage here and there.
std::string lines(std::uint64_t seed, int n) {
  std::mt19937_64 draw(seed);
  std::string text;
  for (int i = 0; i < n; ++i) {
    text += std::to_string(i / 3);
    if (draw() % 3 != 0) text += "\t|w " + std::to_string(draw() % 50'000) + ":1";
    if (draw() % 4 != 0) {
      text += " |x";
      for (int v = draw() % 9 == 0 ? 3000 : 20; v > 0; --v) text += ' ' + std::to_string(draw() % 2000) + ".25";
    }
    if (draw() % 5 == 0) text += " |# |no 1 2";
    if (draw() % 7 == 0) text += " |late" + std::to_string(draw() % 4) + " -0 1e-3 7";
    if (draw() % 50 == 0) text += " |x 1 oops 2";
    if (draw() % 60 == 0) text += " |w 3:2  9:4\t5:6 7";
    text += draw() % 30 == 0 ? "\r\n" : "\n";
  }
  return text;
}

TEST(Infer, RangesReadAtOnceSeeTheSame) {
  const ScratchFolder folder;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::string path = folder.write("t", lines(seed, 200 + static_cast<int>(seed)));
    const std::string one = describe(infer(path, ~0ull, {}, {.threads = 1}));
    for (const unsigned threads : {2u, 3u, 8u})
      EXPECT_EQ(describe(infer(path, ~0ull, {}, {.threads = threads, .least_bytes = 16})), one) << seed;
    const std::string part = describe(infer(path, 20'000, {}, {.threads = 1}));
    EXPECT_EQ(describe(infer(path, 20'000, {}, {.threads = 4, .least_bytes = 16})), part) << seed;
  }
}

TEST(Infer, SequencesThatHaveAStream) {
  const ScratchFolder folder;
  const Inferred ids = infer(folder.write("t", "7 |a 1 |b 1\n7 |a 2 |b 2\n|a 3\n 8 |a 4\n9 |# none\n7 |b 3 |b 4\n"));
  EXPECT_EQ(ids.sequences, 4u);
  ASSERT_EQ(ids.streams.size(), 2u);
  EXPECT_EQ(ids.streams[0].sequences, 2u);
  EXPECT_EQ(ids.streams[1].sequences, 2u);
  EXPECT_EQ(ids.streams[1].first_byte, 7u);
  const Inferred lines = infer(folder.write("u", "|a 1 |b 1\n|# none\n|a 2\n\n|a 3 |a 4\n"));
  EXPECT_EQ(lines.sequences, 3u);
  EXPECT_EQ(lines.streams[0].sequences, 3u);
  EXPECT_EQ(lines.streams[1].sequences, 1u);
}

// What a reader of numbers would take from the front of them comes again and again.
TEST(Infer, IdsThatBeginWithADigitAreWords) {
  const ScratchFolder folder;
  const auto are_words = [&](const std::string& text) {
    const std::string path = folder.write("t", text);
    const Inferred one = infer(path);
    for (const unsigned threads : {2u, 5u, 30u})
      EXPECT_EQ(infer(path, ~0ull, {}, {.threads = threads, .least_bytes = 1}).text_ids, one.text_ids) << text;
    return one.text_ids;
  };
  EXPECT_TRUE(are_words("1089-134686-0000 |a 1\n1089-134686-0000 |a 2\n1089-134686-0001 |a 3\n"));
  EXPECT_TRUE(are_words("7 |a 1\n3f2a|a 1\n |a 2\n77b0\t|a 3\n"));
  EXPECT_TRUE(are_words("18446744073709551616 |a 1\n18446744073709551617 |a 1\n")) << "above 2^64 - 1";
  EXPECT_FALSE(are_words("1|a 1\n18446744073709551615 |a 1\n007\r\n |a 2\n|a 3\n"));
  EXPECT_FALSE(are_words("1 |a 1\n1 |a 2\n2x |a 3\n2x |a 4\n2x |a 5\n3 |a 6\n")) << "a slip, in one sequence of three";
}

TEST(Infer, OneLongLineIsReadByOneRange) {
  testing::CountedFiles files;
  std::string& text = files.content["mem://t.ctf"];
  while (text.size() < (std::size_t{2} << 20)) text += "|A 1 2 3 4\r";
  const io::File file("mem://t.ctf", files.file_system());
  EXPECT_EQ(ctf::infer(file, ~0ull, {}, {}, {.threads = 16, .least_bytes = 1}).streams.at(0).spec.dim, 4u);
  EXPECT_LT(files.bytes_read, 4 * text.size());
}

// More ranges than lines: most hold none.
TEST(Infer, RangesWithoutALine) {
  const ScratchFolder folder;
  const std::string path = folder.write("t", "|x 1 2 3\n|x 4 5 6\n");
  EXPECT_EQ(describe(infer(path, ~0ull, {}, {.threads = 19, .least_bytes = 1})), describe(infer(path)));
}

}  // namespace
}  // namespace batchfeed::ctf
