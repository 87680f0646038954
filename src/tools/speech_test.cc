// SPDX-License-Identifier: MIT
//
// Speech files read without a configuration, and written by convert.
#include "support/speech.h"

#include <batchfeed/convert.h>
#include <batchfeed/split.h>
#include <batchfeed/subset.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "tools/testing.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::binary_source;
using ::batchfeed::testing::content_of;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::le16;
using ::batchfeed::testing::le32;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::refusal;
using ::batchfeed::testing::ScratchFolder;

const std::string kMlf =
    "#!MLF!#\n\"*/d/u.lab\"\n0 200000 sil\n200000 300000 b\n.\n\"*/v.lab\"\n0 100000 b\n100000 300000 sil\n.\n";

// Infers the sources of the files and opens them, as the command does.
std::unique_ptr<Source> inferred(const std::vector<std::string>& files, const std::string& states = {}) {
  Setup setup;
  setup.sources = infer_speech(files, states);
  setup.reader.keys = KeyMode::text;
  return open_sources(setup);
}
std::unique_ptr<Source> text_source(const std::string& file, std::vector<StreamSpec> streams) {
  CtfOptions options;
  options.files = {file};
  options.streams = std::move(streams);
  return open_source(options);
}
std::vector<std::string> keys_of(const Source& source) {
  std::vector<std::string> out;
  std::vector<SequenceInfo> table;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    source.sequences(c, table);
    for (const SequenceInfo& s : table) out.push_back(source.key_text(s.key));
  }
  return out;
}

struct Corpus {
  ScratchFolder folder;
  std::string archive = folder.write("in.htk", htk_file(ramp(12), {.dim = 2}));
  std::string scp = folder.write("in.scp", "d/u.htk=" + archive + "[0,2]\nv.htk=" + archive + "[3,5]\n");
  std::string mlf = folder.write("in.mlf", kMlf);
  std::string states = folder.write("states", "a\nb\nsil\n");
};

TEST(SpeechConvert, HtkToBinaryToHtkIsTheIdentity) {
  const Corpus c;
  convert(*inferred({c.scp}), c.folder / "x.cbf", {.verify = true});
  const ConvertResult result =
      convert(*binary_source(c.folder / "x.cbf"), c.folder / "y.scp", {.to = Format::scp, .verify = true});
  EXPECT_EQ(result.sequences, 2u);
  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.bytes, content_of(c.folder / "y.scp").size() + content_of(c.folder / "y.htk").size());
  EXPECT_EQ(content_of(c.folder / "y.htk"), content_of(c.archive));
  EXPECT_EQ(content_of(c.folder / "y.scp"), "d/u.htk=.../y.htk[0,2]\nv.htk=.../y.htk[3,5]\n");
}

TEST(SpeechConvert, FilesOfASourceAreThoseOfItsRows) {
  const Corpus c;
  for (const auto& source : {inferred({c.scp}), inferred({c.scp, c.mlf}, c.states)}) {
    std::vector<std::string> files = source->files();
    EXPECT_EQ(std::erase(files, c.scp), 1u) << "the list, too";
    std::sort(files.begin(), files.end());
    EXPECT_EQ(files, source->Source::files());
  }
}

TEST(SpeechConvert, DoesNotReplaceAListByAPartOfWhatItNames) {
  const Corpus c;
  const std::string text = "u.htk=" + c.archive + "[0,2]\nv.htk=" + c.archive + "[3,5]\n";
  const std::string list = c.folder.write("list.scp", text);
  const std::shared_ptr<const Source> whole = inferred({list});
  EXPECT_EQ(refusal(*subset(whole, {{0}}), list, {.to = Format::scp, .force = true, .part = true}),
            "convert.part-of-source");
  const auto apart = [&] {
    split(*whole, {{0, 1}}, {c.folder / "x.scp", list}, {Format::scp, Format::scp}, {.force = true});
  };
  EXPECT_EQ(::batchfeed::testing::id_of(apart), "convert.part-of-source");
  EXPECT_EQ(content_of(list), text);
  EXPECT_EQ(refusal(*subset(whole, {{0}}), c.folder / "in.scp", {.to = Format::scp, .force = true, .part = true}),
            "convert.part-of-source")
      << "the features would lie in what is read";
}

