// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>
#include <batchfeed/split.h>
#include <batchfeed/subset.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/shared_source.h"
#include "support/faulty_sys.h"
#include "tools/testing.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::binary_source;
using ::batchfeed::testing::content_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::nth_call;
using ::batchfeed::testing::refusal;
using ::batchfeed::testing::ScratchFolder;

const char* const kText =
    "7 |F 1 2.5 |S 1:0.5 3:2\n"
    "7 |F 3 -4e-05 |S 0:1\n"
    "9 |F 5 6 |S\n"
    "12 |F 7 0.1 |S 4:8 2:1\n";

SourceOptions text_options(const std::string& file, bool ids = true) {
  CtfOptions options;
  options.files = {file};
  options.skip_sequence_ids = !ids;
  options.streams = {{.name = "F", .dim = 2}, {.name = "S", .storage = Storage::sparse, .dim = 5}};
  return options;
}
std::unique_ptr<Source> text_source(const std::string& file, bool ids = true) {
  return open_source(text_options(file, ids));
}

// Many sequences of one to four rows.
std::string long_text(int sequences) {
  std::string out;
  for (int s = 0; s < sequences; ++s) {
    for (int r = 0; r <= s % 4; ++r) {
      out += std::to_string(s) + " |F " + std::to_string(s) + '.' + std::to_string(r) + " -" + std::to_string(r) +
             " |S " + std::to_string(s % 5) + ":1\n";
    }
  }
  return out;
}

TEST(Convert, TextToBinaryToTextIsTheIdentityAfterTheFirstPass) {
  const ScratchFolder folder;
  const auto text = text_source(folder.write("a.ctf", kText));
  const ConvertResult first = convert(*text, folder / "a.cbf", {.verify = true});
  EXPECT_EQ(first.sequences, 3u);
  EXPECT_EQ(first.samples, 4u);
  EXPECT_TRUE(first.keys);
  EXPECT_TRUE(first.verified);
  const auto binary = binary_source(folder / "a.cbf");
  convert(*binary, folder / "b.ctf", {.to = Format::ctf, .verify = true});
  EXPECT_EQ(content_of(folder / "b.ctf"),
            "7 |F 1 2.5 |S 1:0.5 3:2\n7 |F 3 -4e-05 |S 0:1\n9 |F 5 6 |S\n12 |F 7 0.1 |S 2:1 4:8\n");
  const auto again = text_source(folder / "b.ctf");
  convert(*again, folder / "b.cbf", {});
  EXPECT_EQ(content_of(folder / "b.cbf"), content_of(folder / "a.cbf"));
  convert(*binary_source(folder / "b.cbf"), folder / "c.ctf", {.to = Format::ctf});
  EXPECT_EQ(content_of(folder / "c.ctf"), content_of(folder / "b.ctf"));
}

TEST(Convert, BytesDoNotDependOnTheNumberOfThreads) {
  const ScratchFolder folder;
  auto options = std::get<CtfOptions>(text_options(folder.write("a.ctf", long_text(3000))));
  options.chunk_bytes = 4000;
  const auto source = open_source(options);
  ASSERT_GT(source->chunks().size(), 20u);
  std::map<std::string, std::string> first;
  for (const unsigned jobs : {1u, 2u, 3u}) {
    for (const bool text : {false, true}) {
      for (const bool shuffled : {false, true}) {
        ConvertOptions o{
            .to = text ? Format::ctf : Format::cbf, .chunk_bytes = 10'000, .jobs = jobs, .force = true, .verify = true};
        if (shuffled) o.shuffle = 5;
        o.shuffle_memory = 100'000;
        convert(*source, folder / "x", o);
        const std::string kind = std::string(text ? "text" : "binary") + (shuffled ? " shuffled" : "");
        const std::string bytes = content_of(folder / "x");
        EXPECT_EQ(first.try_emplace(kind, bytes).first->second, bytes) << kind << ' ' << jobs;
      }
    }
  }
  EXPECT_NE(first["binary"], first["binary shuffled"]);
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"a.ctf", "x"}));  // the last was text; keys of a binary file are gone
}

