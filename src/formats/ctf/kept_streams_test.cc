// SPDX-License-Identifier: MIT
#include "formats/ctf/kept_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "formats/ctf/ctf.h"
#include "index_cache/index_cache.h"
#include "support/counted_files.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

using batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;

constexpr const char* kText = "7 |w 5:1 |x 1 2.5 -3 |# c\n7 |w 7:1 |x 4\nb |w 2:1 |x |y 2e30\n";

// All that the two say of a file, but for when it was changed.
void expect_alike(const Inferred& a, const Inferred& b) {
  EXPECT_EQ(encode(a), encode(b));
  ASSERT_EQ(a.streams.size(), b.streams.size());
  for (std::size_t i = 0; i < a.streams.size(); ++i) EXPECT_EQ(a.streams[i].file, b.streams[i].file);
  ASSERT_EQ(a.seen.size(), 1u);
  EXPECT_EQ(a.seen.begin()->first, b.seen.begin()->first);
  EXPECT_EQ(a.whole_file, b.whole_file);
}

Inferred again(const std::string& path, const InferCache& cache = {.keep = true}, const Limits& limits = {}) {
  return kept_or_inferred(io::File(path, {}, limits), cache, {}, limits, {});
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(KeptStreams, AreThoseThatWereInferred) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", kText);
  const Inferred fresh = ctf::infer(io::File(path));
  expect_alike(again(path, {}), fresh);
  EXPECT_THAT(folder.names(), ElementsAre("t.ctf"));
  for (int turn = 0; turn < 2; ++turn) {
    const Inferred found = again(path);
    EXPECT_THAT(folder.names(), ElementsAre("t.ctf", "t.ctf.bfstreams"));
    expect_alike(found, fresh);
    EXPECT_EQ(found.streams.at(0).spec.storage, Storage::sparse);
    EXPECT_EQ(found.streams.at(1).min, -3);
    EXPECT_EQ(found.streams.at(2).max, 2e30);
    EXPECT_TRUE(found.seen.at(path) == io::File(path).identity());
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "u"));
  expect_alike(again(path, {.keep = true, .directory = folder / "u"}), fresh);
  EXPECT_TRUE(std::filesystem::exists(folder / "u"));
}

// What is kept says 99 where the data say 8, so that one sees which of them counts.
TEST(KeptStreams, CountAsLongAsNothingIsOdd) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", "|w 7:1\n"), kept = path + ".bfstreams";
  const auto dim = [&](const InferCache& cache = {.keep = true}, const Limits& limits = {}) {
    return again(path, cache, limits).streams.at(0).spec.dim;
  };
  EXPECT_EQ(dim(), 8u);
  const auto pretend = [&] {  // that the file keeps other streams than the data have
    const io::File data(path);
    const index_cache::Binding binding{
        .options = "ctf streams 2 " + std::to_string(Limits{}.streams) + ' ' + std::to_string(Limits{}.name_bytes),
        .size = data.size(),
        .mtime_ns = data.identity().mtime_ns,
        .fingerprint = index_cache::content_fingerprint(data)};
    Inferred other = ctf::infer(data);
    other.streams[0].spec.dim = 99;
    ASSERT_EQ(index_cache::store({kept}, binding, {.entries = {}, .texts = {}, .extra = encode(other)}).path, kept);
  };
  pretend();
  EXPECT_EQ(dim(), 99u) << "what is kept counts";
  EXPECT_EQ(dim({}), 8u);
  EXPECT_EQ(dim(), 99u);
  EXPECT_EQ(dim({.keep = true, .rebuild = true}), 8u);
  EXPECT_EQ(dim(), 8u);

  pretend();
  Limits limits;
  limits.streams = 3;
  EXPECT_EQ(dim({.keep = true}, limits), 8u);
  EXPECT_EQ(dim(), 8u) << "kept by other limits";

  pretend();
  const std::string lie = content(kept);
  for (std::size_t i = 0; i < lie.size(); ++i) {
    std::string torn = lie.substr(0, i);
    folder.write("t.ctf.bfstreams", torn);
    EXPECT_EQ(dim(), 8u) << i;
    std::string flipped = lie;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    folder.write("t.ctf.bfstreams", flipped);
    EXPECT_EQ(dim(), 8u) << i;
  }
  folder.write("t.ctf.bfstreams", lie);
  EXPECT_EQ(dim(), 99u);
  folder.write("t.ctf", "|w 8:1\n");
  EXPECT_EQ(dim(), 9u);
}

TEST(KeptStreams, AreReadInsteadOfTheData) {
  const ScratchFolder folder;
  testing::CountedFiles files;
  std::string& text = files.content["mem://t.ctf"];
  for (int i = 0; i < 200'000; ++i) text += "|w " + std::to_string(i % 50) + ":1\n";
  const FileSystem file_system = files.file_system();
  const auto bytes = [&] {
    files.bytes_read = 0;
    const Inferred found = kept_or_inferred(io::File("mem://t.ctf", file_system),
                                            {.keep = true, .directory = folder / "kept"}, {}, {}, file_system);
    EXPECT_EQ(found.streams.at(0).spec.dim, 50u);
    EXPECT_EQ(found.sequences, 200'000u);
    return files.bytes_read.load();
  };
  EXPECT_GT(bytes(), text.size());
  EXPECT_LT(bytes(), text.size() / 4) << "a fingerprint";
}

TEST(KeptStreams, AreNotTakenFromBytesThatNobodyWrote) {
  const ScratchFolder folder;
  const std::string path = folder.write("t.ctf", kText);
  const std::string bytes = encode(ctf::infer(io::File(path)));
  const auto taken = [&](const std::string& some, std::uint64_t size = 100, const Limits& limits = {}) {
    return decode(std::as_bytes(std::span(some)), size, limits).has_value();
  };
  EXPECT_TRUE(taken(bytes));
  EXPECT_FALSE(taken(bytes, 20)) << "a stream is met first behind the end of the data";
  EXPECT_FALSE(taken(bytes, 100, {.streams = 2}));
  EXPECT_TRUE(taken(bytes, 100, {.streams = 3}));
  constexpr std::size_t kHead = 9;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool whole = i == kHead || i == kHead + 70 || i == kHead + 2 * 70;  // of names of one byte
    EXPECT_EQ(taken(bytes.substr(0, i)), whole) << i;
  }
  EXPECT_FALSE(taken(bytes + bytes.substr(kHead))) << "names occur twice";
  for (const std::size_t at : {kHead - 1, kHead + 13}) {
    std::string more = bytes;
    more[at] = static_cast<char>(more[at] | 8);
    EXPECT_FALSE(taken(more)) << "a bit that means nothing";
  }
  std::string none = bytes;
  none.replace(kHead + 5, 8, std::string(8, '\0'));
  EXPECT_FALSE(taken(none)) << "a dim of 0";
  for (const char odd : {' ', '|', '\n', '\x1B', '#'}) {
    std::string name = bytes;
    name[kHead + 4] = odd;
    EXPECT_FALSE(taken(name)) << "a name that no text can say";
  }
  std::string endless = bytes;
  endless.replace(kHead, 4, "\xFF\xFF\xFF\xFF");
  EXPECT_FALSE(taken(endless)) << "a name longer than all there is";
}

}  // namespace
}  // namespace batchfeed::ctf