TEST(SpeechConvert, DoesNotReplaceFeaturesByThoseThatAnotherListNames) {
  const Corpus c;
  const std::string whole = content_of(c.archive);
  const std::string part = c.folder.write("part.scp", "u.htk=" + c.archive + "[0,2]\n");
  EXPECT_EQ(refusal(*inferred({part}), c.scp, {.to = Format::scp, .force = true}), "convert.part-of-source");
  EXPECT_EQ(refusal(*inferred({part}), c.archive, {.to = Format::htk, .force = true}), "convert.part-of-source");
  EXPECT_EQ(content_of(c.archive), whole);
  convert(*inferred({c.scp}), c.scp, {.to = Format::scp, .force = true});
  EXPECT_EQ(content_of(c.archive), whole);
}

// Also bits that are NaN.
TEST(SpeechConvert, AnyBitsSurviveHtkToBinaryToHtk) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& bits) {
    RC_PRE(!bits.empty());
    std::vector<float> values(bits.size());
    std::memcpy(values.data(), bits.data(), 4 * bits.size());
    const ScratchFolder folder;
    const std::string archive = folder.write("a.htk", htk_file(values));
    const std::string scp = folder.write("a.scp", "u.htk=" + archive + "[0," + std::to_string(bits.size() - 1) + "]\n");
    convert(*inferred({scp}), folder / "b.cbf", {});
    convert(*binary_source(folder / "b.cbf"), folder / "c.scp", {.to = Format::scp});
    RC_ASSERT(content_of(folder / "c.htk") == content_of(archive));
  }));
}

