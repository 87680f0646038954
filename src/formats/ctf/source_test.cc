// SPDX-License-Identifier: MIT
#include "formats/ctf/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <thread>

#include "formats/ctf/ctf.h"
#include "formats/ctf/testing.h"
#include "io/atomic_file.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::Call;
using batchfeed::testing::FaultySys;
using batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kBad = "1 |A x\n1 |A 2\n";

struct Opened {
  ScratchFolder folder;
  Collector collector;
  std::unique_ptr<CtfSource> source;

  Opened(const std::string& content, const CtfOptions& options, KeyMode keys = KeyMode::numeric)
      : source(std::make_unique<CtfSource>(options, folder.write("t.ctf", content), collector.context(keys))) {}
  Chunk read(std::uint32_t chunk = 0) const {
    Chunk out;
    source->read(chunk, out);
    return out;
  }
  Fault fault(std::uint32_t chunk = 0) const {
    try {
      read(chunk);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
};

Fault open_fault(const std::string& content, const CtfOptions& options, KeyMode keys = KeyMode::numeric) {
  try {
    const Opened opened(content, options, keys);
  } catch (const Error& e) {
    return e.fault();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(Budget, ToleratesAsManyErrorsAsItSays) {
  for (const std::uint64_t budget : {1u, 2u, 3u}) {
    const Opened opened(kBad, options_for({"A:d1"}, budget));
    const Chunk chunk = opened.read();
    EXPECT_EQ(chunk.columns[0].samples(0), 1u);
    EXPECT_EQ(opened.source->errors(), 1u);
  }
}

TEST(Budget, WithoutOneTheFirstErrorFailsWithItsPlace) {
  const Opened opened(kBad, options_for({"A:d1"}));
  const Fault fault = opened.fault();
  EXPECT_EQ(fault.id, "ctf.bad-number");
  EXPECT_EQ(fault.kind, FaultKind::format);
  EXPECT_EQ(fault.at.line, 1u);
  EXPECT_EQ(fault.at.column, 6u);
  EXPECT_EQ(fault.at.byte, 5u);
  EXPECT_EQ(fault.stream, "A");
  EXPECT_EQ(fault.what, "stream 'A' of sequence 1: expected a number, found 'x'");
  // Reading again fails again.
  EXPECT_EQ(opened.fault().at.column, 6u);
}

TEST(Budget, RepeatedInputsCostOneErrorASequence) {
  const Opened strict("1 |A 1.0 |B 2.0 |B 3.0\n", options_for({"A:d1", "B:d1"}));
  const Fault fault = strict.fault();
  EXPECT_EQ(fault.id, "ctf.repeated-input");
  EXPECT_EQ(fault.at.line, 1u);
  EXPECT_EQ(fault.at.column, 17u);
  EXPECT_EQ(fault.stream, "B");
  const Opened both("1 |A 1 |A 2 |B 1 |B 2\n", options_for({"A:d1", "B:d1"}, 1));
  const Chunk chunk = both.read();
  EXPECT_EQ(both.source->errors(), 1u);
  EXPECT_EQ(chunk.columns[0].samples(0), 2u);
  EXPECT_EQ(chunk.columns[1].samples(0), 2u);
}

TEST(Budget, ASequenceThatLacksAnInputIsDroppedForOneError) {
  const std::string text = "1 |A 1\n2 |A 2 |B 1:1\n";
  const Opened opened(text, options_for({"A:d1", "B:s10"}, 99999));
  const Chunk chunk = opened.read();
  EXPECT_TRUE(chunk.is_invalid(0));
  EXPECT_EQ(chunk.invalid[0], Chunk::kPaid);
  EXPECT_FALSE(chunk.is_invalid(1));
  EXPECT_EQ(chunk.columns[0].samples(0), 0u);
  EXPECT_EQ(chunk.columns[0].samples(1), 1u);
  EXPECT_EQ(opened.source->errors(), 1u);

  const Opened strict(text, options_for({"A:d1", "B:s10"}));
  const Fault fault = strict.fault();
  EXPECT_EQ(fault.id, "ctf.missing-input");
  EXPECT_EQ(fault.at.line, 1u);
  EXPECT_THAT(fault.what, HasSubstr("stream 'B' of sequence 1"));
}

TEST(Budget, AChunkIsCountedOnce) {
  const Opened opened(kBad, options_for({"A:d1"}, 5));
  for (int i = 0; i < 3; ++i) opened.read();
  EXPECT_EQ(opened.source->errors(), 1u);
  EXPECT_THAT(opened.collector.ids(), ElementsAre("ctf.bad-number"));
}

TEST(Budget, DamageInAChunkNobodyReadsIsNoMatter) {
  CtfOptions options = options_for({"A:d1"});
  options.chunk_bytes = 7;
  const Opened opened("1 |A 1\n2 |A 2\n3 |A x\n", options);
  opened.read(0);
  opened.read(1);
  EXPECT_EQ(opened.fault(2).at.line, 3u);
}

TEST(Budget, GarbageInPlaceOfASample) {
  const std::string text = "1 |A 1\n2 A 2\n3 |A 3\n";
  const Opened strict(text, options_for({"A:d1"}));
  const Fault fault = strict.fault();
  EXPECT_EQ(fault.id, "ctf.garbage");
  EXPECT_EQ(fault.at.line, 2u);
  EXPECT_EQ(fault.at.column, 3u);
  const Opened one(text, options_for({"A:d1"}, 1));
  const Chunk chunk = one.read();
  EXPECT_FALSE(chunk.is_invalid(0));
  EXPECT_TRUE(chunk.is_invalid(1));
  EXPECT_FALSE(chunk.is_invalid(2));
  EXPECT_EQ(one.source->errors(), 1u);
}

TEST(Messages, TraceLevelsDecideWhatIsTold) {
  const auto ids = [](const std::string& text, const std::vector<std::string>& streams, int level) {
    CtfOptions options = options_for(streams, 100);
    options.trace_level = level;
    const Opened opened(text, options);
    opened.read();
    return opened.collector.ids();
  };
  EXPECT_THAT(ids("1 |A 1 2\n", {"A:d3"}, 0), IsEmpty());
  EXPECT_THAT(ids("1 |A 1 2\n1 |A 3\n", {"A:d3"}, 1), ElementsAre("ctf.too-few-values"));
  EXPECT_THAT(ids("1 |A 1 |C 3\n", {"A:d1"}, 1), IsEmpty());
  EXPECT_THAT(ids("1 |A 1 |C 3\n", {"A:d1"}, 2), ElementsAre("ctf.unknown-input", "ctf.loaded"));
  EXPECT_THAT(ids("1 |A 1e999\n", {"A:d1"}, 1), ElementsAre("ctf.overflow"));
  EXPECT_THAT(ids("1 |A 1 |A 2\n1 |B 1\n", {"A:d1", "B:d1"}, 1), IsEmpty());
  EXPECT_THAT(ids("1 |A 1 |A 2 |B 1\n1 |B 1\n", {"A:d1", "B:d1"}, 1), ElementsAre("ctf.crowded-row"));
}

TEST(Messages, UnknownNamesSayWhatMayBeMeant) {
  CtfOptions options = options_for({"features:d1"});
  options.trace_level = 2;
  const Opened opened("|features 1 |feature 2\n", options);
  opened.read();
  ASSERT_FALSE(opened.collector.notices.empty());
  EXPECT_EQ(opened.collector.notices[0].fault.hint, "did you mean 'features'?");
}

TEST(Messages, EveryDamageHasItsPlaceAndCause) {
  struct Expect {
    const char* text;
    const char* id;
    std::uint64_t line, column;
    const char* says;
  };
  const Expect cases[] = {
      {"1 |D 1 2 3 |S 1:1\n", "ctf.too-many-values", 1, 10, "3 values, expected dim 2"},
      {"1 |D 1 2 |S 10:1\n", "ctf.index-range", 1, 13, "index 10 is not below dim 10"},
      {"1 |D 1 2 |S -1:1\n", "ctf.bad-index", 1, 13, "found '-1:1'"},
      {"1 |D 1 2 |S 3\n", "ctf.no-colon", 1, 13, "found '3'"},
      {"1 |D 1 2 |S 3:x\n", "ctf.bad-number", 1, 15, "found 'x'"},
      {"1 |D 1,5 2 |S 1:1\n", "ctf.bad-number", 1, 6, "found '1,5'"},
      {"1 |D 1 2 |S 1:1\n\n-6 |D 1 2 |S 1:1\n", "ctf.bad-id", 3, 1, "found '-6'"},
      {"1 |D 1 2 |S 1:1 | x\n", "ctf.empty-name", 1, 17, "found a blank"},
      {"1 |D 1 2\n2 |D 1 2 |S 1:1\n", "ctf.missing-input", 1, 1, "no sample"},
      {"\n1 |D 1 2 |S 99999999999999999999:1\n", "ctf.index-range", 2, 13, "'99999999999999999999'"},
  };
  for (const Expect& c : cases) {
    const Opened opened(c.text, options_for({"D:d2", "S:s10"}));
    const Fault fault = opened.fault();
    EXPECT_EQ(fault.id, c.id) << c.text;
    EXPECT_EQ(fault.at.line, c.line) << c.text;
    EXPECT_EQ(fault.at.column, c.column) << c.text;
    EXPECT_THAT(fault.what, HasSubstr(c.says)) << c.text;
  }
}

TEST(Opening, FaultsHaveTheirPlace) {
  const CtfOptions options = options_for({"A:d1"});
  const Fault no_id = open_fault("\n  abc |A 2\n", options);
  EXPECT_EQ(no_id.id, "ctf.no-id");
  EXPECT_EQ(no_id.at.line, 2u);
  EXPECT_EQ(no_id.at.column, 3u);
  const Fault range = open_fault("1 |A 1\n99999999999999999999 |A 1\n", options);
  EXPECT_EQ(range.id, "ctf.id-range");
  EXPECT_EQ(range.at.line, 2u);
  EXPECT_EQ(open_fault("|# only\n|# comments", options).id, "ctf.no-sequence");
  EXPECT_EQ(open_fault("\xEF\xBB\xBF \n", options).id, "ctf.empty");
  EXPECT_EQ(open_fault(std::string("\0\0\xFE\xFF\0\0\0\x31", 8), options).id, "ctf.utf16");
  EXPECT_THAT(open_fault("|Y 1\n", options_for({"X:d1!", "Y:d1"})).what, HasSubstr("'|X'"));
}

TEST(Opening, BadOptionsAreRefused) {
  const auto id = [](const std::vector<std::string>& streams) { return open_fault("|A 1\n", options_for(streams)).id; };
  EXPECT_EQ(id({"A:d0"}), "ctf.dim");
  EXPECT_EQ(id({"A:s2147483648"}), "limit.dim");
  EXPECT_EQ(id({"A:d1", "a:d1"}), "ctf.name");
  EXPECT_EQ(id({"X=A:d1", "A:d1"}), "ctf.alias");
  EXPECT_EQ(id({"A=B C:d1"}), "ctf.alias");
  EXPECT_EQ(id({"A=B|C:d1"}), "ctf.alias");
  EXPECT_EQ(id({"A=#C:d1"}), "ctf.alias");
  EXPECT_EQ(id({"A:d1!", "B:d1!"}), "ctf.main-stream");
  EXPECT_EQ(id({}), "ctf.no-streams");
  CtfOptions options = options_for({"A:d1"});
  options.chunk_bytes = 0;
  EXPECT_EQ(open_fault("|A 1\n", options).id, "ctf.chunk-size");
}

TEST(Opening, RepeatedIdsAreTold) {
  const Opened opened("1 |A 1\n2 |A 2\n\n1 |A 3\n2 |A 4\n", options_for({"A:d1"}));
  const std::vector<Notice> notices = opened.source->notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].fault.id, "ctf.repeated-id");
  EXPECT_EQ(notices[0].fault.at.line, 4u);
  EXPECT_THAT(notices[0].fault.what,
              HasSubstr("sequence id 1 comes back; it was used from line 1 on; 1 more sequence has"));
}

TEST(Opening, WhatWasLeftOutIsTold) {
  const Opened opened("1 |A 1\n2 |C 2\n3 |C 3\n", options_for({"A:d1"}));
  const std::vector<Notice> notices = opened.source->notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].fault.id, "ctf.left-out");
  EXPECT_EQ(notices[0].severity, Severity::info);
  EXPECT_EQ(notices[0].fault.at.line, 2u);
  EXPECT_EQ(open_fault("|A 1\n", options_for({"A:d1"}), KeyMode::text).id, "ctf.keys-need-ids");
}

