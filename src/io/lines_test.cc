// SPDX-License-Identifier: MIT
#include "io/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file_cache.h"
#include "io/path_policy.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::open_descriptors;
using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;

struct Seen {
  std::string text;
  std::uint64_t begin, end;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> lines(const std::string& content, LineEnd ends, std::size_t at_most = ~std::size_t{0}) {
  const ScratchFolder folder;
  const File file(folder.write("lines", content));
  FaultySys sys;
  sys.at_most(at_most);
  LineReader reader(file, ends, 1000, "list_line_bytes");
  std::vector<Seen> out;
  while (reader.next()) {
    out.push_back({std::string(reader.text()), reader.begin(), reader.end()});
    EXPECT_EQ(reader.number(), out.size());
  }
  return out;
}

TEST(Lines, OfUtf16AreRefusedByName) {
  for (const std::string mark : {"\xFF\xFE", "\xFE\xFF"}) {
    try {
      lines(mark + std::string("u\0=\0", 4), LineEnd::any);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().id, "io.utf16");
      EXPECT_EQ(error.fault().at.line, 1u);
    }
  }
  // The bytes may stand anywhere else, and one of them at the beginning.
  for (const std::string text : {"\xFF", "\xFE.a", "a\xFF\xFE", "\n\xFF\xFE"})
    EXPECT_FALSE(lines(text, LineEnd::any).empty());
}

TEST(Lines, OfACompressedFileThatNobodyUnpackedAreRefusedByName) {
  for (const std::string head : {"\x1F\x8B\x08\x08", "\x28\xB5\x2F\xFD"}) {
    EXPECT_EQ(id_of([&] { expect_text(head + "rest", "states.gz"); }), "io.compressed-text");
    EXPECT_NO_THROW(expect_text(head.substr(0, 3), "states"));
    EXPECT_NO_THROW(expect_text("s" + head, "states"));
  }
}

TEST(Lines, EndInLfAndLoseOneCr) {
  EXPECT_THAT(
      lines("a\nbb\r\n\n\rc\r\r\nlast", LineEnd::lf),
      ElementsAre(Seen{"a", 0, 2}, Seen{"bb", 2, 6}, Seen{"", 6, 7}, Seen{"\rc\r", 7, 12}, Seen{"last", 12, 16}));
  EXPECT_TRUE(lines("", LineEnd::lf).empty());
}

TEST(Lines, EndInAnyOfThreeWays) {
  EXPECT_THAT(lines("a\rb\r\nc\n\rd", LineEnd::any),
              ElementsAre(Seen{"a", 0, 2}, Seen{"b", 2, 5}, Seen{"c", 5, 7}, Seen{"", 7, 8}, Seen{"d", 8, 9}));
}

TEST(Lines, AreTheSameAcrossBlocks) {
  std::string content;
  std::size_t n = 0;
  while (content.size() < (std::size_t{1} << 19)) {
    content += std::string(n % 300, 'x') + (n % 3 == 0 ? "\r\n" : "\n");
    ++n;
  }
  std::size_t total = 0;
  for (const Seen& line : lines(content, LineEnd::any)) {
    EXPECT_EQ(line.begin, total);
    total = line.end;
    EXPECT_EQ(line.text.find_first_not_of('x'), std::string::npos);
  }
  EXPECT_EQ(total, content.size());
  EXPECT_EQ(lines(content, LineEnd::any).size(), n);
  EXPECT_EQ(lines("a\r\nb", LineEnd::any, 2).size(), 2u);
}

TEST(Lines, OfAnyLengthEndInAnyOfThreeWays) {
  std::string content;
  std::vector<std::size_t> lengths;
  for (const char* const end : {"\r", "\n", "\r\n"}) {
    for (const std::size_t length : {1u, 254u, 255u, 256u, 257u, 511u, 512u, 513u, 900u}) {
      lengths.push_back(length);
      content += std::string(length, 'x') + end;
    }
  }
  const std::vector<Seen> all = lines(content, LineEnd::any);
  ASSERT_EQ(all.size(), lengths.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].text, std::string(lengths[i], 'x')) << i;
}