TEST(SpeechConvert, KaldiMatricesBecomeHtkFeatures) {
  const ScratchFolder folder;
  const auto size = [](std::uint32_t n) { return "\4" + le32(n); };
  std::string ark = "u " + std::string("\0BFM ", 5) + size(2) + size(2);
  for (const float v : {1.5f, -0.0f, 3e38f, 1e-45f}) ark += le32(std::bit_cast<std::uint32_t>(v));
  const std::string path = folder.write("a.ark", ark);
  convert(*inferred({path}), folder / "b.scp", {.to = Format::scp, .verify = true});
  EXPECT_EQ(content_of(folder / "b.htk"), be32(2) + be32(100'000) + be16(8) + be16(9) + be32(0x3FC00000) +
                                              be32(0x80000000) + be32(std::bit_cast<std::uint32_t>(3e38f)) + be32(1));
  EXPECT_EQ(content_of(folder / "b.scp"), "u.htk=.../b.htk[0,1]\n");
}

TEST(SpeechConvert, LabelsKeepTheirNamesTimesAndOrder) {
  const Corpus c;
  const auto source = inferred({c.mlf}, c.states);
  convert(*source, c.folder / "o.mlf", {.to = Format::mlf, .labels = {"a", "b", "sil"}, .verify = true});
  EXPECT_EQ(content_of(c.folder / "o.mlf"), kMlf);
  convert(*source, c.folder / "numbers.mlf", {.to = Format::mlf, .verify = true});
  EXPECT_EQ(content_of(c.folder / "numbers.mlf").substr(0, 60),
            "#!MLF!#\n\"*/d/u.lab\"\n0 200000 2 2\n200000 300000 1 1\n.\n\"*/v.la");
  convert(*source, c.folder / "b.mlf", {.to = Format::mlf, .binary_labels = true, .verify = true});
  convert(*inferred({c.folder / "b.mlf"}), c.folder / "back.mlf",
          {.to = Format::mlf, .labels = {"a", "b", "sil"}, .verify = true});
  EXPECT_EQ(content_of(c.folder / "back.mlf"), kMlf);
}

TEST(SpeechConvert, PhoneBoundariesSurvive) {
  const ScratchFolder folder;
  const std::string text = "#!MLF!#\n\"*/u.lab\"\n0 100000 0 0\n100000 300000 0 0\n300000 400000 1 1\n.\n";
  MlfOptions options{.name = "l", .files = {folder.write("a.mlf", text)}, .dim = 2, .phone_boundaries = true};
  const auto source = open_source(options, {}, {}, KeyMode::text);
  convert(*source, folder / "b.mlf", {.to = Format::mlf, .verify = true});
  EXPECT_EQ(content_of(folder / "b.mlf"), text);
}

TEST(SpeechConvert, TextOfAnyStreamBecomesFeaturesOrLabels) {
  const ScratchFolder folder;
  const std::string file =
      folder.write("a.ctf", "4 |F 1 2 |S 1:1 0:0 |D 1 0\n4 |F 3 4 |S 1:1 |D 0 1\n9 |F 5 6 |S 0:1 |D 0 1\n");
  const auto source = text_source(
      file, {{.name = "F", .dim = 2}, {.name = "S", .storage = Storage::sparse, .dim = 2}, {.name = "D", .dim = 2}});
  EXPECT_EQ(refusal(*source, folder / "x.scp", {.to = Format::scp}), "convert.one-stream");
  convert(*source, folder / "f.scp",
          {.to = Format::scp, .streams = {"F"}, .frame_period = 50'000, .parameter_kind = 7});
  EXPECT_EQ(content_of(folder / "f.htk"), htk_file(ramp(6), {.dim = 2, .period = 50'000, .kind = 7}));
  convert(*source, folder / "s.scp", {.to = Format::scp, .streams = {"S"}, .keys = ConvertOptions::Keys::number});
  EXPECT_EQ(content_of(folder / "s.htk"), htk_file({0, 1, 0, 1, 1, 0}, {.dim = 2}));
  EXPECT_EQ(content_of(folder / "s.scp"), "0.htk=.../s.htk[0,1]\n1.htk=.../s.htk[2,2]\n");
  convert(*source, folder / "l.mlf", {.to = Format::mlf, .streams = {"S"}, .verify = true});
  EXPECT_EQ(content_of(folder / "l.mlf"), "#!MLF!#\n\"*/4.lab\"\n0 200000 1 1\n.\n\"*/9.lab\"\n0 100000 0 0\n.\n");
  convert(*source, folder / "d.mlf", {.to = Format::mlf, .streams = {"D"}, .verify = true});
  EXPECT_EQ(content_of(folder / "d.mlf"),
            "#!MLF!#\n\"*/4.lab\"\n0 100000 0 0\n100000 200000 1 1\n.\n\"*/9.lab\"\n0 100000 1 1\n.\n");
  EXPECT_EQ(refusal(*source, folder / "l2.mlf", {.to = Format::mlf, .streams = {"F"}}), "convert.not-labels");
}

TEST(SpeechConvert, SparseFeaturesReadBackWithTheirZeros) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", "1 |S 3:1 0:2 3:5\n1 |S\n2 |S 1:4\n"),
                                  {{.name = "S", .storage = Storage::sparse, .dim = 4}});
  EXPECT_TRUE(convert(*source, folder / "s.scp", {.to = Format::scp, .verify = true}).verified);
  EXPECT_EQ(content_of(folder / "s.htk"), htk_file({2, 0, 0, 5, 0, 0, 0, 0, 0, 4, 0, 0}, {.dim = 4}));
  EXPECT_TRUE(convert(*source, folder / "t.scp", {.to = Format::scp, .shuffle = 1, .verify = true}).verified);
}

TEST(SpeechConvert, AFileForEachUtteranceAndOneAlone) {
  const Corpus c;
  const auto source = inferred({c.scp});
  convert(*source, c.folder / "o.scp", {.to = Format::scp, .file_for_each_sequence = true, .verify = true});
  EXPECT_EQ(content_of(c.folder / "o.htk/d/u.htk"), htk_file(ramp(6), {.dim = 2}));
  EXPECT_EQ(refusal(*source, c.folder / "one.htk", {.to = Format::htk}), "htk.write-single");
  EXPECT_FALSE(std::filesystem::exists(c.folder / "one.htk"));
  const auto alone = inferred({c.folder / "o.htk/v.htk"});
  EXPECT_EQ(keys_of(*alone), std::vector<std::string>{c.folder / "o.htk/v"});
  convert(*alone, c.folder / "one.htk", {.to = Format::htk, .verify = true});
  EXPECT_EQ(content_of(c.folder / "one.htk"), content_of(c.folder / "o.htk/v.htk"));
}

TEST(SpeechConvert, RefusesWhatWouldLoseSomething) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", "1 |F 0 1\n2 |F 1 2\n1 |F 1 1\n"), {{.name = "F", .dim = 2}});
  const std::string scp = folder / "x.scp";
  EXPECT_EQ(refusal(*source, scp, {.to = Format::scp}), "convert.same-key");
  EXPECT_EQ(refusal(*source, scp, {.to = Format::scp, .keys = ConvertOptions::Keys::none}), "convert.needs-keys");
  EXPECT_EQ(refusal(*source, folder / "x.mlf", {.to = Format::mlf}), "convert.not-labels");
  EXPECT_EQ(refusal(*source, folder / "x", {.to = Format::kaldi}), "convert.format");
  CtfOptions doubles;
  doubles.files = {folder / "a.ctf"};
  doubles.streams = {{.name = "F", .dim = 2}};
  doubles.element = Element::f64;
  EXPECT_EQ(refusal(*open_source(doubles), scp, {.to = Format::scp}), "convert.doubles");
  folder.write("x.htk", "precious");
  EXPECT_EQ(refusal(*source, scp, {.to = Format::scp, .keys = ConvertOptions::Keys::number}), "convert.exists");
  EXPECT_EQ(content_of(folder / "x.htk"), "precious");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.ctf", "x.htk"}));
}

TEST(SpeechConvert, BoundariesAreEverywhereOrNowhere) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", "1 |S 0:2\n2 |S 1:2\n2 |S 0:1\n"),
                                  {{.name = "S", .storage = Storage::sparse, .dim = 2}});
  EXPECT_EQ(refusal(*source, folder / "x.mlf", {.to = Format::mlf}), "convert.boundaries");
}

TEST(SpeechConvert, TheSameBytesWithAnyNumberOfThreads) {
  const ScratchFolder folder;
  std::string text;
  for (int s = 0; s < 500; ++s) {
    for (int r = 0; r <= s % 7; ++r) text += std::to_string(s) + " |F " + std::to_string(s * r) + "\n";
  }
  CtfOptions options;
  options.files = {folder.write("a.ctf", text)};
  options.streams = {{.name = "F", .dim = 1}};
  options.chunk_bytes = 300;
  const auto source = open_source(options);
  convert(*source, folder / "one.scp", {.to = Format::scp, .jobs = 1});
  convert(*source, folder / "four.scp", {.to = Format::scp, .jobs = 4});
  EXPECT_EQ(content_of(folder / "one.htk"), content_of(folder / "four.htk"));
  convert(*source, folder / "shuffled.scp", {.to = Format::scp, .shuffle = 1, .jobs = 4, .verify = true});
  EXPECT_NE(content_of(folder / "one.htk"), content_of(folder / "shuffled.htk"));
}

TEST(InferSpeech, JoinsFeaturesAndLabelsByKey) {
  const Corpus c;
  const auto source = inferred({c.mlf, c.scp}, c.states);  // features first, in any order
  ASSERT_EQ(source->streams().size(), 2u);
  EXPECT_EQ(source->streams()[0].name, "features");
  EXPECT_EQ(source->streams()[1].dim, 3u);
  EXPECT_EQ(keys_of(*source), (std::vector<std::string>{"d/u", "v"}));
}

TEST(InferSpeech, NamesOrNumbersOfLabelsGiveTheClasses) {
  const Corpus c;
  const auto named = infer_speech({c.mlf});
  EXPECT_EQ(std::get<MlfOptions>(named[0]).labels, (std::vector<std::string>{"b", "sil"}));
  EXPECT_EQ(std::get<MlfOptions>(named[0]).dim, 2u);
  const auto numbered = infer_speech({c.folder.write("n.mlf", "#!MLF!#\n\"u\"\n0 3 x 6\n3 4 y 2\n.\n")});
  EXPECT_TRUE(std::get<MlfOptions>(numbered[0]).labels.empty());
  EXPECT_EQ(std::get<MlfOptions>(numbered[0]).dim, 7u);
  EXPECT_EQ(read_state_list(c.states), (std::vector<std::string>{"a", "b", "sil"}));
}

TEST(InferSpeech, TellsAlignmentsFromMatricesAndBinaryLabelsFromText) {
  const ScratchFolder folder;
  const std::string ints = folder.write("a.ark", "u 0 3 1\nv 2\n");
  const auto alignment = infer_speech({ints});
  EXPECT_TRUE(std::get<KaldiOptions>(alignment[0]).alignment);
  EXPECT_EQ(std::get<KaldiOptions>(alignment[0]).dim, 4u);
  const auto matrix = infer_speech({folder.write("m.ark", "u  [\n 1 2\n 3 4 ]\n")});
  EXPECT_FALSE(std::get<KaldiOptions>(matrix[0]).alignment);
  const std::string bin =
      folder.write("b.mlf", std::string("MLF\2\0", 5) + le16(1) + "u" + le32(3) + le16(1) + le16(8) + le16(3));
  const auto binary = infer_speech({bin});
  EXPECT_TRUE(std::get<MlfOptions>(binary[0]).binary);
  EXPECT_EQ(std::get<MlfOptions>(binary[0]).dim, 9u);
  for (const auto& files :
       {std::vector<std::string>{bin, folder.write("t.mlf", kMlf)}, {bin, folder.write("x.ctf", "0 |F 1\n")}}) {
    try {
      infer_speech(files);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_TRUE(e.fault().id == "mlf.mixed" || e.fault().id == "infer.mixed") << e.fault().id;
    }
  }
}

TEST(DescribeSpeech, TellsKindsTimesAndHowOftenEachClassOccurs) {
  const Corpus c;
  batchfeed::Setup setup;
  setup.sources = infer_speech({c.scp, c.mlf}, c.states);
  setup.reader.keys = KeyMode::text;
  const std::vector<SpeechStream> all = describe_speech(setup);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, "USER");
  EXPECT_EQ(all[0].frames, 6u);
  EXPECT_EQ(all[0].files, 1u);
  EXPECT_DOUBLE_EQ(all[0].frame_seconds, 0.01);
  EXPECT_FALSE(all[0].has_labels);
  ASSERT_EQ(all[1].labels.size(), 3u);
  EXPECT_EQ(all[1].labels[0].name, "a");
  EXPECT_EQ(all[1].labels[0].frames, 0u);
  EXPECT_EQ(all[1].labels[1].frames, 2u);
  EXPECT_EQ(all[1].labels[1].segments, 2u);
  EXPECT_EQ(all[1].labels[2].frames, 4u);
}