TEST(Opening, WordsThatAreLeftOutGetNoNumber) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "a |C 1\nb |A 2\nc |C 3\nd |A 4\ne |C 5\n");
  for (const std::uint64_t range : {1u, 9u, 1000u}) {
    OpenContext context = quiet_context(KeyMode::text);
    context.threads = 3;
    const CtfSource source(options_for({"A:d1"}), path, context, {.range = range});
    ASSERT_EQ(source.index().entries.size(), 2u);
    EXPECT_EQ(source.index().entries[0].key, 0u);
    EXPECT_EQ(source.index().entries[1].key, 1u);
    EXPECT_EQ(source.key_text(1), "d");
  }
}

TEST(Opening, LongLinesAreBounded) {
  ScratchFolder folder;
  OpenContext context = quiet_context();
  context.limits.line_bytes = 4 << 20;
  const std::string path = folder.write("t.ctf", "|A 1\n|A " + std::string(9 << 20, '1') + '\n');
  try {
    const CtfSource source(options_for({"A:d1"}), path, context);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "limit.line");
  }
}

// A packed file may hold a thousand times its size: of one line, or of many sequences. Up to 64 MiB of
// the one and 32 of the other pass; beyond it is bounded by what the file takes.
TEST(Opening, WhatAPackedTextMayTakeIsBoundedByItsSize) {
  const ScratchFolder folder;
  const std::string path = folder / "t.ctf.zst";
  const auto open = [&](const std::string& text, std::uint64_t times_the_size, unsigned threads = 1) -> std::string {
    {
      io::AtomicFile file(path);
      file.append(std::as_bytes(std::span(text)));
      file.commit();
    }
    OpenContext context = quiet_context();
    context.threads = threads;
    context.limits.packed_ratio = times_the_size;
    context.limits.unpack_ratio = 1 << 20;
    CtfOptions options = options_for({"A:d1"});
    options.skip_sequence_ids = true;
    try {
      return std::to_string(CtfSource(options, path, context).index().entries.size());
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().kind, FaultKind::limit);
      if (error.fault().id != "packed.unsupported") {
        EXPECT_THAT(error.fault().hint, HasSubstr("limits.packed_ratio"));
      }
      return error.fault().id;
    }
  };
  const std::string long_line = "|A 1" + std::string(129u << 20, ' ') + "\n|A 2\n";
  if (open(long_line, 1) == "packed.unsupported") GTEST_SKIP() << "built without zstd";
  EXPECT_EQ(open(long_line, 1), "limit.line");
  EXPECT_EQ(open(long_line, 1 << 20), "2");
  EXPECT_EQ(open("|A 1" + std::string(60u << 20, ' ') + "\n", 1), "1");

  constexpr std::size_t kPass = io::kAnyPackedIndex / sizeof(IndexEntry);
  std::string lines;
  for (std::size_t i = 0; i <= kPass; ++i) lines += "|A 1\n";
  EXPECT_EQ(open(lines, 1), "limit.packed-index");
  EXPECT_EQ(open(lines, 1, 3), "limit.packed-index");
  EXPECT_EQ(open(lines, 1 << 20), std::to_string(kPass + 1));
}

