// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "io/atomic_file.h"
#include "io/file.h"
#include "io/folder.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::every;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::open_descriptors;
using ::batchfeed::testing::ScratchFolder;
using ::testing::HasSubstr;
using ::testing::Not;

std::string read_all(const File& file) {
  std::string text(static_cast<std::size_t>(file.size()), '?');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// Some file systems keep times whose nanoseconds do not fit 64 bits; the sanitizers look at how they are counted.
TEST(File, MayBeOfAnyTime) {
  static std::time_t seconds = 0;
  const ScratchFolder folder;
  const std::string path = folder.write("a", "x");
  Sys late = kSystem;
  late.fstat = [](int fd, struct ::stat* out) {
    const int result = kSystem.fstat(fd, out);
    out->st_mtim = {.tv_sec = seconds, .tv_nsec = 999'999'999};
    return result;
  };
  std::set<std::int64_t> times;
  set_sys(&late);
  for (const std::time_t at :
       {std::time_t{-9'300'000'000}, std::time_t{-1}, std::time_t{9'300'000'000}, std::time_t{99'999'999'999'999}}) {
    seconds = at;
    times.insert(File(path).identity().mtime_ns);
  }
  set_sys(nullptr);
  EXPECT_EQ(times.size(), 4u);
}

TEST(File, ReadsAnyRange) {
  const ScratchFolder folder;
  const File file(folder.write("a", "0123456789"));
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(read_all(file), "0123456789");
  std::string middle(3, '?');
  file.read(4, std::as_writable_bytes(std::span(middle)));
  EXPECT_EQ(middle, "456");
  file.read(10, {});
}

TEST(File, ShortReadsAndInterruptionsAreInvisible) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", std::string(1000, 'x') + "end");
  int storm = 100;
  FaultySys sys(
      [&](const auto& call) { return (call.name == "pread" || call.name == "open") && storm-- > 0 ? EINTR : 0; });
  sys.at_most(7);
  EXPECT_EQ(read_all(File(path)), std::string(1000, 'x') + "end");
}

TEST(File, AFailedCallIsAFaultThatNamesThePath) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "text");
  const std::size_t before = open_descriptors();
  for (const int error : {EIO, ESTALE, EACCES, EAGAIN}) {
    for (const char* call : {"open", "fstat", "pread"}) {
      const FaultySys sys(every(call, error));
      const Fault fault = fault_of([&] { read_all(File(path)); });
      EXPECT_EQ(fault.kind, FaultKind::io) << call;
      EXPECT_EQ(fault.at.file, path);
      EXPECT_THAT(fault.what, HasSubstr(std::strerror(error)));
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(File, IdsNameTheCall) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "text");
  const std::pair<const char*, const char*> ids[] = {
      {"open", "io.open"}, {"fstat", "io.examine"}, {"pread", "io.read"}};
  for (const auto& [call, id] : ids) {
    const FaultySys sys(every(call, EIO));
    EXPECT_EQ(fault_of([&] { read_all(File(path)); }).id, id);
  }
}

TEST(File, HintsSayWhatToDo) {
  EXPECT_THAT(fault_of([] { File("no/such/file"); }).hint, HasSubstr("working directory"));
  EXPECT_THAT(fault_of([] { File(""); }).hint, HasSubstr("the name is empty"));
  const FaultySys sys(every("open", EMFILE));
  EXPECT_THAT(fault_of([] { File("any"); }).hint, HasSubstr("ulimit -n"));
}

TEST(File, OfANameOfWindowsTheHintSaysOurs) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "data");
  folder.write("data/a.ctf", "x");
  const auto hint = [](const std::string& path, const FileSystem& files) {
    return fault_of([&] { File(path, files); }).hint;
  };
  const FileSystem here{.folder = folder.path().string()};
  EXPECT_EQ(hint("data\\a.ctf", here), "did you mean 'data/a.ctf'? Folders end with /, not \\");
  EXPECT_EQ(hint("data\\b.ctf", here).find("did you mean"), std::string::npos);
  const FileSystem closed{.roots = {(folder / "data")}, .folder = folder.path().string()};
  EXPECT_EQ(hint("data\\a.ctf", closed).find("did you mean"), std::string::npos);
}