TEST(DescribeSpeech, BinaryLabelsGivenNamesAlignmentsAndOtherSources) {
  const Corpus c;
  convert(*inferred({c.mlf}, c.states), c.folder / "b.mlf", {.to = Format::mlf, .binary_labels = true});
  MlfOptions binary{
      .name = "l", .files = {c.folder / "b.mlf"}, .binary = true, .labels = {"a", "b", "sil", "more"}, .dim = 3};
  KaldiOptions alignment;
  alignment.name = "k";
  alignment.files = {c.folder.write("ali.txt", "u 0 0 1\nv 1\n")};
  alignment.alignment = true;
  alignment.dim = 2;
  KaldiOptions features;
  features.name = "f";
  features.files = {c.folder.write("f.txt", "u  [\n  1 2\n  3 4 ]\n")};
  HtkOptions timeless;
  timeless.name = "h";
  timeless.files = {c.folder.write("t.htk", htk_file(ramp(4), {.dim = 2, .period = 0}))};
  timeless.dim = 2;
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.sources = {binary, alignment, features, timeless};
  CtfOptions text;
  text.files = {c.folder.write("a.ctf", "u |x 1\n")};
  text.streams = {{.name = "x", .dim = 1}};
  setup.sources.emplace_back(text);
  const std::vector<SpeechStream> all = describe_speech(setup);
  ASSERT_EQ(all.size(), 4u) << "text is no speech";
  EXPECT_EQ(all[0].kind, "binary MLF");
  ASSERT_EQ(all[0].labels.size(), 3u);
  EXPECT_EQ(all[0].labels[2].name, "sil");
  EXPECT_EQ(all[1].kind, "Kaldi");
  EXPECT_TRUE(all[1].has_labels);
  EXPECT_EQ(all[1].labels.at(1).frames, 2u);
  EXPECT_EQ(all[1].labels.at(1).segments, 2u);
  EXPECT_FALSE(all[2].has_labels);
  EXPECT_EQ(all[2].frames, 2u);
  EXPECT_DOUBLE_EQ(all[3].frame_seconds, 0.01) << "where the file does not say, ten milliseconds";
}