// The other byte that may end a line is not looked for in all that follows.
TEST(Lines, ThatEndInCrTakeNoLongerThanOthers) {
  const auto seconds = [](char end) {
    const ScratchFolder folder;
    const File file(folder.write("lines", std::string(2 << 20, end)));
    LineReader reader(file, LineEnd::any, 1000, "list_line_bytes");
    const std::clock_t begin = std::clock();
    while (reader.next()) continue;
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds('\r'), 0.2 + 8 * seconds('\n'));
}

TEST(Lines, EndInACrLfThatLiesAcrossBlocks) {
  const std::size_t block = 256 << 10;
  for (std::size_t cr = block - 3; cr <= block; ++cr) {
    std::string content(cr, 'x');
    for (std::size_t i = 99; i < cr; i += 100) content[i] = '\n';
    const std::vector<Seen> all = lines(content + "\r\nlast", LineEnd::any);
    EXPECT_EQ(all.size(), cr / 100 + 2) << cr;
    EXPECT_EQ(all.back(), (Seen{"last", cr + 2, cr + 6})) << cr;
  }
}

TEST(Lines, RefuseOneThatIsTooLong) {
  try {
    lines("short\n" + std::string(2000, 'x'), LineEnd::lf);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "limit.line");
    EXPECT_EQ(e.fault().at.line, 2u);
    EXPECT_EQ(e.fault().at.byte, 6u);
  }
}

TEST(Lines, MayBeAsLongAsTheLimit) {
  const std::string line(1000, 'x');
  for (const std::string end : {"", "\n", "\r", "\r\n"}) {
    EXPECT_EQ(lines(line + end, LineEnd::any).at(0).text, line);
    EXPECT_EQ(id_of([&] { lines(line + 'x' + end, LineEnd::any); }), "limit.line");
  }
}

TEST(Lines, FromOnePlaceToAnother) {
  const ScratchFolder folder;
  const File file(folder.write("lines", "a\nbb\nccc\ndddd\n"));
  LineReader reader(file, LineEnd::lf, 1000, "list_line_bytes");
  const auto all = [&] {
    std::string out;
    while (reader.next())
      out += std::to_string(reader.number()) + '@' + std::to_string(reader.begin()) + '-' +
             std::to_string(reader.end()) + ' ' + std::string(reader.text()) + (reader.terminated() ? ". " : " ");
    return out;
  };
  EXPECT_EQ(all(), "1@0-2 a. 2@2-5 bb. 3@5-9 ccc. 4@9-14 dddd. ");
  reader.seek(2, 9, 7);
  EXPECT_EQ(all(), "7@2-5 bb. 8@5-9 ccc. ");
  reader.seek(5, 7, 1);
  EXPECT_EQ(all(), "1@5-7 cc ");
  reader.seek(9, 99, 4);
  EXPECT_EQ(all(), "4@9-14 dddd. ");
  reader.seek(14, 14, 5);
  EXPECT_EQ(all(), "");
}

TEST(FileCache, HoldsOnlySoManyFilesOpen) {
  const ScratchFolder folder;
  for (int i = 0; i < 10; ++i) folder.write(std::to_string(i), std::to_string(i));
  const std::size_t before = open_descriptors();
  FileCache<File> cache([&](std::uint32_t i) { return File(folder / std::to_string(i)); }, 3);
  int opened = 0;
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < 10; ++i) {
      EXPECT_EQ(cache.open(i)->path(), folder / std::to_string(i));
      EXPECT_LE(open_descriptors() - before, 3u);
      ++opened;
    }
  }
  EXPECT_EQ(cache.open(9).get(), cache.open(9).get());
  EXPECT_THROW(cache.open(11), Error);
}

TEST(PathPolicy, NamesFilesOnly) {
  const auto id = [](std::string_view path) -> std::string {
    try {
      check_data_path(path, {.file = "list", .line = 3});
    } catch (const Error& e) {
      EXPECT_EQ(e.fault().at.line, 3u);
      return e.fault().id;
    }
    return "";
  };
  EXPECT_EQ(id("a/b.mfc"), "");
  EXPECT_EQ(id("-a"), "");
  EXPECT_EQ(id(""), "io.no-path");
  EXPECT_EQ(id("-"), "io.stdin");
  EXPECT_EQ(id("gunzip -c a.gz |"), "io.pipe");
  EXPECT_EQ(id("| tee b"), "io.pipe");
  EXPECT_EQ(id(std::string_view("a\0b", 3)), "io.bad-path");
  EXPECT_EQ(directory_of("d/x.scp"), "d");
  EXPECT_EQ(directory_of("x.scp"), ".");
  EXPECT_EQ(directory_of("/x.scp"), "/");
  EXPECT_EQ(directory_of("C:\\d\\x.scp"), "C:\\d");
}