TEST(Convert, AShuffleKeepsEverySequenceAndMovesMost) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", long_text(2000)));
  ConvertOptions options{.to = Format::ctf, .verify = true};
  options.shuffle = 1;
  options.shuffle_memory = 20'000;
  convert(*source, folder / "b.ctf", options);
  options.shuffle = 2;
  convert(*source, folder / "c.ctf", options);
  EXPECT_NE(content_of(folder / "b.ctf"), content_of(folder / "c.ctf"));
  const auto ids = [](const std::string& text) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      const std::string id = text.substr(at, text.find(' ', at) - at);
      if (out.empty() || out.back() != id) out.push_back(id);
    }
    return out;
  };
  const std::vector<std::string> before = ids(content_of(folder / "a.ctf"));
  std::vector<std::string> after = ids(content_of(folder / "b.ctf"));
  ASSERT_EQ(after.size(), before.size());
  std::size_t same_place = 0;
  for (std::size_t i = 0; i < after.size(); ++i) same_place += after[i] == before[i] ? 1u : 0u;
  EXPECT_LT(same_place, 20u);
  EXPECT_TRUE(std::is_permutation(after.begin(), after.end(), before.begin()));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.ctf", "b.ctf", "c.ctf"}));
}

TEST(Convert, SaysIfAShuffleNeedsMoreMemory) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", long_text(500)));
  std::vector<std::string> ids;
  ConvertOptions options{.force = true, .report = [&](const Notice& n) { ids.push_back(n.fault.id); }};
  options.shuffle = 1;
  convert(*source, folder / "x", options);
  EXPECT_TRUE(ids.empty());
  options.shuffle_memory = 1;
  convert(*source, folder / "x", options);
  EXPECT_EQ(ids, std::vector<std::string>{"convert.shuffle-memory"});
}

TEST(Convert, KeepsChosenStreamsUnderNewNames) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", kText));
  const ConvertResult result =
      convert(*source, folder / "b.cbf", {.streams = {"S", "F"}, .renames = {{"S", "F"}, {"F", "x"}}});
  ASSERT_EQ(result.streams.size(), 2u);
  EXPECT_EQ(result.streams[0].name, "F");
  EXPECT_EQ(result.streams[0].storage, Storage::sparse);
  EXPECT_EQ(binary_source(folder / "b.cbf")->streams(), result.streams);
  convert(*source, folder / "c.ctf", {.to = Format::ctf, .streams = {"F"}, .keys = ConvertOptions::Keys::number});
  EXPECT_EQ(content_of(folder / "c.ctf"), "0 |F 1 2.5\n0 |F 3 -4e-05\n1 |F 5 6\n2 |F 7 0.1\n");
  EXPECT_EQ(refusal(*source, folder / "d", {.streams = {"T"}}), "convert.no-stream");
  EXPECT_EQ(refusal(*source, folder / "d", {.renames = {{"F", "S"}}}), "convert.same-name");
}

TEST(Convert, WritesNoIdsWhereLinesAreSequences) {
  const ScratchFolder folder;
  const char* const lines = "|F 1 2 |S 1:1\n|F 3 4 |S 2:1\n";
  const auto source = text_source(folder.write("a.ctf", lines), false);
  EXPECT_FALSE(convert(*source, folder / "b.ctf", {.to = Format::ctf, .verify = true}).keys);
  EXPECT_EQ(content_of(folder / "b.ctf"), lines);
  EXPECT_FALSE(convert(*source, folder / "b.cbf", {.verify = true}).keys);
  EXPECT_FALSE(std::filesystem::exists(folder / "b.cbf.keys"));
}

// Without ids, the sequences behind it would be numbered one too low.
TEST(Convert, KeepsIdsBehindASequenceThatIsLeftOut) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += std::to_string(i) + (i == 377 ? " |F oops |S 1:1\n" : " |F 1 " + std::to_string(i) + " |S 1:1\n");
  CtfOptions damaged = std::get<CtfOptions>(text_options(folder.write("a.ctf", text)));
  damaged.max_errors = 5;
  damaged.chunk_bytes = 1000;
  for (const char* name : {"a.cbf", "again.ctf"}) {
    const ConvertResult result =
        convert(*open_source(damaged), folder / name,
                {.to = std::string(name) == "a.cbf" ? Format::cbf : Format::ctf, .verify = true});
    EXPECT_EQ(result.sequences, 399u);
    EXPECT_EQ(result.left_out, 1u);
    EXPECT_TRUE(result.keys);
    EXPECT_TRUE(result.verified);
  }
  const auto back = binary_source(folder / "a.cbf");
  std::vector<SequenceInfo> table;
  back->sequences(0, table);
  ASSERT_GE(table.size(), 399u);
  EXPECT_EQ(back->key_text(table[376].key), "376");
  EXPECT_EQ(back->key_text(table[377].key), "378");
  // One left out at the end changes no number, so ids are not needed.
  damaged.files = {folder.write("b.ctf", "0 |F 1 2 |S 1:1\n1 |F oops |S 1:1\n")};
  EXPECT_FALSE(convert(*open_source(damaged), folder / "b.cbf", {}).keys);
}

