// SPDX-License-Identifier: MIT
#include "formats/ctf/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "formats/ctf/ctf.h"
#include "formats/ctf/opened_testing.h"
#include "io/atomic_file.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::Call;
using batchfeed::testing::FaultySys;
using batchfeed::testing::ScratchFolder;
using ::testing::HasSubstr;

TEST(Opening, FaultsHaveTheirPlace) {
  const CtfOptions options = options_for({"A:d1"});
  const Fault no_id = open_fault("\n  abc |A 2\n", options);
  EXPECT_EQ(no_id.id, "ctf.no-id");
  EXPECT_EQ(no_id.at.line, 2u);
  EXPECT_EQ(no_id.at.column, 3u);
  EXPECT_EQ(open_fault(std::string("nib_ktnc\1\0\0\0", 12), options).hint,
            "this is a CNTK binary file, which `CNTKBinaryReader` reads");
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
  EXPECT_EQ(open_fault("|A 1\n", options_for({"A:s2147483648"})).kind, FaultKind::limit);
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
  EXPECT_EQ(open_fault("|A 1\n", options).kind, FaultKind::config);
  EXPECT_EQ(open_fault("|A 1\n", options_for({"A:s2147483648"})).kind, FaultKind::limit);
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

TEST(Opening, AnEndThatIsTornIsTold) {
  const std::string whole = "1 |A 1\n2 |A 2\n";
  const auto told = [](const std::string& text) {
    const ScratchFolder folder;
    Collector collector;
    const CtfSource source(options_for({"A:d1"}), folder.write("t.ctf", text), collector.context(KeyMode::numeric));
    std::string out;
    for (const Notice& n : collector.notices)
      out += n.fault.id + ' ' + std::to_string(n.fault.at.line) + ':' + std::to_string(n.fault.at.byte) + ' ';
    return out;
  };
  for (const char* end : {"", "\n", "\r\n", "\r", "3 |A 3", "3 |A 3\r", "3 |A 3\n", "  ", "\x1A", "|# end"})
    EXPECT_EQ(told(whole + end), "") << end;
  EXPECT_EQ(told(whole + "3"), "ctf.torn-end 3:14 ");
  EXPECT_EQ(told(whole + "345 "), "ctf.torn-end 3:14 ");
  EXPECT_EQ(told(whole + "3\r"), "ctf.torn-end 3:14 ");
  EXPECT_EQ(told(whole + std::string(1, '\0')), "ctf.torn-end 3:14 ");
  EXPECT_EQ(told(whole + "3 |A " + std::string(4000, '\0')), "ctf.torn-end 3:19 ");
  EXPECT_EQ(told(whole + std::string(5000, '\0')), "ctf.torn-end 3:" + std::to_string(14 + 5000 - 4096) + ' ');
  // A line that is longer than what is looked at.
  EXPECT_EQ(told(whole + "3 |A 3 |# " + std::string(5000, 'x')), "");
}

TEST(Opening, WhatWasLeftOutIsTold) {
  const Opened opened("1 |A 1\n2 |C 2\n3 |C 3\n", options_for({"A:d1"}));
  const std::vector<Notice> notices = opened.source->notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].fault.id, "ctf.left-out");
  EXPECT_EQ(notices[0].severity, Severity::info);
  EXPECT_EQ(notices[0].fault.at.line, 2u);
  const Fault no_ids = open_fault("\n|# two lines\n  |A 1\n", options_for({"A:d1"}), KeyMode::text);
  EXPECT_EQ(no_ids.id, "ctf.keys-need-ids");
  EXPECT_EQ(no_ids.at.line, 3u);
  EXPECT_EQ(no_ids.at.column, 3u);
  EXPECT_EQ(no_ids.at.byte, 16u);
  CtfOptions passed_over = options_for({"A:d1"});
  passed_over.skip_sequence_ids = true;
  EXPECT_EQ(open_fault("7 |A 1\n", passed_over, KeyMode::text).what,
            "the sequence ids are passed over, but keys are text");
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

// A compressed file may hold a thousand times its size: of one line, or of many sequences. Up to 64 MiB of
// the one and 32 of the other pass; beyond it is bounded by what the file takes.
TEST(Opening, WhatACompressedTextMayTakeIsBoundedByItsSize) {
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
    context.limits.unpack_held_ratio = times_the_size;
    context.limits.unpack_ratio = 1 << 20;
    CtfOptions options = options_for({"A:d1"});
    options.skip_sequence_ids = true;
    try {
      return std::to_string(CtfSource(options, path, context).index().entries.size());
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().kind, FaultKind::limit);
      if (error.fault().id != "compressed.unsupported") {
        EXPECT_THAT(error.fault().hint, HasSubstr("limits.unpack_held_ratio"));
      }
      return error.fault().id;
    }
  };
  const std::string long_line = "|A 1" + std::string(129u << 20, ' ') + "\n|A 2\n";
  if (open(long_line, 1) == "compressed.unsupported") GTEST_SKIP() << "built without zstd";
  EXPECT_EQ(open(long_line, 1), "limit.line");
  EXPECT_EQ(open(long_line, 1 << 20), "2");
  EXPECT_EQ(open("|A 1" + std::string(60u << 20, ' ') + "\n", 1), "1");

  constexpr std::size_t kPass = io::kAnyCompressedIndex / sizeof(IndexEntry);
  std::string lines;
  for (std::size_t i = 0; i <= kPass; ++i) lines += "|A 1\n";
  EXPECT_EQ(open(lines, 1), "limit.compressed-index");
  EXPECT_EQ(open(lines, 1, 3), "limit.compressed-index");
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

