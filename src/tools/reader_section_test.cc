// SPDX-License-Identifier: MIT
//
// A configuration with a reader section that was written gives the same setup back.
#include <batchfeed/config.h>
#include <batchfeed/tools.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;
using ::testing::HasSubstr;

class ReaderSection : public ::testing::Test {
 protected:
  // The setup that a configuration with this section gives.
  batchfeed::Setup loaded(const std::string& section) {
    return load_config({.files = {folder_.write("a.cntk", "Train = [\n" + section + "]\n")}}).setup;
  }
  batchfeed::Setup read_back(const batchfeed::Setup& setup) {
    return loaded(reader_section(setup, open_sources(setup)->streams()));
  }
  static batchfeed::Setup of(std::vector<SourceOptions> sources) {
    batchfeed::Setup setup;
    setup.sources = std::move(sources);
    const bool text = std::holds_alternative<CtfOptions>(setup.sources.front());
    setup.reader.keys = text ? KeyMode::numeric : KeyMode::text;
    return setup;
  }
  static Fault refusal(const batchfeed::Setup& setup, const std::vector<StreamInfo>& streams) {
    return fault_of([&] { reader_section(setup, streams); });
  }

  ScratchFolder folder_;
};

TEST_F(ReaderSection, OfAnInferenceLoads) {
  const std::string path = folder_.write("a.ctf", "|a-b 1 2 |2c 5:1\n|a-b 3 4 |2c 9:1\n");
  const Inferred inferred = infer_ctf(path);
  EXPECT_FALSE(inferred.has_ids);
  const batchfeed::Setup setup = loaded(reader_section({path}, inferred));
  const auto& options = std::get<CtfOptions>(setup.sources.at(0));
  ASSERT_EQ(options.streams.size(), 2u);
  std::vector<std::uint64_t> dims = {options.streams[0].dim, options.streams[1].dim};
  EXPECT_THAT(dims, ::testing::UnorderedElementsAre(2u, 10u));
  EXPECT_TRUE(options.skip_sequence_ids);
}

// Names come from files: a name that a configuration would read differently is refused.
TEST_F(ReaderSection, QuotesNamesOrRefusesThem) {
  const auto text_of = [&](const std::string& name) {
    CtfOptions text;
    text.files = {"a.ctf", name + ".ctf"};
    text.streams = {{.name = name, .storage = Storage::dense, .dim = 3}};
    return text;
  };
  for (const char* name : {"a\" ; dim = 9 ; b = \"", "$HOME$", "a$", "a #b", "a\t#", "a\nb", "a\r", " a", "a "})
    EXPECT_EQ(refusal(of({text_of(name)}), {}).id, "infer.no-section") << name;
  for (const char* name : {"a:b", "a;b", "a,b", "a#b", "[a]", "(a", "a)", "{", "a=b", "'a'", "a\\b", "//"}) {
    const std::string section = reader_section(of({text_of(name)}), {});
    const batchfeed::Setup setup = loaded(section);
    const auto& back = std::get<CtfOptions>(setup.sources.at(0));
    EXPECT_EQ(back.streams.at(0).alias.empty() ? back.streams.at(0).name : back.streams.at(0).alias, name);
    EXPECT_EQ(back.files, text_of(name).files);
  }
  CtfOptions starred = text_of("a*3");
  EXPECT_EQ(refusal(of({starred}), {}).id, "infer.no-section") << "in a list a*3 is a : a : a";
  starred.files.pop_back();
  const batchfeed::Setup alone = loaded(reader_section(of({starred}), {}));
  EXPECT_EQ(std::get<CtfOptions>(alone.sources.at(0)).streams.at(0).alias, "a*3");
  CtfOptions cases = text_of("Word");
  cases.streams.push_back({.name = "word", .storage = Storage::dense, .dim = 4});
  const batchfeed::Setup both = loaded(reader_section(of({cases}), {}));
  EXPECT_EQ(std::get<CtfOptions>(both.sources.at(0)).streams.size(), 2u) << "keys match in any case";
  MlfOptions labels;
  labels.name = "labels";
  labels.files = {"a:b.mlf", "c.mlf"};
  labels.mapping_file = "states";
  HtkOptions features;
  features.name = "features";
  features.scp_files = {"a.scp"};
  const std::vector<StreamInfo> streams = {{.name = "features", .dim = 3}, {.name = "labels", .dim = 2}};
  EXPECT_EQ(refusal(of({features, labels}), streams).id, "infer.no-section");
  features.scp_files = {"a\".scp"};
  EXPECT_EQ(refusal(of({features}), streams).id, "infer.no-section");
}