TEST(Convert, WritesTheLegacyLayoutWhereTheDataFit) {
  const ScratchFolder folder;
  const auto fits = text_source(folder.write("a.ctf", "1 |F 1 2 |S 1:1\n1 |S 2:1\n2 |F 3 4 |S 0:1\n"));
  EXPECT_TRUE(convert(*fits, folder / "a.cbf", {.legacy = true, .verify = true}).verified);
  EXPECT_EQ(content_of(folder / "a.cbf").substr(0, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  const auto two = text_source(folder.write("b.ctf", kText));
  EXPECT_EQ(refusal(*two, folder / "b.cbf", {.legacy = true}), "cbf.write-legacy-dense");
  EXPECT_FALSE(std::filesystem::exists(folder / "b.cbf"));
}

TEST(Convert, DoesNotReplaceItsSourceBySomeOfItsStreams) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", kText));
  std::filesystem::create_hard_link(folder / "a.ctf", folder / "same.ctf");
  const ConvertOptions part{.to = Format::ctf, .streams = {"S"}, .force = true};
  EXPECT_EQ(refusal(*source, folder / "a.ctf", part), "convert.part-of-source");
  EXPECT_EQ(refusal(*source, folder / "same.ctf", part), "convert.part-of-source");
  EXPECT_EQ(content_of(folder / "a.ctf"), kText);
  const ConvertOptions all{.to = Format::ctf, .streams = {"S", "F"}, .force = true};
  EXPECT_EQ(refusal(*source, folder / "a.ctf", all), "");
}

// Counts the calls of places(), each of which may have to count lines of the text.
class Located final : public SharedSource {
 public:
  using SharedSource::SharedSource;
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    ++asked;
    return SharedSource::places(chunk, row);
  }
  mutable std::uint64_t asked = 0;
};

TEST(Convert, DoesNotAskEveryRowForItsFile) {
  const ScratchFolder folder;
  const Located source(text_source(folder.write("a.ctf", long_text(100))));
  folder.write("b.cbf", "old");
  const ConvertOptions part{.streams = {"S"}, .keys = ConvertOptions::Keys::none, .force = true};
  EXPECT_EQ(refusal(source, folder / "b.cbf", part), "");
  EXPECT_EQ(refusal(source, folder / "a.ctf", part), "convert.part-of-source");
  EXPECT_EQ(source.asked, 0u);
}

TEST(Convert, FilesOfASourceAreThoseOfItsRows) {
  const ScratchFolder folder;
  const std::shared_ptr<const Source> text = text_source(folder.write("a.ctf", long_text(10)));
  convert(*text, folder / "b.cbf", {.streams = {"F"}});
  convert(*text, folder / "c.cbf", {.streams = {"S"}});
  const std::shared_ptr<const Source> binary = binary_source(folder / "b.cbf");
  const auto of_binary = [&](const char* name) {
    CbfOptions options;
    options.files = {folder / name};
    return SourceOptions(options);
  };
  CtfOptions two = std::get<CtfOptions>(text_options(folder / "a.ctf"));
  two.files.push_back(folder.write("d.ctf", long_text(3)));
  batchfeed::Setup joined;
  joined.sources = {of_binary("b.cbf"), of_binary("c.cbf")};
  std::vector<std::shared_ptr<const Source>> sources = {text, binary, open_source(two), open_sources(joined)};
  sources.push_back(concatenate({select_streams(text, {"F"}), binary}));
  for (const auto& source : sources) {
    std::vector<std::string> files = source->files();
    std::sort(files.begin(), files.end());
    EXPECT_EQ(files, source->Source::files());
    EXPECT_FALSE(files.empty());
  }
}

TEST(Convert, RefusesToOverwriteUnlessForced) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", kText));
  folder.write("b.cbf", "precious");
  EXPECT_EQ(refusal(*source, folder / "b.cbf", {}), "convert.exists");
  EXPECT_EQ(content_of(folder / "b.cbf"), "precious");
  EXPECT_EQ(refusal(*source, folder / "b.cbf", {.force = true}), "");
  EXPECT_EQ(refusal(*source, folder / "c", {.to = Format::config}), "convert.format");
}

TEST(Convert, DoesNotReplaceWhatCameMeanwhile) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", kText));
  for (const Format to : {Format::ctf, Format::cbf}) {
    const std::string target = folder / std::string(name(to));
    const auto meanwhile = [&](std::uint64_t, std::uint64_t) { folder.write(std::string(name(to)), "mine"); };
    EXPECT_EQ(refusal(*source, target, {.to = to, .progress = meanwhile}), "convert.exists");
    EXPECT_EQ(content_of(target), "mine");
  }
  EXPECT_EQ(folder.names().size(), 3u);  // no temporary file is left
}

