// SPDX-License-Identifier: MIT
#include "assemble/open.h"

#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "assemble/testing.h"
#include "io/descriptor.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::assemble {
namespace {

TEST_F(Opening, NeedsASourceAFileAndFeaturesFirst) {
  batchfeed::Setup setup;
  EXPECT_EQ(refusal(setup), "open.no-source");
  setup.sources = {corpus({})};
  EXPECT_EQ(refusal(setup), "open.no-file");
  setup.sources = {MlfOptions{}, HtkOptions{}};
  EXPECT_EQ(refusal(setup), "open.labels-first");
  setup.sources = {std::shared_ptr<const Source>()};
  EXPECT_EQ(refusal(setup), "open.null-source");
}

TEST_F(Opening, FilesAreOpenedAgainWhereTheyWereWhereverTheProcessGoes) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  write("here.ctf", "0 |A 1\n");
  write("here.mlf", "#!MLF!#\n\"7\"\n0 1 a 1\n.\n");
  fs::current_path(folder_);
  const std::unique_ptr<Source> text = open_source(corpus({"here.ctf"}));
  const std::unique_ptr<Source> labels = open_source(MlfOptions{.name = "l", .files = {"here.mlf"}, .dim = 2});
  fs::current_path(before);
  while (io::close_an_idle_file()) {
  }
  Chunk chunk;
  text->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].as<float>()[0], 1);
  EXPECT_EQ(text->place(0, 0).file, "here.ctf");
  labels->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].indices[0], 1);
}

TEST_F(Opening, ASourceOfTheCallersOwnHasNumbersForKeys) {
  const std::shared_ptr<const Source> own = open_source(corpus({write("own.ctf", "0 |A 1\n1 |A 2\n")}));
  batchfeed::Setup setup;
  setup.sources = {own, corpus({write("l.ctf", "1 |L 6\n0 |L 5\n")}, "L")};
  EXPECT_EQ(refusal(setup), "");
  setup.reader.keys = KeyMode::text;
  EXPECT_EQ(refusal(setup), "open.source-keys");
  setup.sources.pop_back();
  EXPECT_EQ(refusal(setup), "") << "alone it is not joined";
}

TEST_F(Opening, ABinaryFileIsJoinedByNumbersAndThatIsToldWhereItsKeysAreOthers) {
  for (const bool others : {true, false}) {
    const std::string path = (folder_ / "b.cbf").string();
    CbfWriter writer(path, {.streams = {{.name = "B", .dim = 1}}, .keys = true});
    for (int k = 0; k < 3; ++k) {
      const auto value = static_cast<float>(k);
      const SequenceData sequence[] = {{.samples = 1, .values = &value}};
      writer.append(sequence, std::to_string(others ? 2 - k : k));
    }
    writer.commit();
    std::vector<std::string> told;
    batchfeed::Setup setup;
    setup.report = [&](const Notice& n) { told.push_back(n.fault.id + ": " + n.fault.what); };
    CbfOptions binary;
    binary.files = {path};
    setup.sources = {corpus({write("a.ctf", "0 |A 0\n1 |A 1\n2 |A 2\n")}), binary};
    EXPECT_EQ(open_sources(setup)->chunks().at(0).sequences, 3u);
    ASSERT_EQ(told.size(), others ? 1u : 0u);
    if (!others) continue;
    EXPECT_EQ(told[0],
              "join.by-number: is joined by the numbers of its sequences, and not by the keys kept beside it: "
              "number 0 is '2'");
  }
}

TEST_F(Opening, KeysThatCannotBeReadKeepNoJoinFromOpening) {
  const std::string path = (folder_ / "b.cbf").string();
  const float value = 1;
  const SequenceData sequence[] = {{.samples = 1, .values = &value}};
  CbfWriter writer(path, {.streams = {{.name = "B", .dim = 1}}, .keys = true});
  writer.append(sequence, "zero");
  writer.commit();
  int asked = 0;
  ::batchfeed::testing::FaultySys sys([&](const ::batchfeed::testing::Call& call) {
    const bool refused = call.name == "open" && call.path.ends_with(".keys");
    asked += refused ? 1 : 0;
    return refused ? EACCES : 0;
  });
  CbfOptions binary;
  binary.files = {path};
  batchfeed::Setup setup;
  std::vector<std::string> told;
  setup.report = [&](const Notice& n) { told.push_back(n.fault.id); };
  setup.sources = {corpus({write("a.ctf", "0 |A 0\n")}), binary};
  EXPECT_EQ(open_sources(setup)->chunks().at(0).sequences, 1u);
  EXPECT_GT(asked, 0);
  EXPECT_TRUE(told.empty());
}

class Nothing final : public Source {
 public:
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& /*out*/) const override {
    throw std::out_of_range("chunk " + std::to_string(chunk));
  }
  void read(std::uint32_t chunk, Chunk& /*out*/) const override {
    throw std::out_of_range("chunk " + std::to_string(chunk));
  }

 private:
  std::vector<StreamInfo> streams_ = {{.name = "B", .dim = 1}};
  std::vector<ChunkInfo> chunks_;
};

