// SPDX-License-Identifier: MIT
#include "index_cache/index_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "support/faulty_sys.h"

namespace batchfeed::index_cache {
namespace {

using batchfeed::testing::content_of;
using batchfeed::testing::ScratchFolder;

const Binding kBinding{.options = "v1 A B", .size = 100, .mtime_ns = 5, .fingerprint = 77};

Payload payload() {
  return {.entries = {{.key = 0, .begin = 3, .bytes = 40, .samples = 2},
                      {.key = 1, .begin = 50, .bytes = 50, .samples = 7, .aux = 9}},
          .texts = {"abc", "x"},
          .extra = "more"};
}

TEST(IndexCache, RoundTrip) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex"};
  EXPECT_EQ(store(at, kBinding, payload()).path, at[0]);
  const Loaded loaded = load(at, kBinding);
  ASSERT_TRUE(loaded.payload) << loaded.why;
  EXPECT_EQ(loaded.path, at[0]);
  EXPECT_EQ(loaded.payload->extra, "more");
  EXPECT_TRUE(loaded.payload->texts == payload().texts);
  ASSERT_EQ(loaded.payload->entries.size(), 2u);
  EXPECT_EQ(loaded.payload->entries[1].key, 1u);
  EXPECT_EQ(loaded.payload->entries[1].begin, 50u);
  EXPECT_EQ(loaded.payload->entries[1].bytes, 50u);
  EXPECT_EQ(loaded.payload->entries[1].samples, 7u);
  EXPECT_EQ(loaded.payload->entries[1].aux, 9u);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"d.bfindex"});
}

TEST(IndexCache, MoreThanIsReadOrWrittenAtATimeComesBack) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex"};
  for (const std::uint64_t n : {1024u, 1025u, 5000u}) {
    Payload many;
    for (std::uint64_t i = 0; i < n; ++i) {
      many.entries.push_back({.key = i, .begin = 3 * i, .bytes = 1 + i % 3, .samples = 1});
      many.texts.add(std::to_string(i));
    }
    const Binding binding{.options = "v1", .size = 3 * n};
    store(at, binding, many);
    const Loaded loaded = load(at, binding);
    ASSERT_TRUE(loaded.payload) << loaded.why;
    EXPECT_TRUE(loaded.payload->texts == many.texts);
    ASSERT_EQ(loaded.payload->entries.size(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(loaded.payload->entries[i], many.entries[i]) << i;
  }
}

TEST(IndexCache, OtherDataOrOptionsAreRefused) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex"};
  store(at, kBinding, payload());
  const auto refused = [&](auto change) {
    Binding other = kBinding;
    change(other);
    const Loaded loaded = load(at, other);
    EXPECT_FALSE(loaded.payload);
    return loaded.why;
  };
  EXPECT_EQ(refused([](Binding& b) { b.size = 101; }), "the data changed since it was made");
  EXPECT_EQ(refused([](Binding& b) { b.mtime_ns = 6; }), "the data changed since it was made");
  EXPECT_EQ(refused([](Binding& b) { b.fingerprint = 78; }), "the data changed since it was made");
  EXPECT_EQ(refused([](Binding& b) { b.options = "v1 A C"; }), "it was made with other options");
  EXPECT_EQ(load({folder / "none"}, kBinding).why, "");
}

TEST(IndexCache, EveryTornOrFlippedFileIsRefused) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex"};
  Payload large = payload();
  Binding binding = kBinding;
  binding.size = 100 + 10 * 120;
  for (std::uint64_t i = 0; i < 120; ++i)
    large.entries.push_back({.key = i + 2, .begin = 100 + 10 * i, .bytes = 10, .samples = 1});
  store(at, binding, large);
  const std::string whole = content_of(at[0]);
  ASSERT_GE(whole.size(), 4000u);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    folder.write("d.bfindex", whole.substr(0, n));
    ASSERT_EQ(load(at, binding).why, n < 88 ? "it is too short" : "it is torn") << "cut at " << n;
  }
  folder.write("d.bfindex", whole + 'x');
  EXPECT_FALSE(load(at, binding).payload);
  folder.write("d.bfindex", whole);
  ASSERT_TRUE(load(at, binding).payload);
  std::fstream file(at[0], std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](std::size_t n, char byte) { file.seekp(static_cast<std::streamoff>(n)).put(byte).flush(); };
  for (std::size_t n = 0; n < whole.size(); ++n) {
    for (int bit = 0; bit < 8; ++bit) {
      put(n, static_cast<char>(whole[n] ^ (1 << bit)));
      ASSERT_FALSE(load(at, binding).payload) << "bit " << bit << " of byte " << n;
    }
    put(n, whole[n]);
  }
  EXPECT_TRUE(load(at, binding).payload);
}