TEST(File, TheHintSaysWhoNamesIt) {
  const auto where = std::make_shared<const std::string>("train.cntk");
  FileSystem files;
  files.named_at = std::make_shared<const std::vector<NamedFile>>(
      std::vector<NamedFile>{{"no/a", where, 3, 7}, {"no/c", where, 4, 0}});
  const auto hint = [&](const std::string& path) { return fault_of([&] { File(path, files); }).hint; };
  EXPECT_THAT(hint("no/a"), HasSubstr("it is named at train.cntk:3:7; "));
  EXPECT_THAT(hint("no/c"), HasSubstr("it is named at train.cntk:4; "));
  for (const char* const other : {"no/", "no/b", "no/d"}) EXPECT_THAT(hint(other), Not(HasSubstr("named at"))) << other;
}

// Nothing of what may not be looked for, nor of what is asked elsewhere.
TEST(File, WhatCannotBeOpenedIsKnownBefore) {
  const ScratchFolder folder;
  const std::string there = folder.write("a", "x"), none = folder / "none";
  const auto id = [](const std::string& path, const FileSystem& files) {
    const std::optional<Fault> fault = cannot_open(path, files);
    return fault ? fault->id : "";
  };
  const std::size_t before = open_descriptors();
  EXPECT_EQ(id(there, {}), "");
  EXPECT_EQ(id(none, {}), "io.open");
  EXPECT_EQ(id("a", {.folder = folder.path().string()}), "");
  EXPECT_EQ(id(none, {.roots = {folder.path().string()}}), "");
  EXPECT_EQ(id("mem://none", {}), "io.open");
  EXPECT_EQ(id("mem://none", {.open = [](const std::string&) { return nullptr; }}), "");
  EXPECT_EQ(open_descriptors(), before);
}

TEST(File, OnlyRegularFilesAreData) {
  const ScratchFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  // Opening a FIFO without a writer must not wait.
  for (const std::string& path : {folder.path().string(), fifo, std::string("/dev/zero"), std::string("/dev/null")}) {
    const Fault fault = fault_of([&] { File{path}; });
    EXPECT_EQ(fault.id, "io.not-a-file") << path;
    EXPECT_EQ(fault.at.file, path);
  }
}

TEST(File, WhatTheSystemMakesUpIsNotTakenForEmpty) {
  const ScratchFolder folder;
  EXPECT_EQ(File(folder.write("empty", "")).size(), 0u);
  const std::string made_up = "/proc/self/status";
  if (!std::filesystem::exists(made_up)) GTEST_SKIP() << "no " << made_up;
  const Fault fault = fault_of([&] { File{made_up}; });
  EXPECT_EQ(fault.id, "io.size-unknown");
  EXPECT_EQ(fault.at.file, made_up);
}

TEST(File, TruncatedWhileOpenIsStale) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "0123456789");
  const File file(path);
  file.expect_unchanged();
  std::filesystem::resize_file(path, 4);
  const Fault fault = fault_of([&] { read_all(file); });
  EXPECT_EQ(fault.kind, FaultKind::stale);
  EXPECT_EQ(fault.id, "io.ends-early");
  EXPECT_EQ(fault.at.byte, 4u);
  EXPECT_TRUE(fault.at.has_byte);
  EXPECT_EQ(fault_of([&] { file.expect_unchanged(); }).id, "io.changed");
}

TEST(File, RewrittenWithTheSameSizeIsStale) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "0123456789");
  const File file(path);
  ::timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 1}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const Fault fault = fault_of([&] { file.expect_unchanged(); });
  EXPECT_EQ(fault.kind, FaultKind::stale);
}