TEST(Reading, TextKeysMayBeUtf8AndLong) {
  const Opened opened(
      "gr\xC3\xBC\xC3\x9F"
      "e |A 1\n|A 2\n\xE2\x82\xAC|A 3\n",
      options_for({"A:d1"}), KeyMode::text);
  std::vector<SequenceInfo> table;
  opened.source->sequences(0, table);
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(opened.source->key_text(table[0].key),
            "gr\xC3\xBC\xC3\x9F"
            "e");
  EXPECT_EQ(opened.source->key_text(table[1].key), "\xE2\x82\xAC");
  EXPECT_EQ(open_fault(std::string(5000, 'k') + " |A 1\n", options_for({"A:d1"}), KeyMode::text).id, "limit.key");
}

TEST(Reading, NamesMayBeUtf8) {
  const Opened opened("|\xC3\xA4 1 |\xC3\xA4\xC3\xB6 2\n", options_for({"A=\xC3\xA4:d1"}));
  EXPECT_EQ(opened.read().columns[0].as<double>()[0], 1);
}

TEST(Reading, ManyStreamsAreFoundByHash) {
  std::vector<std::string> streams;
  std::string line;
  for (int i = 0; i < 40; ++i) {
    streams.push_back("a-rather-long-name-" + std::to_string(i) + ":d1");
    line += " |a-rather-long-name-" + std::to_string(39 - i) + ' ' + std::to_string(39 - i);
  }
  const Opened opened("1" + line + " |a-rather-long-name-40 7\n", options_for(streams));
  const Chunk chunk = opened.read();
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(chunk.columns[i].as<double>()[0], static_cast<double>(i));
}

