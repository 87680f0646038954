// SPDX-License-Identifier: MIT
//
// Files behind functions of the caller's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/lines.h"
#include "io/path_policy.h"
#include "support/fault_of.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::fault_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Files in memory, by name.
struct Memory {
  std::map<std::string, std::string> content = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> announced = {};
  bool changed = false;

  FileSystem file_system() {
    return {
        .open =
            [this](const std::string& url) {
              const std::string& text = content.at(url);
              return std::make_shared<const RemoteFile>(RemoteFile{
                  .size = text.size(),
                  .version = "v" + std::to_string(text.size()),
                  .read = [&text](
                              std::uint64_t offset,
                              std::span<std::byte> out) { std::memcpy(out.data(), text.data() + offset, out.size()); },
                  .will_read = [this](std::uint64_t begin, std::uint64_t end) { announced.emplace_back(begin, end); },
                  .unchanged = [this] { return !changed; }});
            },
        .glob = {}};
  }
};

TEST(Url, HasAScheme) {
  for (const char* name : {"s3://bucket/a", "simplecache::s3://bucket/a", "gs://a", "https://a/b", "a+b.c-d://x"})
    EXPECT_TRUE(is_url(name)) << name;
  for (const char* name : {"", "a", "/a/b", "C:\\a", "a:b", "a:/b", "1s://x", "://x", "a b://x", "::x"})
    EXPECT_FALSE(is_url(name)) << name;
}

TEST(Url, PathsOfAListAtAUrlCountFromThere) {
  EXPECT_EQ(path_in_list("a/b.htk", "s3://bucket/dir"), "s3://bucket/dir/a/b.htk");
  EXPECT_EQ(path_in_list("gs://x/b.htk", "s3://bucket/dir"), "gs://x/b.htk");
  EXPECT_EQ(path_in_list("/a/b.htk", "s3://bucket/dir"), "/a/b.htk");
  EXPECT_EQ(path_in_list("a/b.htk", "dir"), "a/b.htk");
}

TEST(RemoteFile, IsReadByItsFunctions) {
  Memory memory{.content = {{"mem://a", "0123456789"}}};
  const File file("mem://a", memory.file_system());
  EXPECT_TRUE(file.is_remote());
  EXPECT_EQ(file.size(), 10u);
  std::string out(4, ' ');
  file.read(3, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, "3456");
  file.read(10, {});
  const Fault fault = fault_of([&] { file.read(8, std::as_writable_bytes(std::span(out))); });
  EXPECT_EQ(fault.id, "io.ends-early");
  EXPECT_EQ(fault.at.file, "mem://a");
  EXPECT_EQ(read_whole("mem://a", 10, "config_bytes", memory.file_system()), "0123456789");
  EXPECT_EQ(fault_of([&] { read_whole("mem://a", 9, "config_bytes", memory.file_system()); }).id, "limit.file");
}

TEST(RemoteFile, TellsWhatWillBeRead) {
  Memory memory{.content = {{"mem://a", "x\ny\n"}}};
  const File file("mem://a", memory.file_system());
  LineReader lines(file, LineEnd::lf, 10, "list_line_bytes");
  while (lines.next()) continue;
  EXPECT_EQ(lines.number(), 2u);
  EXPECT_THAT(memory.announced, ElementsAre(std::pair(0u, 4u)));
}

TEST(RemoteFile, MustStayWhatItWas) {
  Memory memory{.content = {{"mem://a", "0123"}}};
  const File file("mem://a", memory.file_system());
  file.expect_unchanged();
  memory.changed = true;
  EXPECT_EQ(fault_of([&] { file.expect_unchanged(); }).id, "io.changed");
  const Identity before = file.identity();
  memory.content["mem://a"] = "01234";
  EXPECT_FALSE(before == File("mem://a", memory.file_system()).identity());
}

TEST(RemoteFile, IsAFileThatCanBeRead) {
  const auto given = [](std::shared_ptr<const RemoteFile> file) {
    return fault_of([&] { File("mem://a", FileSystem{.open = [&](const std::string&) { return file; }}); });
  };
  EXPECT_EQ(given(nullptr).text(),
            "mem://a: the file system gives no file; hint: what opens URLs returns a RemoteFile with a read function, "
            "or throws an Error");
  const Fault fault = given(std::make_shared<const RemoteFile>(RemoteFile{.size = 3}));
  EXPECT_EQ(fault.id, "io.no-remote-file");
  EXPECT_EQ(fault.what, "the file system gives a file without a read function");
}

TEST(RemoteFile, NeedsSomebodyToOpenIt) {
  const Fault fault = fault_of([] { File("s3://bucket/a", FileSystem()); });
  EXPECT_EQ(fault.id, "io.open");
  EXPECT_THAT(fault.hint, HasSubstr("Python package"));
}

}  // namespace
}  // namespace batchfeed::io