TEST(File, MovesAndClosesOnce) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "a"), other = folder.write("b", "b");
  const std::size_t before = open_descriptors();
  {
    File first(path);
    File second(std::move(first));
    EXPECT_EQ(read_all(second), "a");
    File third(other);
    third = std::move(second);
    EXPECT_EQ(read_all(third), "a");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(File, ManyThreadsReadOneFile) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 10000; ++i) text += static_cast<char>('a' + i % 26);
  const File file(folder.write("a", text));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 500; ++i) {
        const std::size_t at = (i * 7919 + t * 104729) % (text.size() - 100);
        std::string part(100, '?');
        file.read(at, std::as_writable_bytes(std::span(part)));
        wrong += part != text.substr(at, 100) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The process may be in another folder when it is done.
TEST(AtomicFile, AppearsWhereItsRelativePathLedAtFirst) {
  const ScratchFolder here, elsewhere;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());
  AtomicFile file("a"), dropped("b");
  {
    const AtomicFile never("c");
    std::filesystem::current_path(elsewhere.path());
  }
  file.append("text");
  file.rewrite_head(std::as_bytes(std::span("T", 1)));
  file.commit();
  dropped.discard();
  std::filesystem::current_path(before);
  EXPECT_EQ(here.names(), std::vector<std::string>{"a"});
  EXPECT_EQ(content_of(here / "a"), "Text");
  EXPECT_TRUE(elsewhere.names().empty());
}

// Or stay: also where the system cannot do it at once, whichever rename of the way round fails.
TEST(Exchange, TwoNamesChangePlaces) {
  for (const int error : {0, EINVAL, ENOSYS, EOPNOTSUPP, EIO}) {
    const bool round = error != 0 && error != EIO;
    for (const int failing : {0, 1, 2, 3}) {
      const ScratchFolder folder;
      const std::string one = folder.write("one", "1"), other = folder.write("other", "2");
      int renames = 0;
      const FaultySys sys([&](const ::batchfeed::testing::Call& call) {
        return call.name == "exchange" ? error : call.name == "rename" && ++renames == failing ? EACCES : 0;
      });
      const bool told = error == EIO || (round && failing != 0);
      EXPECT_EQ(id_of([&] { exchange(one, other); }), told ? "io.rename" : "");
      const bool changed = error != EIO && (!told || failing == 3);
      EXPECT_EQ(content_of(other), changed ? "1" : "2") << error << ", rename " << failing;
      const bool aside = round && failing == 3;
      EXPECT_EQ(content_of(aside ? one + ".old" : one), changed ? "2" : "1");
      EXPECT_EQ(folder.names().size(), 2u);
    }
  }
}

TEST(AtomicFile, IsForNobodyWhoMightNotReadTheOneItReplaces) {
  const ScratchFolder folder;
  const ::mode_t before = ::umask(022);
  const std::string path = folder.write("f", "");
  for (const auto& [old, fresh] : {std::pair(0600u, 0600u), {0640u, 0640u}, {0400u, 0600u}, {0666u, 0644u}}) {
    ASSERT_EQ(::chmod(path.c_str(), old), 0);
    AtomicFile file(path);
    file.append("new");
    const auto of = [](const std::string& name) { return unsigned(std::filesystem::status(name).permissions()); };
    EXPECT_EQ(of(file.temporary()), fresh) << old;
    file.rewrite_head(std::as_bytes(std::span("N", 1)));
    file.commit();
    EXPECT_EQ(of(path), fresh) << old;
  }
  ::umask(before);
}

TEST(ReadWhole, HasALimit) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "0123456789");
  EXPECT_EQ(read_whole(path, 10, "config_bytes"), "0123456789");
  const Fault fault = fault_of([&] { read_whole(path, 9, "config_bytes"); });
  EXPECT_EQ(fault.kind, FaultKind::limit);
  EXPECT_EQ(fault.id, "limit.file");
  EXPECT_THAT(fault.hint, HasSubstr("config_bytes"));
  EXPECT_EQ(read_whole(folder.write("empty", ""), 0, "x"), "");
}

TEST(ReadWhole, ASparseGiantIsRefusedBeforeAnythingIsAllocated) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "");
  ASSERT_EQ(::truncate(path.c_str(), std::int64_t{1} << 42), 0);
  EXPECT_EQ(fault_of([&] { read_whole(path, 16 << 20, "config_bytes"); }).id, "limit.file");
}

}  // namespace
}  // namespace batchfeed::io