TEST(Convert, ClosesChunksAsTheReferencesConverterDoes) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 10; ++i) text += "|F 1 2 |S 0:1\n";  // F counts 8 bytes, S 12
  const auto source = text_source(folder.write("a.ctf", text), false);
  const auto sizes = [&](bool original) {
    convert(*source, folder / "x", {.chunk_bytes = 64, .ctf2bin_chunks = original, .force = true});
    std::vector<std::uint64_t> out;
    const auto binary = binary_source(folder / "x");
    for (const ChunkInfo& chunk : binary->chunks()) out.push_back(chunk.sequences);
    return out;
  };
  EXPECT_EQ(sizes(true), (std::vector<std::uint64_t>{4, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(sizes(false), (std::vector<std::uint64_t>{4, 4, 2}));
}

TEST(Convert, RefusesTextThatWouldReadDifferently) {
  const ScratchFolder folder;
  CtfOptions options =
      std::get<CtfOptions>(text_options(folder.write("a.ctf", "5 |F 1 2 |S 0:1\n6 |F 1 2 |S 0:1\n5 |F 3 4 |S 0:1\n")));
  const auto twice = open_source(options);
  ConvertOptions shuffle{.to = Format::ctf, .force = true};
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    shuffle.shuffle = seed;
    refused += refusal(*twice, folder / "b.ctf", shuffle) == "convert.same-id" ? 1u : 0u;
  }
  EXPECT_GT(refused, 0u);
  shuffle.keys = ConvertOptions::Keys::number;
  EXPECT_EQ(refusal(*twice, folder / "b.ctf", shuffle), "");

  // The binary file lacks the sequence between the two with the same id, so these follow each other.
  options.files = {folder.write("c.ctf", "5 |F 1 2 |S 0:1\n6 |F 1 2\n5 |F 3 4 |S 0:1\n")};
  options.max_errors = 1;
  const auto gap = open_source(options);
  convert(*gap, folder / "c.cbf", {.keys = ConvertOptions::Keys::keep});
  const auto binary = open_source(CbfOptions{.files = {folder / "c.cbf"}});
  EXPECT_EQ(refusal(*binary, folder / "d.ctf", {.to = Format::ctf, .keys = ConvertOptions::Keys::keep}),
            "convert.same-id");
}

// Two sequences, one of which has a stream without samples.
class Gappy final : public Source {
 public:
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t, std::vector<SequenceInfo>& out) const override { out = {{0, 0, 1}, {1, 1, 1}}; }
  void read(std::uint32_t, Chunk& out) const override {
    out.reset(streams_);
    for (std::size_t i = 0; i < 2; ++i) {
      Column& c = out.columns[i];
      c.first_sample.push_back(i == 0 ? 1 : 0);
      c.first_sample.push_back(i == 0 ? 2 : empty_ ? 0 : 1);
      c.begin.push_back(0);
      c.begin.push_back(0);
      c.values.resize(8);
      std::fill(c.values.begin(), c.values.end(), std::byte{0});
    }
    if (empty_) out.columns[0].first_sample[2] = out.columns[0].first_sample[1];
  }
  std::vector<StreamInfo> streams_ = {{.name = "a", .dim = 1}, {.name = "b", .dim = 1}};
  std::vector<ChunkInfo> chunks_ = {{2, 2, 0}};
  bool empty_ = false;
};

TEST(Convert, TextMustHaveASampleOfEveryStream) {
  const ScratchFolder folder;
  Gappy source;
  EXPECT_EQ(refusal(source, folder / "a.ctf", {.to = Format::ctf}), "convert.no-sample");
  EXPECT_EQ(refusal(source, folder / "a.cbf", {}), "");
  source.empty_ = true;
  const ConvertResult result = convert(source, folder / "b.cbf", {});
  EXPECT_EQ(result.sequences, 1u);
  EXPECT_EQ(result.left_out, 1u);
}

TEST(Convert, RefusesStreamsOfDifferentPrecisionAndEmptyCorpora) {
  const ScratchFolder folder;
  Gappy source;
  source.streams_[1].element = Element::f64;
  EXPECT_EQ(refusal(source, folder / "a.cbf", {}), "convert.mixed-precision");
  source.streams_[1].element = Element::f32;
  source.chunks_.clear();
  EXPECT_EQ(refusal(source, folder / "a.cbf", {}), "convert.nothing");
  EXPECT_TRUE(folder.names().empty());
}