TEST_F(ReaderSection, OfTextKeepsFilesPrecisionAndNames) {
  CtfOptions text;
  text.files = {folder_.write("a.ctf", "0 |x-y 1 |x_y 2 |7 0:1\n"), folder_.write("b.ctf", "1 |x-y 3 |x_y 4 |7 2:1\n")};
  // Two names that become the same key, and one that begins with a digit.
  text.streams = {
      {.name = "x-y", .dim = 1}, {.name = "x_y", .dim = 1}, {.name = "7", .storage = Storage::sparse, .dim = 3}};
  text.element = Element::f64;
  const batchfeed::Setup back = read_back(of({text}));
  const auto& options = std::get<CtfOptions>(back.sources.at(0));
  EXPECT_EQ(options.files, text.files);
  EXPECT_EQ(options.element, Element::f64);
  EXPECT_FALSE(options.skip_sequence_ids);
  std::vector<std::string> in_file;
  for (const StreamSpec& stream : options.streams) in_file.push_back(stream.alias.empty() ? stream.name : stream.alias);
  EXPECT_THAT(in_file, ::testing::UnorderedElementsAre("x-y", "x_y", "7"));
  EXPECT_EQ(open_sources(back)->streams().size(), 3u);
}

TEST_F(ReaderSection, KeepsTheNamesOfStreamsBesideThoseInTheFile) {
  CtfOptions text;
  text.files = {"a.ctf"};
  text.streams = {{.name = "features", .alias = "f", .dim = 3}};
  const batchfeed::Setup back = loaded(reader_section(of({text}), {}));
  const StreamSpec& stream = std::get<CtfOptions>(back.sources.at(0)).streams.at(0);
  EXPECT_EQ(stream.name, "features");
  EXPECT_EQ(stream.alias, "f");
}

TEST_F(ReaderSection, OfSeveralSourcesThatAreNoSpeechIsRefused) {
  CtfOptions text;
  text.files = {"a.ctf"};
  CbfOptions binary;
  binary.files = {"b.cbf"};
  EXPECT_EQ(refusal(of({text, binary}), {}).id, "infer.no-section");
  EXPECT_EQ(refusal(of({binary, text}), {}).id, "infer.no-section");
}

TEST_F(ReaderSection, OfTextWithIdsThatAreWordsIsThatOfADeserializer) {
  const std::vector<std::string> files = {folder_.write("a.ctf", "utt-a |x 1 2\nutt-a |x 3 4\nutt-b |x 5 6\n"),
                                          folder_.write("b.ctf", "utt-c |x 7 8\n")};
  const batchfeed::Setup back = loaded(reader_section(files, infer_ctf(files)));
  EXPECT_EQ(back.reader.keys, KeyMode::text);
  EXPECT_EQ(std::get<CtfOptions>(back.sources.at(0)).files, files);
  const auto source = open_sources(back);
  EXPECT_EQ(source->chunks().at(0).sequences + source->chunks().at(1).sequences, 3u);
  EXPECT_EQ(source->streams().at(0).dim, 2u);
  EXPECT_EQ(loaded(reader_section(back, {})).reader.keys, KeyMode::text) << "of a setup too";
}