// A window may hold very many chunks of a line each.
TEST(Reading, AShortChunkTakesLittleMemory) {
  CtfOptions options = options_for({"A:s90", "B:s9"});
  options.chunk_bytes = 1;
  const Opened opened("1 |A 70:1 |B 3:1\n2 |A 71:1.5 80:2 |B 4:1\n", options);
  for (std::uint32_t c = 0; c < 2; ++c) EXPECT_LE(opened.read(c).memory(), 1000u);
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

TEST(Reading, PixelsAreSeenAtAGlance) {
  const CtfOptions options = options_for({"A:d3", "AB:d3"});
  const auto narrow = [&](const std::string& text) {
    const Opened opened(text, options);
    const RowReader& rows = *opened.source->row_reader(0);
    return std::string(rows.may_be_narrow(0, 0) ? "A" : "") + (rows.may_be_narrow(0, 1) ? "B" : "");
  };
  EXPECT_EQ(narrow("1 |A 1 2 255 |AB 0 0 0\n"), "AB");
  EXPECT_EQ(narrow("1 |AB 1 2 255\t|A\t.5 0 0\n"), "B");
  EXPECT_EQ(narrow("1 |AB 1 2 -1\r\n1 |A 4 5 6\r\n"), "A");
  EXPECT_EQ(narrow("|A 1.0 2 3\n|A 1 2 3\n|AB 1 2 3"), "");
  EXPECT_EQ(narrow("|A 1 2 3"), "A");
  EXPECT_EQ(narrow("|A 1 2 " + std::string(9000, ' ') + "3.5\n"), "A");  // no more than a glance
}

TEST(Reading, LabelsAreSeenAtAGlance) {
  const auto narrow = [&](const std::string& text) {
    const Opened opened(text, options_for({"A:s30"}));
    return opened.source->row_reader(0)->may_be_narrow(0, 0);
  };
  for (const char* text : {"1 |A 2:1\n", "1\t|A 12:1 \t|# x\n1 |A 3:1", "|A 2:1\r\n", "|A 2:1", "|B 1 |A 7:1 |B 2\n"})
    EXPECT_TRUE(narrow(text)) << text;
  for (const char* text :
       {"|A 2:1 3:1\n", "|A 2:10\n", "|A 2:0\n", "|A 2:1.5\n", "|A 2\n", "|A 2", "|A \n", "|A 2:\n", "|A 2|B 3:1\n"})
    EXPECT_FALSE(narrow(text)) << text;
}

TEST(Reading, PlaceGivesBytesAndLines) {
  const Opened opened("\n1 |A 1\n|A 2\n2 |A 3\n", options_for({"A:d1"}));
  const Place place = opened.source->place(0, 0);
  EXPECT_EQ(place.begin, 1u);
  EXPECT_EQ(place.end, 13u);
  EXPECT_EQ(place.first_line, 2u);
  EXPECT_EQ(place.last_line, 3u);
}

TEST(Reading, LinesAreCountedOfBytesThatWereRead) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + " |A 1\n";  // some blocks of what lines are counted in
  CtfOptions options = options_for({"A:d1"});
  options.chunk_bytes = 1000;
  const Opened opened(text, options);
  const auto line_of = [&](std::uint32_t chunk) { return opened.source->place(chunk, 0).first_line; };
  const std::uint32_t last = static_cast<std::uint32_t>(opened.source->chunks().size() - 1);
  const std::uint64_t first_of_last = 20'001 - opened.source->chunks()[last].sequences;
  EXPECT_EQ(line_of(0), 1u);
  {
    const FaultySys faulty(batchfeed::testing::every("pread", EIO));
    EXPECT_THROW(line_of(last), Error);
  }
  EXPECT_EQ(line_of(last), first_of_last);
  EXPECT_EQ(line_of(1), 1 + opened.source->chunks()[0].sequences);
  EXPECT_EQ(line_of(last), first_of_last);
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

TEST(Trouble, ThatHandleIsOfTheSameFileWhereverTheProcessIs) {
  const ScratchFolder folder;
  folder.write("there/t.ctf", "1 |A 1\n");
  CtfOptions options = options_for({"A:d1"});
  options.files = {"t.ctf"};
  Collector collector;
  OpenContext context = collector.context(KeyMode::numeric);
  context.file_system.folder = folder / "there";
  const auto source = ctf::open(options, "t.ctf", context);
  Chunk chunk;
  std::uint64_t preads = 0;
  const FaultySys faulty([&](const Call& call) { return call.name == "pread" && ++preads == 1 ? EIO : 0; });
  source->read(0, chunk);
  EXPECT_EQ(chunk.columns[0].samples(0), 1u);
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

}  // namespace
}  // namespace batchfeed::ctf
