// SPDX-License-Identifier: MIT
//
// Rows of a sparse stream of more than what is read at a time are found where they are, by
// one reader or by several, however their sizes differ.
#include "formats/cbf/walk.h"

#include <batchfeed/writer.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "formats/cbf/both_ways_testing.h"
#include "formats/cbf/fuzz_build_testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::cbf {
namespace {

using ::batchfeed::testing::ScratchFolder;

constexpr std::uint32_t kRows = 4000, kPart = 100;
const FileStream kStream = {.name = "s", .storage = Storage::sparse, .element = Element::f32, .dim = 10};

// Rows of some hundred bytes in a file; one in `odd` takes a hundred times as many.
struct Rows {
  Rows(unsigned seed, std::uint32_t odd) {
    std::mt19937 random(seed);
    std::string bytes = "front";
    for (std::uint32_t r = 0; r < kRows; ++r) {
      begins.push_back(bytes.size());
      const auto samples = static_cast<std::uint32_t>(random() % 4);
      const auto entries = static_cast<std::uint32_t>(random() % 60 * (odd != 0 && random() % odd == 0 ? 100 : 1));
      fuzz::put(bytes, samples);
      fuzz::put(bytes, entries);
      bytes.append(entries * std::size_t{8} + samples * std::size_t{4}, static_cast<char>(r));
    }
    begins.push_back(bytes.size());
    path = folder.write("rows", bytes + "behind");
  }
  Walk walk() const { return {kStream, {.begin = begins.front(), .end = begins.back()}, kRows}; }

  ScratchFolder folder;
  std::vector<std::uint64_t> begins;
  std::string path;
};

struct Reader {
  explicit Reader(const Rows& rows) : rows_(rows), file_(rows.path) {}
  // Where rows were found.
  std::optional<std::uint64_t> find(Walk& walk, RowRange rows) {
    Feed feed(file_, rows_.begins.front(), rows_.begins.back(), scratch_);
    if (!walk.find(rows, feed)) return {};
    in_memory += feed.ready().size() >= rows_.begins[rows.last] - rows_.begins[rows.first] ? 1 : 0;
    return feed.at();
  }
  int in_memory = 0;

 private:
  const Rows& rows_;
  io::File file_;
  Buffer<std::byte> scratch_;
};

class CbfWalk : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(CbfWalk, FindsRowsInOrder) {
  const Rows rows(1, GetParam());
  Walk walk = rows.walk();
  Reader reader(rows);
  for (std::uint32_t r = 0; r < kRows; r += kPart) ASSERT_EQ(reader.find(walk, {r, r + kPart}), rows.begins[r]) << r;
  if (GetParam() != 0) return;
  EXPECT_GE(reader.in_memory, static_cast<int>(kRows / kPart) - 3);
}

TEST_P(CbfWalk, FindsRowsForManyAtOnce) {
  const Rows rows(2, GetParam());
  Walk walk = rows.walk();
  std::atomic<std::uint32_t> next{0};
  std::vector<std::optional<std::uint64_t>> found(kRows / kPart);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Reader reader(rows);
      for (std::uint32_t p = next++; p < found.size(); p = next++)
        found[p] = reader.find(walk, {p * kPart, (p + 1) * kPart});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint32_t p = 0; p < found.size(); ++p) EXPECT_EQ(found[p], rows.begins[std::size_t{p} * kPart]) << p;
}

INSTANTIATE_TEST_SUITE_P(SizesDiffer, CbfWalk, ::testing::Values(0U, 50U));

TEST(CbfWalkFar, IsLeftToOthers) {
  const Rows rows(3, 0);
  Walk walk = rows.walk();
  Reader reader(rows);
  EXPECT_EQ(reader.find(walk, {10 * kPart, 11 * kPart}), std::nullopt);
  walk.learn(7 * kPart, rows.begins[7 * kPart]);
  EXPECT_EQ(reader.find(walk, {10 * kPart, 11 * kPart}), rows.begins[10 * kPart]);
}

TEST(CbfWalkFar, StopsWhereCountsLeadOut) {
  Rows rows(4, 0);
  Walk walk(kStream, {.begin = rows.begins[0], .end = rows.begins[50] + 40}, kRows);
  rows.begins.resize(51);
  rows.begins.back() += 40;
  Reader reader(rows);
  EXPECT_EQ(reader.find(walk, {0, 40}), rows.begins[0]);
  EXPECT_EQ(reader.find(walk, {40, 80}), std::nullopt);
}

// Data, notices and their order are those of the whole chunk, whoever reads first.
TEST(CbfWalkParts, AreThoseOfTheWholeChunk) {
  const ScratchFolder folder;
  const std::string path = folder / "x.cbf";
  std::mt19937 random(5);
  CbfWriter writer(path,
                   {.streams = {{.name = "s", .dim = 2000, .storage = Storage::sparse}, {.name = "d", .dim = 1}}});
  for (std::uint32_t s = 0; s < kRows; ++s) {
    const auto entries = static_cast<std::uint32_t>(random() % 200);
    const std::vector<float> values(entries + 1, static_cast<float>(s));
    std::vector<std::int32_t> indices;
    for (std::uint32_t i = 0; i < entries; ++i) indices.push_back(static_cast<std::int32_t>(i * 7));
    const SequenceData data[] = {
        {.samples = 1, .values = values.data(), .indices = indices.data(), .entries = &entries},
        {.samples = 1, .values = values.data()}};
    writer.append(data);
  }
  writer.commit();
  std::string bytes = ::batchfeed::testing::content_of(path);
  // An index of 14 becomes one of 0 here and there; no more often than is told one by one.
  for (std::size_t at = bytes.find(std::string("\7\0\0\0\16\0\0\0", 8)), n = 0; at != std::string::npos;
       at = bytes.find(std::string("\7\0\0\0\16\0\0\0", 8), at + 1)) {
    if (++n % 400 == 0) bytes[at + 4] = 0;
  }
  folder.write("x.cbf", bytes);
  ASSERT_GT(bytes.size(), 2 * Feed::kPiece);
  const auto read_with = [&](std::uint64_t piece, int threads, bool last_first = false) {
    std::mutex mutex;
    std::string notices;
    OpenContext context;
    context.report = [&](const Notice& n) {
      const std::lock_guard lock(mutex);
      notices += n.fault.text() + '\n';
    };
    context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
    const Pieces pieces(open({.trace_level = 2}, path, context), piece);
    std::vector<std::string> texts(pieces.chunks().size());
    std::atomic<std::uint32_t> next{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&] {
        Chunk chunk;
        for (std::uint32_t n = next++; n < texts.size(); n = next++) {
          const std::uint32_t c = last_first ? static_cast<std::uint32_t>(texts.size()) - 1 - n : n;
          pieces.read(c, chunk);
          texts[c] = testing::text_of(pieces, c, chunk);
        }
      });
    }
    for (std::thread& thread : all) thread.join();
    std::string joined;
    for (const std::string& text : texts) joined += text;
    return std::pair(joined, notices);
  };
  const auto whole = read_with(~0ull, 1);
  EXPECT_NE(whole.second.find("stands behind"), std::string::npos) << whole.second;
  for (const int threads : {1, 3}) {
    const auto parts = read_with(20'000, threads);
    EXPECT_TRUE(parts.first == whole.first);
    EXPECT_EQ(parts.second, whole.second);
  }
  // Who wants the last rows passes all others, whose readers come then.
  const auto backwards = read_with(20'000, 1, true);
  EXPECT_TRUE(backwards.first == whole.first);
  EXPECT_EQ(backwards.second, whole.second);
}

}  // namespace
}  // namespace batchfeed::cbf