TEST_F(ReaderSection, OfABinaryFileNamesIt) {
  CbfOptions binary;
  binary.files = {"a.cbf"};
  const batchfeed::Setup back = loaded(reader_section(of({binary}), {}));
  EXPECT_EQ(std::get<CbfOptions>(back.sources.at(0)).files, binary.files);
}

TEST_F(ReaderSection, OfFeaturesAndLabelsReadsTheSame) {
  const std::string archive = folder_.write("a.htk", htk_file(ramp(8), {.dim = 2}));
  const std::string scp = folder_.write("a.scp", "u.htk=" + archive + "[0,1]\nv.htk=" + archive + "[2,3]\n");
  const std::string first = folder_.write("a.mlf", "#!MLF!#\n\"*/u.lab\"\n0 200000 b\n.\n");
  const std::string second = folder_.write("b.mlf", "#!MLF!#\n\"*/v.lab\"\n0 200000 a\n.\n");
  const std::string states = folder_.write("states", "a\nb\n");
  HtkOptions features;
  features.name = "f";
  features.scp_files = {scp};
  MlfOptions labels{.name = "l", .files = {first}, .mapping_file = states, .dim = 2};
  for (const std::vector<std::string>& files : {std::vector{first}, std::vector{first, second}}) {
    labels.files = files;
    const batchfeed::Setup setup = of({features, labels});
    const batchfeed::Setup back = read_back(setup);
    ASSERT_EQ(back.sources.size(), 2u);
    EXPECT_EQ(std::get<HtkOptions>(back.sources[0]).scp_files, features.scp_files);
    EXPECT_EQ(std::get<HtkOptions>(back.sources[0]).dim, 2u);
    EXPECT_EQ(std::get<MlfOptions>(back.sources[1]).files, files);
    EXPECT_EQ(std::get<MlfOptions>(back.sources[1]).mapping_file, states);
    EXPECT_EQ(open_sources(back)->chunks().at(0).sequences, files.size());
  }
  labels.binary = true;
  labels.files = {"x.mlf"};
  const std::vector<StreamInfo> streams = {{.name = "f", .dim = 2}, {.name = "l", .dim = 2}};
  EXPECT_THAT(reader_section(of({features, labels}), streams), HasSubstr("HTKMLFBinaryDeserializer"));
}

TEST_F(ReaderSection, WhatNoSectionCanSayIsRefusedWithTheWayOut) {
  const std::vector<StreamInfo> streams = {{.name = "f", .dim = 2}, {.name = "l", .dim = 2}};
  HtkOptions features;
  features.name = "f";
  features.files = {"a.mfc"};
  const Fault loose = refusal(of({features}), streams);
  EXPECT_EQ(loose.id, "infer.no-section");
  EXPECT_EQ(loose.kind, FaultKind::usage);
  EXPECT_EQ(loose.at.file, "a.mfc");
  EXPECT_THAT(loose.hint, HasSubstr("scp"));
  features.files = {};
  features.scp_files = {"a.scp", "b.scp"};
  EXPECT_EQ(refusal(of({features}), streams).at.file, "a.scp");

  features.scp_files = {"a.scp"};
  const MlfOptions labels{.name = "l", .files = {"a.mlf"}, .labels = {"x", "y"}, .dim = 2};
  const Fault alone = refusal(of({labels}), streams);
  EXPECT_EQ(alone.at.file, "a.mlf");
  EXPECT_THAT(alone.hint, HasSubstr("features"));
  const Fault named = refusal(of({features, labels}), streams);
  EXPECT_EQ(named.stream, "l");
  EXPECT_THAT(named.hint, HasSubstr("state list"));

  KaldiOptions kaldi;
  kaldi.files = {"a.ark"};
  EXPECT_THAT(refusal(of({kaldi}), streams).hint, HasSubstr("convert"));
}

}  // namespace
}  // namespace batchfeed