TEST_F(Opening, ASourceWithoutChunksHasNothingInCommon) {
  batchfeed::Setup setup;
  setup.sources = {corpus({write("a.ctf", "0 |A 0\n")}), std::make_shared<const Nothing>()};
  EXPECT_EQ(refusal(setup), "join.no-common-keys");
}

// A state is a position in a shuffled order of chunks, so it is valid only for the same data cut into the same chunks.
TEST_F(Opening, AStateBelongsToTheChunksWhereTheseAreShuffled) {
  std::string text;
  for (int k = 0; k < 200; ++k) text += std::to_string(k) + " |A " + std::to_string(k) + "\n";
  CtfOptions small = corpus({write("a.ctf", text)}), large = small;
  small.chunk_bytes = 200;
  large.chunk_bytes = 400;
  const auto open = [](const CtfOptions& options, OrderKind kind) {
    batchfeed::Setup setup;
    setup.sources = {options};
    setup.reader.minibatch_size = {10};
    setup.reader.order.kind = kind;
    return Reader(setup);
  };
  for (const OrderKind kind : {OrderKind::cntk, OrderKind::uniform, OrderKind::file}) {
    Reader reader = open(small, kind);
    for (int i = 0; i < 5; ++i) reader.next();
    Reader other = open(large, kind);
    if (kind == OrderKind::file) {
      other.restore(reader.state());
      EXPECT_EQ(other.next()->keys, reader.next()->keys);
    } else {
      EXPECT_EQ(testing::fault_of([&] { other.restore(reader.state()); }).id, "state.other-data");
    }
    Reader same = open(small, kind);
    same.restore(reader.state());
    EXPECT_EQ(same.next()->keys, reader.next()->keys);
  }
}

TEST_F(Opening, AJoinTellsWhatItsSourcesTell) {
  std::vector<std::string> told;
  batchfeed::Setup setup;
  setup.report = [&](const Notice& n) { told.push_back(n.fault.id); };
  setup.sources = {corpus({write("a.ctf", "1 |A 1\n1 |A x\n2 |A 2\n1 |A 3\n")}),
                   corpus({write("l.ctf", "1 |L 5\n2 |L 6\n3 |L 7\n")}, "L")};
  std::get<CtfOptions>(setup.sources[0]).max_errors = 5;
  const std::unique_ptr<Source> source = open_sources(setup);
  EXPECT_EQ(told, (std::vector<std::string>{"ctf.repeated-id", "join.no-partner"})) << "each once";
  Chunk chunk;
  source->read(0, chunk);
  std::vector<std::string> now;
  for (const Notice& n : source->notices()) now.push_back(n.fault.id);
  EXPECT_EQ(now, (std::vector<std::string>{"join.no-partner", "ctf.repeated-id", "errors-skipped"}));
}