TEST(IndexCache, EntriesOutsideTheDataAreRefused) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex"};
  const IndexEntries bad[] = {
      {{.begin = 90, .bytes = 11, .samples = 1}},
      {{.begin = 101, .bytes = 1, .samples = 1}},
      {{.begin = 0, .bytes = ~0ull, .samples = 1}},
      {{.begin = 0, .bytes = 10, .samples = 0}},
      {{.begin = 0, .bytes = 0, .samples = 1}},
      {{.begin = 0, .bytes = 10, .samples = 1}, {.begin = 9, .bytes = 10, .samples = 1}},
  };
  for (const auto& entries : bad) {
    store(at, kBinding, {.entries = entries, .texts = {}, .extra = {}});
    EXPECT_FALSE(load(at, kBinding).payload);
  }
  store(at, kBinding, {.entries = {}, .texts = {}, .extra = "of a format that keeps no entries"});
  EXPECT_TRUE(load(at, kBinding).payload);
  store(at, kBinding, {.entries = {}, .texts = {}, .extra = std::string(kMostExtra + 1, 'x')});
  EXPECT_EQ(load(at, kBinding).why, "it is damaged");
  // More texts than entries: an empty text costs 4 bytes of the file, and a key eight times as many in memory.
  Payload keys = payload();
  keys.texts = {"abc", "x", ""};
  store(at, kBinding, keys);
  EXPECT_EQ(load(at, kBinding).why, "it is damaged");
}

// A sparse file is as large as its counts demand, without taking disk space.
TEST(IndexCache, CountsThatAreMoreThanTheDataCanHaveAreRefusedBeforeTheirMemoryIsAskedFor) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex"};
  store(at, kBinding, payload());
  std::string whole = content_of(at[0]);
  const std::uint64_t entries = kBinding.size + 1;
  whole[56] = static_cast<char>(entries);
  folder.write("d.bfindex", whole);
  std::filesystem::resize_file(at[0], whole.size() + (entries - 2) * sizeof(IndexEntry));
  EXPECT_EQ(load(at, kBinding).why, "it is damaged");
  // Options, extra or the bytes of the texts said to be 3 GB, all of them a hole.
  const std::string head = whole.substr(0, 88);
  for (const std::size_t count : {40u, 48u, 72u}) {
    whole = head;
    for (const std::size_t other : {48u, 56u, 64u, 72u}) std::memset(whole.data() + other, 0, 8);
    const std::uint32_t many = 3'000'000'000;
    std::memcpy(whole.data() + count, &many, 4);
    folder.write("d.bfindex", whole);
    std::filesystem::resize_file(at[0], 88 + many + (count == 40 ? 0 : kBinding.options.size()));
    const batchfeed::testing::FaultySys sys;
    EXPECT_EQ(load(at, kBinding).why, count == 40 ? "it was made with other options" : "it is damaged");
    EXPECT_EQ(sys.bytes_read(), 88u) << count;
  }
}

TEST(IndexCache, LeftoversOfKilledRunsGoWhenTheyAreOld) {
  const ScratchFolder folder;
  for (const char* name : {"d.bfindex.tmp.OLDOLD", "d.bfindex.tmp.YOUNGX", "e.bfindex.tmp.OLDOLD"})
    folder.write(name, "x");
  for (const char* name : {"d.bfindex.tmp.OLDOLD", "e.bfindex.tmp.OLDOLD"})
    std::filesystem::last_write_time(folder / name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  store({folder / "d.bfindex"}, kBinding, payload());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"d.bfindex", "d.bfindex.tmp.YOUNGX", "e.bfindex.tmp.OLDOLD"}));
}

TEST(IndexCache, APlaceThatTakesNoneSaysWhy) {
  const ScratchFolder folder;
  const batchfeed::testing::FaultySys faulty(batchfeed::testing::nth_call(1, ENOSPC));
  const Stored stored = store({folder / "d.bfindex"}, kBinding, payload());
  EXPECT_EQ(stored.path, "");
  const Fault fault = not_kept("d.ctf", stored);
  EXPECT_EQ(fault.id, "index.not-kept");
  EXPECT_EQ(fault.what,
            "the index could not be kept: " + (folder / "d.bfindex") + ": cannot create: No space left on device");
}

TEST(IndexCache, EachOfThePlacesThatTakeNoneSaysWhy) {
  const ScratchFolder folder;
  folder.write("file", "");
  const batchfeed::testing::FaultySys faulty(batchfeed::testing::nth_call(1, ENOSPC));
  EXPECT_EQ(store({folder / "d.bfindex", folder / "file/cache/d.bfindex"}, kBinding, payload()).why,
            (folder / "d.bfindex") + ": cannot create: No space left on device; " + (folder / "file/cache") +
                ": cannot create: Not a directory");
}

TEST(IndexCache, SymbolicLinksAreNotFollowed) {
  const ScratchFolder folder;
  store({folder / "real"}, kBinding, payload());
  std::filesystem::create_symlink(folder / "real", folder / "d.bfindex");
  const Loaded loaded = load({folder / "d.bfindex"}, kBinding);
  EXPECT_FALSE(loaded.payload);
  EXPECT_NE(loaded.why, "");
  // A new cache takes the link's place; what it pointed to stays.
  const std::string before = content_of(folder / "real");
  EXPECT_EQ(store({folder / "d.bfindex"}, kBinding, payload()).path, folder / "d.bfindex");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "d.bfindex"));
  EXPECT_EQ(content_of(folder / "real"), before);
}

