// SPDX-License-Identifier: MIT
#include <batchfeed/reader.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assemble/open.h"
#include "assemble/testing.h"

namespace batchfeed::assemble {
namespace {

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

// A URL's pattern is expanded by the user's FileSystem::glob.
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
  // A pattern without matches stays as a name, so that opening it says what is missing.
  named = {};
  EXPECT_EQ(expand({"mem://*.ctf", (folder_ / "no*.ctf").string()}, setup.file_system),
            (std::vector<std::string>{"mem://*.ctf", (folder_ / "no*.ctf").string()}));
  EXPECT_EQ(expand({(folder_ / "a*.ctf").string()}, setup.file_system),
            (std::vector<std::string>{(folder_ / "a.ctf").string()}));
  EXPECT_EQ(asked.size(), 2u) << "files of this machine are not asked of it";
}

// FileSystem::glob is not called for a pattern outside the roots.
TEST_F(Opening, PatternsOfURLsLookInTheRootsOnly) {
  FileSystem files;
  files.roots = {"mem://in"};
  std::vector<std::string> asked;
  files.glob = [&](const std::string& pattern) {
    asked.push_back(pattern);
    return std::vector<std::string>{"mem://in/a.ctf"};
  };
  EXPECT_EQ(expand({"mem://in/*.ctf", "mem://in/b/?.ctf"}, files).size(), 2u);
  EXPECT_EQ(asked.size(), 2u);
  for (const char* outside : {"mem://out/*.ctf", "mem://*/a.ctf", "mem://in*/a.ctf", "mem://in/*/../../out/a.ctf",
                              "mem://in/%2e%2e/out/*.ctf", "mem://in/*/..%2f..%2fout/a.ctf", "file:///in/*"}) {
    const Fault fault = testing::fault_of([&] { expand({outside}, files); });
    EXPECT_EQ(fault.id, "io.outside-roots") << outside;
    EXPECT_EQ(fault.at.file, outside);
  }
  EXPECT_EQ(asked.size(), 2u);
}

// Otherwise the name of one file would silently stand for others.
TEST_F(Opening, ANameThatExistsIsNoPattern) {
  const std::string bracketed = write("a[1].ctf", "|A 1\n"), starred = write("a*.ctf", "|A 2\n");
  write("a1.ctf", "|A 3\n");
  EXPECT_EQ(expand({bracketed, starred}), (std::vector<std::string>{bracketed, starred}));
  FileSystem here;
  here.folder = folder_.string();
  EXPECT_EQ(expand({"a[1].ctf", "a[2].ctf", "?1.ctf"}, here),
            (std::vector<std::string>{"a[1].ctf", "a[2].ctf", "a1.ctf"}));
}

// Three links to the folder that holds them give a folder for each path through them, so any number.
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

// Runs as the user nobody, since root may read every folder.
class AsNobody {
 public:
  AsNobody() : was_(::geteuid()) { EXPECT_TRUE(was_ != 0 || ::seteuid(65534) == 0); }
  ~AsNobody() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  ::uid_t was_;
};

TEST_F(Opening, FoldersThatAreClosedToUsAreLeftOutAndTold) {
  const std::string folder = folder_.string();
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_directory(folder_ / name);
    write(name + std::string("/x.ctf"), "|A 1\n");
  }
  for (const char* name : {"a", "c"}) std::filesystem::permissions(folder_ / name, std::filesystem::perms::none);
  std::vector<std::string> told;
  const Report report = [&](const Notice& notice) {
    EXPECT_EQ(notice.fault.id, "open.closed-folder");
    told.push_back(notice.fault.text());
  };
  {
    const AsNobody nobody;
    for (const char* pattern : {"/*/x.ctf", "/*/*.ctf"}) {
      told.clear();
      EXPECT_EQ(expand({folder + pattern}, {}, {}, report), (std::vector<std::string>{folder + "/b/x.ctf"}));
      ASSERT_EQ(told.size(), 1u);
      EXPECT_NE(told[0].find("' is closed to us, and 1 other: files that the pattern would name"), std::string::npos)
          << told[0];
    }
    told.clear();
    FileSystem here;
    here.folder = folder;
    EXPECT_EQ(expand({"[ab]/*.ctf"}, here, {}, report), (std::vector<std::string>{"b/x.ctf"}));
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find("'a' is closed to us: files"), std::string::npos) << told[0];
    told.clear();
    EXPECT_EQ(expand({"b/*.ctf"}, here, {}, report), (std::vector<std::string>{"b/x.ctf"}));
    EXPECT_TRUE(told.empty()) << told[0];
  }
  for (const char* name : {"a", "c"}) std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace batchfeed::assemble