TEST(PathPolicy, KeepsNoPathThatIsLongerThanTheSystemTakes) {
  std::vector<std::string> paths;
  const FileSystem files;
  FileNumbers number(paths, files);
  EXPECT_EQ(number(std::string(4095, 'p'), {}), 0u);
  EXPECT_EQ(number("s3://" + std::string(5000, 'p'), {}), 1u);
  const Fault fault = fault_of([&] { number(std::string(4096, 'p'), {.file = "x.scp", .line = 3}); });
  EXPECT_EQ(fault.id, "io.long-path");
  EXPECT_EQ(fault.at.line, 3u);
  EXPECT_EQ(paths.size(), 2u);
}

TEST(PathPolicy, FindsTheFileOfAListBesideIt) {
  const ::batchfeed::testing::ScratchFolder folder;
  const std::string file = folder.write("a.chunk", "a"), to = file.substr(0, file.size() - 7);
  EXPECT_EQ(map_beside("//host/feat/a.chunk", to + "x.scp", {}), "//host/feat/=" + to);
  EXPECT_EQ(map_beside("a.chunk", to + "x.scp", {}), "a.chunk=" + file);
  FileSystem there;
  there.folder = folder.path();
  EXPECT_EQ(map_beside("feat/a.chunk", "x.scp", there), "feat/=./");
  EXPECT_EQ(map_beside("feat/b.chunk", to + "x.scp", {}), "");
  folder.write("b=c.chunk", "");
  for (const char* const path : {"a=b/a.chunk", "b=c.chunk"})
    EXPECT_EQ(map_beside(path, to + "x.scp", {}), "") << "a rule FROM=TO ends FROM at the first '='";
  EXPECT_EQ(map_beside("feat/b=c.chunk", to + "x.scp", {}), "feat/=" + to);
  EXPECT_EQ(map_beside(file, to + "x.scp", {}), "");
  std::filesystem::create_directory(folder / "other");
  const std::string there_too = folder.write("other/a.chunk", "");
  EXPECT_EQ(map_beside(there_too, to + "x.scp", {}), "") << "why it cannot be opened is another matter";
  EXPECT_EQ(map_beside("s3://host/a.chunk", to + "x.scp", {}), "");
}