TEST(DescribeSpeech, AClassOfALargeNumberTakesNoMemoryForThoseBelow) {
  const ScratchFolder folder;
  KaldiOptions alignment;
  alignment.name = "k";
  alignment.files = {folder.write("ali.txt", "u 0 2000000000\n")};
  alignment.alignment = true;
  alignment.dim = 2'000'000'001;
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.sources = {alignment};
  const std::vector<SpeechStream> all = describe_speech(setup);
  EXPECT_TRUE(all.at(0).has_labels);
  EXPECT_EQ(all[0].classes, 2'000'000'001u);
  EXPECT_TRUE(all[0].labels.empty());
}

TEST(DescribeSpeech, CountsUtterancesByLength) {
  const ScratchFolder folder;
  std::string text;
  for (const int length : {3, 4, 60, 70}) {
    for (int i = 0; i < length; ++i) text += std::to_string(length) + " |F 1\n";
  }
  const auto source = text_source(folder.write("a.ctf", text), {{.name = "F", .dim = 1}});
  const std::vector<Description::Step> steps = describe(*source).steps;
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].most, 5u);
  EXPECT_EQ(steps[0].sequences, 2u);
  EXPECT_EQ(steps[1].sequences, 0u);
  EXPECT_EQ(steps[4].most, 100u);
  EXPECT_EQ(steps[4].sequences, 2u);
}

}  // namespace
}  // namespace batchfeed