TEST(Convert, ProgressGrowsToItsTotal) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", long_text(3000)));
  for (const bool shuffled : {false, true}) {
    std::uint64_t last = 0, all = 0;
    bool grows = true;
    ConvertOptions options{.force = true};
    if (shuffled) options.shuffle = 1;
    options.shuffle_memory = 50'000;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      grows = grows && done >= last && done <= total;
      last = done;
      all = total;
    };
    convert(*source, folder / "x", options);
    EXPECT_TRUE(grows);
    EXPECT_GT(all, 0u);
    EXPECT_EQ(last, all) << shuffled;
  }
}

TEST(Convert, GivesUpWhenProgressThrows) {
  const ScratchFolder folder;
  auto options = std::get<CtfOptions>(text_options(folder.write("a.ctf", long_text(3000))));
  options.chunk_bytes = 4000;
  const auto source = open_source(options);
  struct Stop {};
  EXPECT_THROW(
      convert(*source, folder / "x", {.jobs = 3, .progress = [](std::uint64_t, std::uint64_t) { throw Stop(); }}),
      Stop);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ctf"});
}

// One file for each of millions of sequences takes minutes, so progress, which may throw, is called while they are
// written.
TEST(Convert, ProgressIsAskedWithinAChunk) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", long_text(3000)));
  ASSERT_EQ(source->chunks().size(), 1u);
  for (const Format to : {Format::scp, Format::cbf}) {
    int asked = 0;
    struct Stop {};
    ConvertOptions options{.to = to, .streams = {source->streams().front().name}, .file_for_each_sequence = true};
    options.progress = [&](std::uint64_t done, std::uint64_t) {
      EXPECT_EQ(done, 0u);
      if (++asked == 3) throw Stop();
    };
    EXPECT_THROW(convert(*source, folder / "x", options), Stop);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.ctf"});
  }
}

// A defect of the writer is simulated by replacing the file that it has written.
TEST(Convert, VerifyingNoticesWhatReadsOtherwise) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", kText));
  for (const auto& [was, is] : std::map<std::string, std::string>{{"2.5", "2.4"}, {"12 |F", "9 |F"}}) {
    std::string other = kText;
    other.replace(other.find(was), was.size(), is);
    bool renamed = false;
    const FaultySys replaces([&](const ::batchfeed::testing::Call& call) {
      if (renamed) folder.write("b.ctf", other);
      renamed = call.name == "rename";
      return 0;
    });
    EXPECT_EQ(refusal(*source, folder / "b.ctf", {.to = Format::ctf, .force = true, .verify = true}),
              "convert.differs");
  }
}

TEST(Convert, RemovesWhatAKilledRunLeftLongAgo) {
  const ScratchFolder folder;
  const auto source = text_source(folder.write("a.ctf", kText));
  folder.write("b.cbf.tmp.OLDOLD", "x");
  folder.write("b.cbf.tmp.YOUNGX", "x");
  folder.write("c.cbf.tmp.OLDOLD", "x");
  for (const char* name : {"b.cbf.tmp.OLDOLD", "c.cbf.tmp.OLDOLD"}) {
    std::filesystem::last_write_time(folder / name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  convert(*source, folder / "b.cbf", {});
  EXPECT_EQ(folder.names(),
            (std::vector<std::string>{"a.ctf", "b.cbf", "b.cbf.keys", "b.cbf.tmp.YOUNGX", "c.cbf.tmp.OLDOLD"}));
}

// Each system call fails in turn: the target is then the old file or complete, and no other
// file remains.
TEST(Convert, ASystemCallThatFailsLeavesTheOldOrTheWholeFile) {
  const ScratchFolder folder;
  const std::string input = folder.write("a.ctf", kText);
  convert(*text_source(input), folder / "whole", {.keys = ConvertOptions::Keys::none});
  const std::string whole = content_of(folder / "whole");
  for (std::uint64_t n = 1;; ++n) {
    folder.write("x.cbf", "old");
    bool done = false;
    {
      const auto source = text_source(input);
      const FaultySys faulty(nth_call(n, EIO));
      try {
        convert(*source, folder / "x.cbf", {.keys = ConvertOptions::Keys::none, .jobs = 1, .force = true});
        done = faulty.calls() < n;
      } catch (const Error& e) {
        EXPECT_EQ(e.fault().kind, FaultKind::io) << e.what();
      }
    }
    const std::string now = content_of(folder / "x.cbf");
    EXPECT_TRUE(now == "old" || now == whole) << n;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.ctf", "whole", "x.cbf"})) << n;
    if (done) {
      EXPECT_EQ(now, whole);
      EXPECT_GT(n, 5u);
      break;
    }
    ASSERT_LT(n, 200u);
  }
}

}  // namespace
}  // namespace batchfeed
