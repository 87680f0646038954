// SPDX-License-Identifier: MIT
#include <batchfeed/tools.h>
#include <gtest/gtest.h>

#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;

Format detected(const std::string& bytes, const std::string& name = "file") {
  const ScratchFolder folder;
  return detect_format(folder.write(name, bytes));
}

struct Case {
  std::string bytes;
  Format is;
};

TEST(DetectFormat, TextByItsLines) {
  for (const auto& [bytes, is] : std::vector<Case>{
           {"0 |a 1 2\n", Format::ctf},
           {"|# a comment\n|a 1:2\n", Format::ctf},
           {"\xEF\xBB\xBF|a 1\n", Format::ctf},
           {"utt-1 |a 1\r\nutt-1 |a 2\r\n", Format::ctf},
           {"# words\nTrain = [\n  reader = [\n    file = \"x|y\"\n  ]\n]\n", Format::config},
           {"include \"other.cntk\"\n", Format::config},
           {"precision = float\ncommand = [ a ]\ndir=\n", Format::config},
           {"key=[ a = 1 ]\n", Format::config},
           {"a_b.c=word\n", Format::config},
           {"#!MLF!#\n\"*/a.lab\"\n", Format::mlf},
           {"a.mfc=store.chunk[0,99]\nb.mfc=store.chunk[100,149]\n", Format::scp},
           {"u=a.chunk[0,9]\nv=a.chunk[10,19]\n", Format::scp},
           {"d-e/x=a.chunk[0,9]\n", Format::scp},
           {"data/a.mfc\ndata/b.mfc\n", Format::scp},
           {"a.mfc\nb.mfc\n", Format::scp},
           {"/data/of speaker 1/a\n", Format::scp},
           {"u1 /data/a.ark:12\nu2 /data/a.ark:99[0:3]\n", Format::kaldi},
           {"u1  [\n  1 2\n  3 4 ]\n", Format::kaldi},
           {"u1 [ 1 2 ]\nu2 [ 3 4 ]\n", Format::kaldi},
           {"1 3:1\n-1 2:0.5\n", Format::unknown},  // svmlight
           {"1 data/3:1\n2 data/3:15\n", Format::kaldi},
           {"utt1 0 0 1 2\nutt2 3\n", Format::kaldi},
       })
    EXPECT_EQ(detected(bytes), is) << bytes;
}

TEST(DetectFormat, TextOfNoneOfThem) {
  for (const char* text : {
           "",
           "\n\n \r\n",
           "hello\n",
           "hello world of words\n",
           "1 2 3\n4 5 6\n",  // numbers without a key
           "0.1 0.2\n0.3 -4e-1\n",
           "1.5\n2.5\n",
           "1\t1.5\n2\t2.5\n",  // numbers with a dot are no paths
           "id,weight,file\n1,0.5,a/b.wav\n2,1.5,c.wav\n",
           "1\t0.5\ta.b\n",
           "1.5;x\n",  // a row of a table is no path
           "One sentence. Another one.\n",
           "a|\nb|\n",    // no name behind the bar
           "{x} |v 1\n",  // not an id in front of the bar
           "0 | v 1\n",   // a blank instead of a name
           "\x01|v 1\n",
           "0 |v\x7f\x02 1\n",
           "<a href=\"b\">\n{\"a\": 1}\n",
           "= 5\n",
           "\xC3\xA4 = 5 |\n",
           "name -> [a/b]\n",
           "u2 \"a/b\n",
           "|a 1\none\ntwo\nthree\n",  // only one line in four fits
       })
    EXPECT_EQ(detected(text), Format::unknown) << text;
}

// Only the first lines are looked at, and the format of the majority of them decides.
TEST(DetectFormat, ManyLinesAreNotNeeded) {
  std::string lines;
  for (int i = 0; i < 64; ++i) lines += "|a 1\n";
  for (int i = 0; i < 1000; ++i) lines += "words and no data\n";
  EXPECT_EQ(detected(lines), Format::ctf);
  EXPECT_EQ(detected("|a 1\nwords of nobody\n|a 2\n"), Format::ctf);
}

TEST(DetectFormat, BinaryByItsFirstBytes) {
  for (const auto& [bytes, is] : std::vector<Case>{
           {"nib_ktnc\1", Format::cbf},
           {std::string("\1\0\0\0\0\0\0\0more", 12), Format::cbf},
           {std::string("MLF\1\0rest", 9), Format::mlf},
           {std::string("MLF\2\0rest", 9), Format::mlf},
           {std::string("utt1 \0BFM \4", 11), Format::kaldi},
           {std::string("\0BFM \4", 6), Format::kaldi},  // a matrix without a key
           {std::string("MLF\3\0rest", 9), Format::unknown},
           {std::string("two\nlines \0BFM", 14), Format::unknown},  // a key cannot hold a line end
           {"\xff\xd8\xff\xe0 picture", Format::unknown},
       })
    EXPECT_EQ(detected(bytes), is) << bytes;
}

