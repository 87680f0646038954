// SPDX-License-Identifier: MIT
//
// A table of damaged and hostile files, each with the fault it must give: the
// mutations of docs/reference/formats/cbf.md, then counts at every boundary,
// offsets that overlap or point nowhere, names, indices, and the older layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "formats/cbf/both_ways_testing.h"
#include "formats/cbf/faults.h"
#include "formats/cbf/golden_testing.h"

namespace batchfeed::cbf {
namespace {

using golden::Bytes;
using golden::Opened;
using golden::put;
using golden::TempFile;
using golden::with;

// All faults a file gives when it is opened and read whole: notices, then the
// one that ended it.
std::vector<Fault> faults_of(const Bytes& bytes, bool check = false) {
  const TempFile file(bytes);
  std::vector<Fault> out;
  OpenContext context;
  context.report = [&](const Notice& n) { out.push_back(n.fault); };
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  context.check = check;
  try {
    const auto source = open({}, file.path(), context);
    Chunk chunk;
    for (std::uint32_t c = 0; c < source->chunks().size(); ++c) source->read(c, chunk);
  } catch (const Error& e) {
    out.push_back(e.fault());
  }
  for (const Fault& f : out) {
    EXPECT_EQ(f.at.file, file.path()) << f.text();
    EXPECT_TRUE(!f.at.has_byte || f.at.byte <= bytes.size()) << f.text();
  }
  return out;
}

struct Row {
  std::string name;
  Bytes bytes;
  std::vector<std::string> ids;  // in order of appearance; empty: accepted
};

Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}
Bytes text(Bytes bytes, std::size_t at, const std::string& what) {
  for (std::size_t i = 0; i < what.size(); ++i) bytes[at + i] = static_cast<std::uint8_t>(what[i]);
  return bytes;
}
template <class T>
Bytes at(std::size_t offset, T value) {
  return with(golden::modern(), offset, value);
}
template <class T>
Bytes old(std::size_t offset, T value) {
  return with(golden::legacy(), offset, value);
}

// A file of one sparse stream 'x' and one chunk with these bytes.
Bytes sparse_file(std::uint32_t dim, std::uint32_t sequences, std::uint32_t samples, const Bytes& chunk,
                  std::uint8_t element = 0) {
  Bytes out;
  put(out, std::uint64_t{0x636e746b5f62696e});
  put(out, 1u);
  out.insert(out.end(), chunk.begin(), chunk.end());
  const std::uint64_t header = out.size();
  put(out, std::uint64_t{0x636e746b5f62696e});
  put(out, 1u);
  put(out, 1u);
  put(out, std::uint8_t{1});
  put(out, 1u);
  put(out, 'x');
  put(out, element);
  put(out, dim);
  put(out, std::int64_t{12});
  put(out, sequences);
  put(out, samples);
  put(out, header);
  return out;
}
Bytes words(std::initializer_list<std::uint32_t> list) {
  Bytes out;
  for (const std::uint32_t w : list) put(out, w);
  return out;
}

// Section 10 of the format's description: the 191-byte example, one change each.
std::vector<Row> mutations() {
  const Bytes whole = golden::modern();
  Bytes longer = whole;
  longer.insert(longer.end(), {'x', 'x'});
  return {
      {"other magic", at(0x00, std::uint8_t{'m'}), {"cbf.not-cbf"}},
      {"version 2", at(0x08, 2u), {"cbf.unsupported-version"}},
      {"version 0", at(0x08, 0u), {"cbf.unsupported-version"}},
      {"empty file", {}, {"cbf.too-small"}},
      {"4 bytes", cut(whole, 4), {"cbf.too-small"}},
      {"8 bytes", cut(whole, 8), {"cbf.too-small"}},
      {"12 bytes", cut(whole, 12), {"cbf.too-small"}},
      {"35 bytes", cut(whole, 35), {"cbf.too-small"}},
      {"last byte dropped", cut(whole, 190), {"cbf.bad-header-offset"}},
      {"two bytes appended", longer, {"cbf.bad-header-offset"}},
      {"header offset -5", at(0xb7, std::int64_t{-5}), {"cbf.bad-header-offset"}},
      {"header offset 0", at(0xb7, std::int64_t{0}), {"cbf.bad-header-offset"}},
      {"header offset 12", at(0xb7, std::int64_t{12}), {"cbf.bad-header-magic"}},
      {"header offset 10000", at(0xb7, std::int64_t{10000}), {"cbf.bad-header-offset"}},
      {"numChunks 2", at(0x84, 2u), {"cbf.bad-chunk-table"}},
      {"numChunks 0", at(0x84, 0u), {"cbf.bad-chunk-table", "cbf.no-samples"}},
      {"numStreams 3", at(0x88, 3u), {"cbf.unknown-encoding"}},
      {"numStreams 0", at(0x88, 0u), {"cbf.bad-stream-count"}},
      {"encoding 2", at(0x8c, std::uint8_t{2}), {"cbf.unknown-encoding"}},
      {"nameLen 100000", at(0x8d, 100000u), {"cbf.bad-name-length"}},
      {"elemType 2", at(0x95, std::uint8_t{2}), {"cbf.unknown-element-type"}},
      {"elemType 1", at(0x95, std::uint8_t{1}), {"cbf.precision-mismatch"}},
      {"dense dim 0", at(0x96, 0u), {"cbf.bad-dimension"}},
      {"dense dim 3", at(0x96, 3u), {"cbf.sequence-truncated"}},
      {"sparse dim 2^31", at(0xa3, 0x80000000u), {"cbf.bad-dimension"}},
      {"sparse dim 4", at(0xa3, 4u), {"cbf.index-out-of-range"}},
      {"chunk offset 13", at(0xa7, std::int64_t{13}), {"cbf.sample-count-mismatch", "limit.claimed-samples"}},
      {"chunk offset -1", at(0xa7, std::int64_t{-1}), {"cbf.bad-chunk-offset"}},
      {"chunk offset 200", at(0xa7, std::int64_t{200}), {"cbf.bad-chunk-offset"}},
      {"numSequences 0", at(0xaf, 0u), {"cbf.sample-count-mismatch", "cbf.trailing-bytes-in-chunk", "cbf.no-samples"}},
      {"numSequences 1", at(0xaf, 1u), {"cbf.sample-count-mismatch", "cbf.sequence-truncated"}},
      {"numSequences 5", at(0xaf, 5u), {"cbf.sample-count-mismatch", "limit.claimed-samples"}},
      {"numSamples 99", at(0xb3, 99u), {"cbf.sample-count-mismatch"}},
      {"sampleCount 7", at(0x0c, 7u), {"cbf.sample-count-mismatch"}},
      {"nnz -1", at(0x38, -1), {"cbf.bad-nnz"}},
      {"nnz 5", at(0x38, 5), {"cbf.bad-sample-sizes"}},
      {"sample size 3", at(0x5c, 3), {"cbf.bad-sample-sizes"}},
      {"index 5", at(0x4c, 5), {"cbf.index-out-of-range"}},
  };
}

// Counts at every boundary, in every field that counts.
std::vector<Row> counts() {
  std::vector<Row> rows;
  const auto all = [&](const char* field, std::size_t offset, const char* id,
                       std::initializer_list<std::uint32_t> values) {
    for (const std::uint32_t v : values) rows.push_back({field + (' ' + std::to_string(v)), at(offset, v), {id}});
  };
  all("numChunks", 0x84, "cbf.bad-chunk-table",
      {2, 3, 0x0FFFFFFF, 0x10000000, 0x10000001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
  all("numStreams", 0x88, "cbf.bad-stream-count", {5, 0x0FFFFFFF, 0x1999999A, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
  all("nameLen", 0x8d, "cbf.bad-name-length", {44, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF});
  all("numSequences", 0xaf, "cbf.chunk-too-small", {29, 0x40000000, 0x3FFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
  all("dense N", 0x14, "cbf.sequence-truncated",
      {13, 0x10000000, 0x1FFFFFFF, 0x20000000, 0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
  all("dense dim", 0x96, "cbf.sequence-truncated", {0x40000000, 0x7FFFFFFF});
  all("dense dim", 0x96, "limit.dim", {0x80000000, 0xFFFFFFFF});
  all("sparse dim", 0xa3, "cbf.bad-dimension", {0, 0x80000001, 0xFFFFFFFF});
  all("sparse N", 0x34, "cbf.sequence-truncated", {9, 0x3FFFFFFF, 0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
  all("nnz", 0x38, "cbf.sequence-truncated", {8, 0x1FFFFFFF, 0x20000000, 0x7FFFFFFF});
  all("nnz", 0x38, "cbf.bad-nnz", {0x80000000, 0xFFFFFFFF});
  all("sample size", 0x5c, "cbf.bad-sample-sizes", {0, 1, 3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE});
  all("index", 0x4c, "cbf.index-out-of-range", {5, 6, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF});
  return rows;
}

std::vector<Row> structure() {
  const Bytes name_nul = text(golden::modern(), 0x91, std::string("f\0at", 4));
  const Bytes name_empty = text(golden::modern(), 0x91, std::string("\0eat", 4));
  Bytes two_chunks = golden::modern();  // a second row that points at the first chunk again
  two_chunks.insert(two_chunks.begin() + 0xb7, 16, 0);
  two_chunks = with(with(two_chunks, 0x84, 2u), 0xb7, std::int64_t{11});
  Bytes polyglot = golden::modern();  // the header's magic stands in the data too
  polyglot = with(with(polyglot, 0x18, std::uint64_t{0x636e746b5f62696e}), 0xb7, std::int64_t{0x18});
  Bytes swapped = golden::from_hex("63 6e 74 6b 5f 62 69 6e");
  swapped.resize(64);
  Bytes same_name = golden::modern();
  same_name.insert(same_name.begin() + 0x9f, 'f');
  same_name = text(with(same_name, 0x9b, 4u), 0x9f, "feat");
  const Bytes good = words({1, 1, 1, 0x3f800000, 2, 1});
  return {
      {"name one byte short", text(with(golden::modern(), 0x8d, 3u), 0x91, "lab"), {"cbf.unknown-element-type"}},
      {"two streams of one name", same_name, {"cbf.duplicate-stream"}},
      {"name that takes the header's rest", at(0x8d, 38u), {"cbf.bad-stream-name", "cbf.header-truncated"}},
      {"name with NUL", name_nul, {"cbf.bad-stream-name"}},
      {"name that is only NUL", name_empty, {"cbf.bad-stream-name", "cbf.bad-stream-name"}},
      {"name that is not UTF-8", text(golden::modern(), 0x91, "\xff\xfe\x80z"), {"cbf.bad-stream-name"}},
      {"overlong UTF-8", text(golden::modern(), 0x91, "\xc0\x80zz"), {"cbf.bad-stream-name"}},
      {"offsets descend", two_chunks, {"cbf.bad-chunk-offset"}},
      {"header in the data", polyglot, {"cbf.bad-stream-count"}},
      {"written big-endian", swapped, {"cbf.not-cbf"}},
      {"all zero", Bytes(100, 0), {"cbf.not-cbf"}},
      {"text", text(Bytes(100, ' '), 0, "0 |F 1 2 |S 1:0.5"), {"cbf.not-cbf"}},
      {"one sparse sequence", sparse_file(5, 1, 1, good), {}},
      {"trailing bytes in the chunk",
       sparse_file(5, 1, 1, words({1, 1, 1, 0x3f800000, 2, 1, 0})),
       {"cbf.trailing-bytes-in-chunk"}},
      {"indices descend", sparse_file(5, 1, 1, words({1, 1, 2, 0, 0, 3, 1, 2})), {"cbf.unsorted-indices"}},
      {"index twice", sparse_file(5, 1, 1, words({1, 1, 2, 0, 0, 3, 3, 2})), {"cbf.duplicate-index"}},
      {"sizes cancel out", sparse_file(5, 1, 2, words({2, 2, 0, 0xFFFFFFFF, 1})), {"cbf.bad-sample-sizes"}},
      {"sizes wrap to nnz",
       sparse_file(5, 1, 3, words({3, 3, 2, 0, 0, 1, 2, 0x7FFFFFFF, 0x7FFFFFFF, 4})),
       {"cbf.bad-sample-sizes"}},
      {"entries without samples", sparse_file(5, 1, 1, words({1, 0, 1, 0, 2})), {"cbf.bad-sample-sizes"}},
      {"no samples", sparse_file(5, 1, 0, words({0, 0, 0})), {"cbf.empty-sequence", "cbf.no-samples"}},
      {"lengths wrap to numSamples",
       sparse_file(5, 2, 0, words({0x80000000, 0x80000000, 0, 0, 0, 0})),
       {"cbf.sample-count-mismatch", "limit.claimed-samples"}},
      {"length of 2^32 - 1", at(0x0c, 0xFFFFFFFF), {"cbf.sample-count-mismatch", "limit.claimed-samples"}},
      {"sequence cut before its head", sparse_file(5, 1, 1, words({1})), {"cbf.sequence-truncated"}},
      {"sequence cut in its head", sparse_file(5, 1, 1, words({1, 1})), {"cbf.sequence-truncated"}},
  };
}

std::vector<Row> older_layout() {
  const Bytes whole = golden::legacy();
  Bytes stray = golden::from_hex(
      "01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 01 00 00 00 61 00 00 00 00 00 00 00 00 01 00 00 00");
  stray.resize(stray.size() + 16);
  std::vector<Row> rows = {
      {"intact", whole, {}},
      {"no chunks, one stray row", stray, {"cbf.no-samples"}},
      {"version 2", old(0x00, std::int64_t{2}), {"cbf.not-cbf"}},
      {"chunks -1", old(0x08, std::int64_t{-1}), {"cbf.bad-legacy-header"}},
      {"chunks 2^60", old(0x08, std::int64_t{1} << 60), {"cbf.bad-legacy-header"}},
      {"streams 0", old(0x10, 0), {"cbf.bad-legacy-header"}},
      {"streams -1", old(0x10, -1), {"cbf.bad-legacy-header"}},
      {"streams 2^31-1", old(0x10, 0x7FFFFFFF), {"cbf.bad-legacy-header"}},
      {"name length -1", old(0x14, -1), {"cbf.bad-legacy-header"}},
      {"name length 2^31-1", old(0x14, 0x7FFFFFFF), {"cbf.bad-legacy-header"}},
      {"kind 2", old(0x1c, 2), {"cbf.bad-legacy-header"}},
      {"dense element 2", old(0x20, 2), {"cbf.bad-legacy-header"}},
      {"dense element 1", old(0x20, 1), {"cbf.precision-mismatch"}},
      {"dense dim 0", old(0x24, 0), {"cbf.bad-legacy-header"}},
      {"dense dim -1", old(0x24, -1), {"cbf.bad-legacy-header"}},
      {"dense dim 2^31-1", old(0x24, 0x7FFFFFFF), {"cbf.chunk-too-small"}},
      {"storage type 1", old(0x33, 1), {"cbf.bad-legacy-header"}},
      {"is-sequence 2", old(0x3b, 2), {"cbf.bad-legacy-header"}},
      {"chunk offset -1", old(0x43, std::int64_t{-1}), {"cbf.bad-legacy-header"}},
      {"chunk offset 1000", old(0x43, std::int64_t{1000}), {"cbf.bad-legacy-header"}},
      {"chunk offset 8", old(0x43, std::int64_t{8}), {"cbf.sequence-truncated"}},
      {"sequences -1", old(0x4b, -1), {"cbf.bad-legacy-header"}},
      {"sequences 2^31-1", old(0x4b, 0x7FFFFFFF), {"cbf.chunk-too-small"}},
      {"samples -1", old(0x4f, -1), {"cbf.bad-legacy-header"}},
      {"nnz -1", old(0x63, -1), {"cbf.bad-nnz"}},
      {"nnz 2^31-1", old(0x63, 0x7FFFFFFF), {"cbf.sequence-truncated"}},
      {"row -1", old(0x77, -1), {"cbf.bad-legacy-row"}},
      {"rows go back a sample", old(0x7b, 12), {"cbf.bad-legacy-row"}},
      {"row 2^31-1 of a sequence", old(0x7f, 0x7FFFFFFF), {"cbf.sample-count-mismatch", "limit.claimed-samples"}},
      {"row of an empty sample too many", old(0x7f, 20972500), {"cbf.sample-count-mismatch", "limit.implied-samples"}},
      {"rows not sorted", old(0x77, 4), {"cbf.unsorted-indices"}},
      {"row twice", old(0x77, 3), {"cbf.duplicate-index"}},
      {"first column 1", old(0x87, 1), {"cbf.bad-legacy-columns"}},
      {"columns fall", old(0x8b, 5), {"cbf.bad-legacy-columns"}},
      {"columns -1", old(0x8b, -1), {"cbf.bad-legacy-columns"}},
      {"last column 3", old(0x8f, 3), {"cbf.bad-legacy-columns"}},
  };
  for (const std::size_t size : {20u, 24u, 40u, 66u, 82u})
    rows.push_back({"cut at " + std::to_string(size), cut(whole, size), {"cbf.bad-legacy-header"}});
  rows.push_back({"cut in the data", cut(whole, 0x83), {"cbf.sequence-truncated"}});
  rows.push_back({"cut behind the header", cut(whole, 0x53), {"cbf.chunk-too-small"}});
  return rows;
}

void expect(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::vector<std::string> ids;
    std::string all;
    for (const Fault& f : faults_of(row.bytes)) {
      ids.push_back(f.id);
      all += f.text() + '\n';
    }
    EXPECT_EQ(ids, row.ids) << row.name << '\n' << all;
    faults_of(row.bytes, true);  // a check sees it through as well
    const TempFile file(row.bytes);
    const testing::Given whole = testing::read_all(file.path(), {}, 0), parts = testing::read_all(file.path(), {}, 1);
    EXPECT_EQ(parts.faults, whole.faults) << row.name;
    if (row.ids.empty()) {
      EXPECT_EQ(parts.chunks, whole.chunks) << row.name;
    }
  }
}

TEST(CbfHostile, MutationsOfTheExample) { expect(mutations()); }
TEST(CbfHostile, CountsAtTheirBoundaries) { expect(counts()); }
TEST(CbfHostile, DamagedStructure) { expect(structure()); }
TEST(CbfHostile, DamagedOlderLayout) { expect(older_layout()); }

TEST(CbfHostile, ColumnsOfTheOlderLayoutSayWhatWasExpected) {
  const auto what = [](std::size_t at, int value) { return faults_of(old(at, value)).front().what; };
  EXPECT_THAT(what(0x87, 1), ::testing::HasSubstr("column 0 begins at entry 1, expected 0 to 0"));
  EXPECT_THAT(what(0x8b, 5), ::testing::HasSubstr("column 1 begins at entry 5, expected 0 to 4"));
  EXPECT_THAT(what(0x8f, 3), ::testing::HasSubstr("column 2 begins at entry 3, expected 4 to 4"));
}

TEST(CbfHostile, ASequenceCutBeforeItsCountSaysThatNothingIsKnownOfIt) {
  EXPECT_THAT(faults_of(sparse_file(5, 1, 1, words({1, 1}))).front().what,
              ::testing::HasSubstr("8 bytes needed for 0 samples, 4 left in the chunk"));
}

TEST(CbfHostile, HasAtLeastSixtyFiles) {
  EXPECT_GE(mutations().size() + counts().size() + structure().size() + older_layout().size(), 60u);
}

TEST(CbfHostile, EveryPrefixOfTheExamplesIsAFault) {
  for (const Bytes& whole : {golden::modern(), golden::legacy()}) {
    for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(faults_of(cut(whole, size)).empty()) << size;
  }
}

// Each limit: one less than the example needs is a fault, what it needs is enough.
TEST(CbfHostile, LimitsHold) {
  struct Case {
    std::uint64_t Limits::*field;
    std::uint64_t needed;
    const char* id;
  };
  for (const Case& c :
       {Case{&Limits::streams, 2, "limit.streams"}, Case{&Limits::name_bytes, 4, "limit.name-bytes"},
        Case{&Limits::dim, 5, "limit.dim"}, Case{&Limits::sequence_samples, 3, "limit.sequence-samples"},
        Case{&Limits::chunk_values, 6, "limit.chunk-values"}}) {
    const auto id_with = [&](std::uint64_t limit) -> std::string {
      const TempFile file(golden::modern());
      OpenContext context;
      context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
      context.limits.*c.field = limit;
      try {
        Chunk chunk;
        open({}, file.path(), context)->read(0, chunk);
      } catch (const Error& e) {
        EXPECT_EQ(e.fault().kind, FaultKind::limit);
        return e.fault().id;
      }
      return "";
    };
    EXPECT_EQ(id_with(c.needed), "") << c.id;
    EXPECT_EQ(id_with(c.needed - 1), c.id);
  }
}

TEST(CbfHostile, ACheckFindsMoreThanTheFirstDamage) {
  const Bytes bytes = with(with(golden::modern(), 0x4c, 5), 0x70 + 4, 9);  // both sequences
  std::vector<std::string> ids;
  for (const Fault& f : faults_of(bytes, true)) ids.push_back(f.id);
  EXPECT_EQ(ids,
            (std::vector<std::string>{"cbf.index-out-of-range", "cbf.unsorted-indices", "cbf.index-out-of-range"}));
}

TEST(CbfHostile, ACheckComparesTheLengths) {
  const Bytes bytes = with(with(golden::modern(), 0x0c, 7u), 0xb3, 8u);
  const std::vector<Fault> faults = faults_of(bytes, true);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].id, "cbf.sample-count-differs");
  EXPECT_EQ(faults[0].at.byte, 0x0cu);
}

TEST(CbfHostile, FaultsNameTheFieldTheValueAndTheBound) {
  const std::vector<Fault> faults = faults_of(at(0x8d, 100000u));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].at.byte, 0x8du);
  EXPECT_EQ(faults[0].what, "stream 0: name length 100000, only 38 bytes left in the header");
  const std::vector<Fault> other = faults_of(at(0x00, std::uint8_t{'m'}));
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other[0].what.substr(0, 39), "starts with 6d 69 62 5f 6b 74 6e 63, ex");
}

TEST(CbfHostile, NamesAreUtf8) {
  for (const char* good : {"", "a", "\xc3\xa9", "\xe0\xa0\x80", "\xe6\x97\xa5\xe6\x9c\xac", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  for (const char* bad : {"\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x9f\xbf", "\xe6\x97", "\xe6\x97(", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad)) << printable(bad);
}

}  // namespace
}  // namespace batchfeed::cbf