TEST_F(Opening, CorporaOfAMixtureAreOpenedEachWithItsJoins) {
  batchfeed::Setup setup;
  setup.mix = {{corpus({write("a.ctf", "1 |A 1\n2 |A 2\n")}), corpus({write("l.ctf", "1 |L 5\n")}, "L")},
               {corpus({write("b.ctf", "7 |A 3\n")}), corpus({write("m.ctf", "7 |L 6\n8 |L 9\n")}, "L")}};
  EXPECT_EQ(open_sources(setup)->chunks().size(), 2u);
  setup.reader.mix_weights = {1, 1};
  setup.reader.driver = ReaderOptions::Driver::timeline;
  setup.reader.epoch_samples = 100'000;
  setup.reader.minibatch_size = {100'000};
  Reader reader(setup);
  EXPECT_EQ(reader.num_sequences(), 2u);
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  const auto ones = std::count(batch->keys.begin(), batch->keys.end(), 1u);
  EXPECT_EQ(ones + std::count(batch->keys.begin(), batch->keys.end(), 7u), 100'000) << "as the joins left them";
  EXPECT_NEAR(static_cast<double>(ones), 50'000, 2'000);
  setup.sources = setup.mix[0];
  EXPECT_EQ(refusal(setup), "open.sources-and-mix");
}

TEST_F(Opening, AConfigurationIsOpenedAndCallersChange) {
  write("a.ctf", "0 |A 1\n1 |A 2\n2 |A 3\n3 |A 4\n4 |A 5\n5 |A 6\n");
  const std::string config = write(
      "c.cntk",
      "Train = [\n SGD = [ minibatchSize = 3 ]\n reader = [\n  readerType = \"CNTKTextFormatReader\" ; file = \"" +
          (folder_ / "a.ctf").string() +
          "\" ; randomize = false ; odd = 1\n  input = [ A = [ dim = 1 ; format = \"dense\" ] ] ] ]\n"
          "Test = [ reader = [\n  readerType = \"CNTKTextFormatReader\" ; file = \"nowhere\" ; randomize = false\n"
          "  input = [ A = [ dim = 1 ; format = \"dense\" ] ] ] ]\n");
  std::vector<std::string> told;
  OpenOptions options{.section = "Train.reader", .report = [&](const Notice& n) { told.push_back(n.fault.id); }};
  const auto sizes = [&](const OpenOptions& o) {
    Reader reader = open(config, o);
    std::vector<std::uint64_t> out;
    while (auto batch = reader.next()) out.push_back(batch->num_samples);
    return out;
  };
  EXPECT_EQ(sizes(options), (std::vector<std::uint64_t>{3, 3})) << "as the section around it says";
  EXPECT_EQ(std::count(told.begin(), told.end(), "config.unknown-key"), 1);
  options.minibatch_samples = 4;
  options.threads = 2;
  EXPECT_EQ(sizes(options), (std::vector<std::uint64_t>{4, 2}));
  options.workers = 2;
  options.rank = 1;
  EXPECT_EQ(sizes(options), (std::vector<std::uint64_t>{2, 1}));
  options.precision = Element::f64;
  EXPECT_EQ((*open(config, options).next())["A"].element, Element::f64);
  OpenOptions narrow = options;
  narrow.limits.config_bytes = 40;
  EXPECT_EQ(testing::fault_of([&] { sizes(narrow); }).kind, FaultKind::limit);
  narrow = options;
  narrow.file_system.roots = {(folder_ / "elsewhere").string()};
  EXPECT_EQ(testing::fault_of([&] { sizes(narrow); }).id, "io.outside-roots");
  options.set = {"x=1", "Train=[reader=[file=[]]"};
  EXPECT_EQ(testing::fault_of([&] { open(config, options); }).at.file, "set#2");
  options.set = {"Train=[reader=[file=\"elsewhere\"]]"};
  EXPECT_THROW(open(config, options), Error);
  EXPECT_THROW(open(config, {}), Error) << "of two sections one has to be named";
}

TEST_F(Opening, AJoinThatIsLookedAtTellsEachSequenceItLeavesOut) {
  batchfeed::Setup setup;
  setup.sources = {corpus({write("features.ctf", "1 |A 1\n2 |A 2\n17 |A 3\n18 |A 3\n")}, "A"),
                   corpus({write("labels.ctf", "2 |B 20\n1 |B 10\n")}, "B")};
  std::vector<std::string> told;
  setup.report = [&](const Notice& notice) { told.push_back(notice.fault.what); };
  EXPECT_EQ(open_to_look(setup)->streams().size(), 2u);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].substr(0, 6), "2 of 4") << told[0];
  OpenContext context = context_of(setup);
  context.check = true;
  told.clear();
  EXPECT_EQ(open_all(setup, context)->streams().size(), 2u);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told[0].find("17"), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("18"), std::string::npos) << told[1];
  // OpenContext::around wraps each source before they are joined.
  unsigned around = 0;
  context.around = [&](std::unique_ptr<Source> source) {
    ++around;
    return source;
  };
  EXPECT_EQ(open_all(setup, context)->streams().size(), 2u);
  EXPECT_EQ(around, 2u);
}

TEST_F(Opening, TwoKeysWithOneHashAreTold) {
  batchfeed::Setup setup;
  setup.sources = {corpus({write("a.ctf", "!B |A 1\n\"! |A 2\n")})};
  setup.reader.keys = KeyMode::hashed;
  std::vector<Fault> told;
  setup.report = [&](const Notice& notice) { told.push_back(notice.fault); };
  EXPECT_EQ(open_sources(setup)->chunks()[0].sequences, 2u);
  const auto found = std::find_if(told.begin(), told.end(), [](const Fault& f) { return f.id == "keys.collision"; });
  ASSERT_NE(found, told.end());
  EXPECT_EQ(found->what, "keys '!B' and '\"!' have one hash and count as one key");
}

TEST_F(Opening, AJoinSaysByKeyWhatItLeavesOut) {
  batchfeed::Setup setup;
  setup.sources = {corpus({write("features.ctf", "1 |A 1\n2 |A 2\n17 |A 3\n")}, "A"),
                   corpus({write("labels.ctf", "2 |B 20\n1 |B 10\n5 |B 50\n")}, "B")};
  std::string told;
  setup.report = [&](const Notice& notice) { told += notice.fault.what + '\n'; };
  const auto source = open_sources(setup);
  EXPECT_NE(told.find("1 of 3 sequences of 'A' have no partner in 'B' and were left out, first: 17"), std::string::npos)
      << told;
  EXPECT_NE(told.find("1 of 3 sequences of 'B' have no partner in 'A', first: 5"), std::string::npos) << told;
  Chunk chunk;
  source->read(0, chunk);
  const Column& b = chunk.columns[1];
  EXPECT_EQ(b.as<float>()[b.begin[0]], 10.0f);
  EXPECT_EQ(b.as<float>()[b.begin[1]], 20.0f);
}

}  // namespace
}  // namespace batchfeed::assemble