TEST(Reading, AChunksMemoryIsUsedAgain) {
  const Opened opened("1 |A 1 2 3\n2 |A 4 5 6\n", options_for({"A:d3"}));
  Chunk chunk;
  opened.source->read(0, chunk);
  const void* const values = chunk.columns[0].values.data();
  opened.source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].values.data(), values);
}

// What the first block holds foretells the rest, so that columns need not grow row by row.
TEST(Reading, AColumnsMemoryIsAskedForAtOnce) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    for (int n = 0; n < 8; ++n) text += std::to_string(10'000 + i) + " |A 1.5 |B 3:1\n";
  const Opened opened(text, options_for({"A:d1", "B:s9"}));
  const Chunk chunk = opened.read();
  for (const Column& column : chunk.columns) {
    ASSERT_EQ(column.values.size(), 160'000 * size_of(column.element));
    EXPECT_LE(column.values.capacity(), column.values.size() * 5 / 4);
    EXPECT_LE(column.indices.capacity(), column.indices.size() * 5 / 4);
    EXPECT_LE(column.first_value.capacity(), column.first_value.size() * 5 / 4);
  }
}

TEST(Reading, TwoThreadsGetTheSameData) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += std::to_string(i) + " |A " + std::to_string(i) + (i % 100 == 7 ? " x" : "") + "\n";
  CtfOptions options = options_for({"A:d1"}, 1000);
  options.chunk_bytes = 4096;
  const Opened opened(text, options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Chunk chunk;
      std::vector<SequenceInfo> table;
      const auto n = static_cast<std::uint32_t>(opened.source->chunks().size());
      for (std::uint32_t i = 0; i < 2 * n; ++i) {
        const std::uint32_t c = (i * 7 + t * 3) % n;
        opened.source->read(c, chunk);
        opened.source->sequences(c, table);
        for (const SequenceInfo& s : table) {
          const bool bad = s.key % 100 == 7;
          if (chunk.is_invalid(s.row) != bad) ++wrong;
          if (!bad && chunk.columns[0].as<double>()[chunk.columns[0].begin[s.row]] != static_cast<double>(s.key))
            ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(opened.source->errors(), 30u);
}

TEST(Reading, PlaceGivesBytesAndLines) {
  const Opened opened("\n1 |A 1\n|A 2\n2 |A 3\n", options_for({"A:d1"}));
  const Place place = opened.source->place(0, 0);
  EXPECT_EQ(place.begin, 1u);
  EXPECT_EQ(place.end, 13u);
  EXPECT_EQ(place.first_line, 2u);
  EXPECT_EQ(place.last_line, 3u);
}

TEST(Reading, TheFirstSequenceBeginsBehindLeadingWhiteSpace) {
  const auto begin = [](const char* text) { return Opened(text, options_for({"A:d1"})).source->place(0, 0).begin; };
  EXPECT_EQ(begin("  1 |A 1\n"), 2u);
  EXPECT_EQ(begin("\t\v\f\r 1 |A 1\n"), 5u);
  EXPECT_EQ(begin("\n \t\n\t1 |A 1\n"), 5u);
  EXPECT_EQ(begin("|# no white space\n  1 |A 1\n"), 18u);
}

TEST(Reading, FingerprintFollowsTheDataNotTheNameOrTime) {
  const CtfOptions options = options_for({"A:d1"});
  const Opened one("1 |A 1\n", options), same("1 |A 1\n", options), other("1 |A 2\n", options);
  EXPECT_EQ(one.source->fingerprint(), same.source->fingerprint());
  EXPECT_NE(one.source->fingerprint(), other.source->fingerprint());
  EXPECT_NE(one.source->fingerprint(), Opened("1 |A 1\n", options_for({"A:d2"})).source->fingerprint());
}

TEST(Trouble, AReadThatFailsOnceIsTriedAgainOnAFreshHandle) {
  const Opened opened("1 |A 1\n2 |A 2\n", options_for({"A:d1"}));
  std::vector<std::string> names;
  {
    std::uint64_t preads = 0;
    const FaultySys faulty([&](const Call& call) { return call.name == "pread" && ++preads == 1 ? EIO : 0; });
    EXPECT_EQ(opened.read().columns[0].samples(1), 1u);
    names = faulty.names();
  }
  EXPECT_THAT(names, ::testing::Contains("open"));
  {
    const FaultySys faulty(batchfeed::testing::every("pread", EIO));
    EXPECT_EQ(opened.fault().kind, FaultKind::io);
  }
  EXPECT_EQ(opened.read().columns[0].samples(1), 1u);
}

TEST(Trouble, ShortReadsDoNoHarm) {
  const FaultySys faulty;
  const_cast<FaultySys&>(faulty).at_most(3);
  const Opened opened("1 |A 1\n2 |A 2\n", options_for({"A:d1"}));
  EXPECT_EQ(opened.read().columns[0].samples(1), 1u);
}

TEST(Trouble, DataThatChangeAreStale) {
  const Opened opened("1 |A 1\n2 |A 2\n", options_for({"A:d1"}));
  opened.folder.write("t.ctf", "1 |A 1\n2 |A 2\n3 |A 3\n");
  EXPECT_EQ(opened.fault().kind, FaultKind::stale);
  opened.folder.write("t.ctf", "1 |A");
  EXPECT_EQ(opened.fault().kind, FaultKind::stale);
}

TEST(Check, ReportsEveryFault) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + " |A x\n|A 1\n";
  const ScratchFolder folder;
  Collector collector;
  OpenContext context = collector.context();
  context.check = true;
  const CtfSource source(options_for({"A:d1"}), folder.write("t.ctf", text), context);
  Chunk chunk;
  source.read(0, chunk);
  EXPECT_EQ(collector.notices.size(), 100u);
  EXPECT_EQ(collector.notices[99].fault.at.line, 199u);
}

}  // namespace
}  // namespace batchfeed::ctf