TEST(PathPolicy, RootsHoldWhatLiesInThemAndWhatLinksLeadTo) {
  const ::batchfeed::testing::ScratchFolder folder;
  namespace fs = std::filesystem;
  fs::create_directories(folder / "in/deep");
  fs::create_directories(folder / "in2");
  const std::string inside = folder.write("in/deep/a", "a"), outside = folder.write("in2/b", "b");
  fs::create_symlink(outside, folder / "in/leads-out");
  fs::create_symlink(folder / "in2", folder / "in/folder");
  fs::create_symlink(folder / "in", folder / "name-of-in");
  const auto opens = [](const std::string& path, std::vector<std::string> roots) {
    FileSystem files;
    files.roots = std::move(roots);
    try {
      const File file(path, files);
      EXPECT_EQ(file.path(), path);
      return std::string("yes");
    } catch (const Error& e) {
      return e.fault().id;
    }
  };
  const std::string refused = "io.outside-roots";
  EXPECT_EQ(opens(outside, {}), "yes") << "no roots: anywhere";
  EXPECT_EQ(opens(inside, {folder / "in"}), "yes");
  EXPECT_EQ(opens(inside, {folder / "in/"}), "yes");
  EXPECT_EQ(opens(inside, {"/"}), "yes");
  EXPECT_EQ(opens(inside, {folder / "name-of-in"}), "yes");
  EXPECT_EQ(opens(folder / "name-of-in/deep/a", {folder / "in"}), "yes");
  EXPECT_EQ(opens(outside, {folder / "in"}), refused) << "in2 only begins like in";
  EXPECT_EQ(opens(outside, {folder / "in", folder / "in2"}), "yes");
  EXPECT_EQ(opens(folder / "in/../in2/b", {folder / "in"}), refused);
  EXPECT_EQ(opens(folder / "in/leads-out", {folder / "in"}), refused);
  EXPECT_EQ(opens(folder / "in/folder/b", {folder / "in"}), refused);
  EXPECT_EQ(opens(folder / "in/leads-out", {folder / "in", folder / "in2"}), "yes");
  EXPECT_EQ(opens(folder / "in2/none", {folder / "in"}), refused) << "nobody learns what is there";
  EXPECT_EQ(opens(folder / "in/none", {folder / "in"}), "io.open");
  EXPECT_EQ(opens(inside, {folder / "none"}), refused);

  // Relative paths, those of the roots too, count from a folder.
  FileSystem there;
  there.folder = folder.path();
  EXPECT_EQ(File("in/deep/a", there).path(), "in/deep/a");
  there.roots = {"in"};
  EXPECT_EQ(File("in/deep/a", there).size(), 1u);
  EXPECT_EQ(fault_of([&] { const File file("in2/b", there); }).id, refused);
  const Fault none = fault_of([&] { const File file("in/none", there); });
  EXPECT_EQ(none.at.file, "in/none");
  EXPECT_EQ(none.hint, "relative paths count from " + there.folder);
  const auto hint = [&](const std::string& path) { return fault_of([&] { const File file(path, there); }).hint; };
  there.configuration = folder / "in/x.cntk";
  EXPECT_EQ(hint("in/no/../../in2/no/../../in/none"), none.hint) << "nobody learns what folders there are";
  EXPECT_EQ(hint("in/leads-out/../../in/deep/b"), none.hint);
  there.roots = {};
  EXPECT_EQ(hint("in/no/deep/a"), none.hint + "; there is no folder 'in/no'");
  EXPECT_EQ(hint("in//deep/./no/deep/no/a"), none.hint + "; there is no folder 'in//deep/./no'");
  EXPECT_EQ(hint(folder / "in/no/deep/a"), "there is no folder '" + (folder / "in/no") + "'");
  EXPECT_EQ(hint(folder / "in/none"), "") << "of a path from the root there is nothing to say";

  const auto url = [](const std::string& path, const std::string& root) {
    try {
      return resolve_in_roots(path, {.roots = {root}}, {}) == path;
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_TRUE(url("s3://bucket/a/b", "s3://bucket/a"));
  EXPECT_FALSE(url("s3://bucket/ab", "s3://bucket/a"));
  EXPECT_FALSE(url("s3://bucket/a/../b", "s3://bucket/a"));
  for (const char* way_out : {"%2e%2e/b", ".%2E/b", "..%2fb", "%252e%252e/b", "%2%65%2e/b", "..%5Cb", "..\\b", ".\t./b",
                              ".%0a./b", "..?b", "..;/b", "..", "t::s3://bucket/b", "t::file:///b"}) {
    EXPECT_FALSE(url("s3://bucket/a/" + std::string(way_out), "s3://bucket/a")) << way_out;
  }
  for (const char* below : {"..b", "b..", "%2e", "a%2fb", "100%", "%zz", "%2", "a:b"})
    EXPECT_TRUE(url("s3://bucket/a/" + std::string(below), "s3://bucket/a")) << below;
  for (const char* file : {"file://", "local://", "simplecache::file://", "FILE://"})
    EXPECT_FALSE(url(file + (folder / "in/leads-out"), file + (folder / "in"))) << file << ": links are not resolved";
  EXPECT_TRUE(url("simplecache::s3://bucket/a", "simplecache::s3://bucket"));
  const Fault by_url =
      fault_of([&] { resolve_in_roots("file:///a/b", {.roots = {"file:///a"}}, {.file = "x.scp", .line = 2}); });
  EXPECT_EQ(by_url.hint, "name a local file by its path, not by a URL");
  EXPECT_FALSE(url("s3://bucket/a", "/"));
  EXPECT_FALSE(url("/a", "s3://bucket"));
}

}  // namespace
}  // namespace batchfeed::io
