// SPDX-License-Identifier: MIT
#include "assemble/open.h"

#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <batchfeed/writer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::assemble {
namespace {

class Opening : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("batchfeed_open_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static CtfOptions corpus(std::vector<std::string> files, const std::string& stream = "A") {
    CtfOptions o;
    o.files = std::move(files);
    o.streams = {{.name = stream, .dim = 1}};
    return o;
  }
  static std::string refusal(const batchfeed::Setup& setup) {
    try {
      static_cast<void>(open_sources(setup));
    } catch (const Error& error) {
      return error.fault().id;
    }
    return "";
  }

  std::filesystem::path folder_;
};

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

// A state names a place in an order of chunks, so it is of data that are cut alike.
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

TEST_F(Opening, ShardsByPatternAreOneCorpusInOrderOfTheirNames) {
  write("b.ctf", "|A 3\n|A 4\n");
  write("a.ctf", "|A 1\n|A 2\n");
  batchfeed::Setup setup;
  setup.sources = {corpus({(folder_ / "?.ctf").string()})};
  setup.reader.order.kind = OrderKind::file;
  setup.reader.minibatch_size = {8};
  Reader reader(setup);
  EXPECT_EQ(reader.num_sequences(), 4u);
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  const float* values = (*batch)["A"].as<float>();
  EXPECT_EQ(std::vector<float>(values, values + 4), (std::vector<float>{1, 2, 3, 4}));
}

// The pattern of a URL goes to those who read URLs.
TEST_F(Opening, PatternsOfURLsAndPatternsThatFitNothing) {
  const std::string text = "|A 1\n";
  batchfeed::Setup setup;
  setup.file_system.open = [&](const std::string& url) {
    EXPECT_EQ(url, "mem://b.ctf");
    auto file = std::make_shared<RemoteFile>();
    file->size = text.size();
    file->read = [&](std::uint64_t offset, std::span<std::byte> out) {
      std::copy_n(reinterpret_cast<const std::byte*>(text.data()) + offset, out.size(), out.data());
    };
    return file;
  };
  std::vector<std::string> asked, named = {"mem://b.ctf"};
  setup.file_system.glob = [&](const std::string& pattern) {
    asked.push_back(pattern);
    return named;
  };
  setup.sources = {corpus({"mem://*.ctf", write("a.ctf", text)})};
  EXPECT_EQ(open_sources(setup)->chunks().size(), 2u);
  EXPECT_EQ(asked, (std::vector<std::string>{"mem://*.ctf"}));
  // What fits nothing is a name, so that opening it says what is missing.
  named = {};
  EXPECT_EQ(expand({"mem://*.ctf", (folder_ / "no*.ctf").string()}, setup.file_system),
            (std::vector<std::string>{"mem://*.ctf", (folder_ / "no*.ctf").string()}));
  EXPECT_EQ(expand({(folder_ / "a*.ctf").string()}, setup.file_system),
            (std::vector<std::string>{(folder_ / "a.ctf").string()}));
  EXPECT_EQ(asked.size(), 2u) << "files of this machine are not asked of it";
}

// Else the name of one file would quietly name others.
TEST_F(Opening, ANameThatExistsIsNoPattern) {
  const std::string bracketed = write("a[1].ctf", "|A 1\n"), starred = write("a*.ctf", "|A 2\n");
  write("a1.ctf", "|A 3\n");
  EXPECT_EQ(expand({bracketed, starred}), (std::vector<std::string>{bracketed, starred}));
  FileSystem here;
  here.folder = folder_.string();
  EXPECT_EQ(expand({"a[1].ctf", "a[2].ctf", "?1.ctf"}, here),
            (std::vector<std::string>{"a[1].ctf", "a[2].ctf", "a1.ctf"}));
}

// Three links to the folder they lie in are as many folders as there are ways through them.
TEST_F(Opening, PatternsLookAtNoMoreNamesThanTheLimit) {
  write("a.ctf", "|A 1\n");
  write("b.ctf", "|A 2\n");
  const std::string folder = folder_.string(), pattern = folder + "/*.ctf";
  Limits limits;
  limits.pattern_bytes = 512 + 2 * (folder.size() + std::string_view("/a.ctf").size());
  EXPECT_EQ(expand({pattern}, {}, limits), (std::vector<std::string>{folder + "/a.ctf", folder + "/b.ctf"}));
  limits.pattern_bytes -= 1;
  try {
    expand({pattern}, {}, limits);
    ADD_FAILURE() << "one byte less than the names take";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().kind, FaultKind::limit);
    EXPECT_EQ(error.fault().at.file, pattern);
    EXPECT_NE(error.fault().hint.find("limits.pattern_bytes"), std::string::npos);
  }
  for (const char* link : {"c", "d", "e"}) std::filesystem::create_directory_symlink(folder, folder_ / link);
  std::string deep = folder;
  for (int i = 0; i < 30; ++i) deep += "/*";
  limits.pattern_bytes = 1 << 20;
  EXPECT_THROW(expand({deep + "/*.ctf"}, {}, limits), Error) << "3^30 folders";
  EXPECT_EQ(expand({folder + "/*/*/*.ctf"}).size(), 18u);
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
  // Who wants to see every read is put around each source, before they are joined.
  unsigned around = 0;
  context.around = [&](std::unique_ptr<Source> source) {
    ++around;
    return source;
  };
  EXPECT_EQ(open_all(setup, context)->streams().size(), 2u);
  EXPECT_EQ(around, 2u);
}