TEST(IndexCache, WhoMayNotReadTheDataMayNotReadIt) {
  const ScratchFolder folder;
  const ::mode_t before = ::umask(022);
  for (const unsigned mode : {0600u, 0640u, 0440u, 0777u}) {
    const std::string data = folder.write("d", "");
    ASSERT_EQ(::chmod(data.c_str(), mode), 0);
    store({folder / "d.bfindex"}, kBinding, payload(), data);
    const auto now = std::filesystem::status(folder / "d.bfindex").permissions();
    EXPECT_EQ(static_cast<unsigned>(now), (mode & 0044) | 0600) << mode;
  }
  store({folder / "d.bfindex"}, kBinding, payload(), "s3://a/d");
  EXPECT_EQ(static_cast<unsigned>(std::filesystem::status(folder / "d.bfindex").permissions()), 0644u);
  ::umask(before);
}

TEST(IndexCache, TheSecondPlaceServesWhereTheFirstCannotBeWritten) {
  const ScratchFolder folder;
  const std::vector<std::string> at = {folder / "d.bfindex", folder / "cache/batchfeed/d.bfindex"};
  const batchfeed::testing::FaultySys faulty([&](const batchfeed::testing::Call& call) {
    return call.name == "mkostemp" && call.path.find("cache") == std::string::npos ? EROFS : 0;
  });
  EXPECT_EQ(store(at, kBinding, payload()).path, at[1]);
  EXPECT_TRUE(load(at, kBinding).payload);
}

TEST(IndexCache, AFolderThatCannotBeMadeIsTheReason) {
  const ScratchFolder folder;
  folder.write("file", "");
  EXPECT_EQ(store({folder / "file/cache/d.bfindex"}, kBinding, payload()).why,
            (folder / "file/cache") + ": cannot create: Not a directory");
}

TEST(IndexCache, LongNamesHaveAPlace) {
  const ScratchFolder folder;
  for (const std::size_t length : {200u, 250u, 255u}) {
    const std::vector<std::string> at = places(folder / std::string(length, 'n'), folder / "cache", {});
    EXPECT_EQ(store(at, kBinding, payload()).path, at[0]);
    EXPECT_NE(at, places(folder / (std::string(length - 1, 'n') + 'm'), folder / "cache", {}));
  }
}

TEST(IndexCache, FailingWritesLeaveNothing) {
  const ScratchFolder folder;
  for (std::uint64_t n = 1;; ++n) {
    std::string stored;
    std::uint64_t calls = 0;
    {
      const batchfeed::testing::FaultySys faulty(batchfeed::testing::nth_call(n, ENOSPC));
      stored = store({folder / "d.bfindex"}, kBinding, payload()).path;
      calls = faulty.calls();
    }
    const std::vector<std::string> names = folder.names();
    EXPECT_TRUE(names.empty() || names == std::vector<std::string>{"d.bfindex"}) << n;
    if (!names.empty()) {
      EXPECT_TRUE(load({folder / "d.bfindex"}, kBinding).payload);
      std::filesystem::remove(folder / "d.bfindex");
    }
    if (n > calls) break;
  }
}

TEST(IndexCache, Places) {
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  const std::vector<std::string> two = places("/data/a.ctf", "");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0], "/data/a.ctf.bfindex");
  EXPECT_EQ(two[1].substr(0, 23), "/cache/batchfeed/a.ctf.");
  EXPECT_NE(two[1], places("/other/a.ctf", "")[1]);
  const std::vector<std::string> one = places("/data/a.ctf", "/x");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].substr(0, 9), "/x/a.ctf.");
  // The user's folder; relative names of it are none.
  const std::string name = two[1].substr(17);
  const auto second = [](const char* cache, const char* home) {
    ::setenv("XDG_CACHE_HOME", cache, 1);
    ::setenv("HOME", home, 1);
    const std::vector<std::string> all = places("/data/a.ctf", "");
    return all.size() == 2 ? all[1] : std::to_string(all.size());
  };
  EXPECT_EQ(second("", "/home/u"), "/home/u/.cache/batchfeed/" + name);
  EXPECT_EQ(second("cache", "/home/u"), "/home/u/.cache/batchfeed/" + name);
  EXPECT_EQ(second("", "home"), "1");
}

TEST(ContentFingerprint, SeesHeadTailAndSize) {
  const ScratchFolder folder;
  const auto print = [&](const std::string& content) {
    return content_fingerprint(io::File(folder.write("f", content)));
  };
  std::string content(1 << 20, 'x');
  const std::uint64_t whole = print(content);
  EXPECT_EQ(whole, print(content));
  EXPECT_NE(whole, print(content + 'x'));
  for (const std::size_t at : {std::size_t{0}, std::size_t{60'000}, content.size() - 1, content.size() / 17 * 8 + 5}) {
    std::string other = content;
    other[at] = 'y';
    EXPECT_NE(whole, print(other)) << at;
  }
  EXPECT_NE(print(""), print("a"));
  EXPECT_NE(print(std::string(150'000, 'a')), print(std::string(75'000, 'a') + 'b' + std::string(74'999, 'a')));
}

}  // namespace
}  // namespace batchfeed::index_cache