TEST(DetectFormat, ParameterFilesByASizeThatFits) {
  const auto file = [](std::uint32_t samples, std::uint16_t each, std::uint16_t kind, std::size_t data) {
    return be32(samples) + be32(100'000) + be16(each) + be16(kind) + std::string(data, '\x7f');
  };
  EXPECT_EQ(detected(htk_file(ramp(4))), Format::htk);
  EXPECT_EQ(detected(htk_file(ramp(4), {.big_endian = false})), Format::htk);
  EXPECT_EQ(detected(file(2, 4, 9, 8)), Format::htk);
  EXPECT_EQ(detected(file(2, 4, 9, 8 + 64)), Format::htk) << "a checksum and the like may follow";
  for (const std::string& bytes : {file(2, 4, 9, 7), file(2, 4, 9, 8 + 65), file(0, 4, 9, 0), file(2, 0, 9, 0),
                                   file(2, 4, 14, 8), file(0xFFFFFFFF, 0xFFFF, 9, 8), std::string("\0\0\0\1", 4)})
    EXPECT_EQ(detected(bytes), Format::unknown) << bytes.size();
}

TEST(DetectFormat, ByNameWhereBytesDoNotDecide) {
  EXPECT_EQ(detected("", "x.ctf"), Format::ctf);
  EXPECT_EQ(detected("cut", "h.mfc"), Format::htk);
  EXPECT_EQ(detected("cut", "a.cbf"), Format::cbf);
  EXPECT_EQ(detected("cut", "a.ark"), Format::kaldi);
  EXPECT_EQ(detected("cut", "a.cntk"), Format::config);
  for (const char* name : {"h.htk", "h.fea", "h.plp"}) EXPECT_EQ(detected("cut", name), Format::htk) << name;
  EXPECT_EQ(detected("u.mfc = a.chunk [0,9]\n\n# no comment\n", "i.scp"), Format::scp);
  EXPECT_EQ(detected("u=a.chunk[0,9\n", "j.scp"), Format::scp);
  EXPECT_EQ(detected("cut", "a.ctf.gz"), Format::ctf) << "the name inside counts";
  EXPECT_EQ(detected("cut", "a.mlf.zst"), Format::mlf);
  EXPECT_EQ(detected("cut", "a.gz"), Format::unknown);
  EXPECT_EQ(detected("\xff\xd8\xff\xe0 picture", "x.jpg"), Format::unknown);
}

TEST(DetectFormat, ShardsAreOfOneFormat) {
  const ScratchFolder folder;
  const std::string text = folder.write("a.ctf", "0 |x 1\n"), binary = folder.write("b", "nib_ktnc"),
                    other = folder.write("c", "words");
  EXPECT_EQ(detect_format({text, text, other}), Format::ctf) << "what it is, its reader says";
  EXPECT_EQ(detect_format({other, text, binary}), Format::unknown);
  try {
    detect_format({text, text, binary});
    FAIL() << "taken for shards";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "infer.mixed-formats");
    EXPECT_EQ(error.fault().at.file, binary);
    EXPECT_EQ(error.fault().what, "is in the binary format, '" + text + "' in the text format");
  }
  EXPECT_THROW(detect_format({binary, text}), Error);
}

TEST(DetectFormat, RefusesWhatIsNoFile) {
  const ScratchFolder folder;
  EXPECT_THROW(detect_format(folder.path()), Error);
  EXPECT_THROW(detect_format(folder / "nowhere"), Error);
}

TEST(DetectFormat, EveryFormatHasAName) {
  const std::pair<Format, std::string_view> names[] = {
      {Format::unknown, "unknown"}, {Format::ctf, "ctf"}, {Format::cbf, "cbf"},     {Format::htk, "htk"},
      {Format::scp, "scp"},         {Format::mlf, "mlf"}, {Format::kaldi, "kaldi"}, {Format::config, "config"}};
  for (const auto& [format, expected] : names) EXPECT_EQ(name(format), expected);
}

TEST(DetectFormat, FirstBytesSayWhetherThereAreMore) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "0123456789");
  EXPECT_EQ(first_bytes(path, 4).bytes, "0123");
  EXPECT_FALSE(first_bytes(path, 4).whole);
  EXPECT_FALSE(first_bytes(path, 4).compressed);
  EXPECT_EQ(first_bytes(path, 100).bytes, "0123456789");
  EXPECT_TRUE(first_bytes(path, 100).whole);
  EXPECT_TRUE(first_bytes(folder.write("b", ""), 100).bytes.empty());
}

}  // namespace
}  // namespace batchfeed