// Chunks are closed when they have more than 3 frames of utterances that have labels (htk.md 5, 11.2).
TEST_F(Opening, TheLegacyReaderCutsChunksOfUtterancesThatAreLabelled) {
  std::string list, labels = "#!MLF!#\n";
  for (int i = 1; i <= 9; ++i) {
    const std::string key = "u" + std::to_string(i);
    list += key + '=' + write(key, testing::htk_file(testing::ramp(2))) + "[0,1]\n";
    if (i != 2 && i != 4 && i != 5) labels += "\"" + key + "\"\n0 2 a 1\n.\n";
  }
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.reader.legacy_speech = true;
  HtkOptions features{.name = "f", .scp_files = {write("list", list)}, .dim = 1, .chunk_frames = 3, .legacy = true};
  MlfOptions states{.name = "l", .files = {write("labels", labels)}, .dim = 2, .legacy = true};
  setup.sources = {features, states};
  std::vector<std::string> told;
  setup.report = [&](const Notice& notice) { told.push_back(notice.fault.what); };
  const auto keys = [&] {
    const auto source = open_sources(setup);
    std::string out;
    std::vector<SequenceInfo> table;
    Chunk chunk;
    for (std::uint32_t c = 0; c < source->chunks().size(); ++c) {
      source->sequences(c, table);
      source->read(c, chunk);
      EXPECT_EQ(source->chunks()[c].samples, 2 * table.size());
      out += '[';
      for (const SequenceInfo& s : table) {
        EXPECT_EQ(chunk.columns[0].samples(s.row), 2u);
        EXPECT_EQ(chunk.columns[1].samples(s.row), 2u);
        out += source->key_text(s.key);
      }
      out += ']';
    }
    return out;
  };
  EXPECT_EQ(keys(), "[u1u3][u6u7][u8u9]");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].substr(0, 6), "3 of 9") << told[0];
  setup.reader.legacy_speech = false;
  EXPECT_EQ(keys(), "[u1][u3][u6][u7u8][u9]");
}

// Line by line, though one of them has no labels and chunks are cut anew.
TEST_F(Opening, UtterancesThatTheLegacyReaderListsTwiceKeepTheirPartners) {
  const std::string data = write("data", testing::htk_file(testing::ramp(20)));
  const auto list = [&](const std::string& name, std::vector<int> firsts) {
    std::string lines;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      const std::string range = '[' + std::to_string(firsts[i]) + ',' + std::to_string(firsts[i] + 2 - (i == 0)) + ']';
      lines += (i == 2 ? "v=" : "u=") + data + range + '\n';
    }
    return HtkOptions{.name = name, .scp_files = {write(name, lines)}, .dim = 1, .chunk_frames = 1, .legacy = true};
  };
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.reader.legacy_speech = true;
  // The labels of u are too long for its first entry.
  MlfOptions states{.name = "l",
                    .files = {write("labels", "#!MLF!#\n\"u\"\n0 3 a 1\n.\n\"v\"\n0 3 a 0\n.\n")},
                    .dim = 2,
                    .legacy = true};
  setup.sources = {list("a", {0, 1, 2, 3}), list("b", {10, 11, 12, 13}), states};
  const auto source = open_sources(setup);
  ASSERT_EQ(source->chunks().size(), 3u);
  Chunk chunk;
  for (std::uint32_t c = 0; c < 3; ++c) {
    source->read(c, chunk);
    EXPECT_EQ(chunk.columns[0].as<float>()[0], float(c + 2));
    EXPECT_EQ(chunk.columns[1].as<float>()[0], float(c + 12));
  }
}

// htk.md 7.6, 11.2: what stands in a label file about other utterances need not be sound.
TEST_F(Opening, LabelsThatTheLegacyReaderDoesNotWantMayBeDamaged) {
  const std::string data = write("data", testing::htk_file(testing::ramp(9)));
  batchfeed::Setup setup;
  setup.reader.keys = KeyMode::text;
  setup.reader.legacy_speech = true;
  HtkOptions features{.name = "f",
                      .scp_files = {write("list", "u=" + data + "[0,0]\nv=" + data + "[0,2]\n")},
                      .dim = 1,
                      .legacy = true};
  const std::string other = "\"w\"\n0 2 a 7\n.\n";
  MlfOptions states{.name = "l",
                    .files = {write("labels", "#!MLF!#\n" + other + "\"u\"\n0 1 a 1\n.\n\"v\"\n0 3 a 0\n.\n")},
                    .dim = 2,
                    .legacy = true};
  setup.sources = {features, states};
  std::vector<std::string> told;
  setup.report = [&](const Notice& notice) { told.push_back(notice.fault.text()); };
  const auto rows = [&] {
    const auto source = open_sources(setup);
    Chunk chunk;
    source->read(0, chunk);
    std::string out;
    for (std::uint32_t r = 0; r < source->chunks()[0].sequences; ++r)
      out += std::to_string(chunk.columns[1].samples(r)) + (chunk.is_invalid(r) ? "!" : "") + ' ';
    return out;
  };
  EXPECT_EQ(rows(), "1 3 ");  // and an utterance may have one frame
  write("list", "w=" + data + "[0,1]\nv=" + data + "[0,2]\n");
  EXPECT_EQ(rows(), "0! 3 ");
  setup.reader.legacy_speech = false;
  std::get<MlfOptions>(setup.sources[1]).legacy = false;
  EXPECT_EQ(testing::fault_of(rows).id, "mlf.class-range");
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
