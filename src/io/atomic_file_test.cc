// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "io/file.h"
#include "io/folder.h"
#include "io/unfinished.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::every;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::nth_call;
using ::batchfeed::testing::open_descriptors;
using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void write_file(const std::string& path) {
  AtomicFile file(path);
  file.append("new ");
  file.append("content");
  EXPECT_EQ(file.size(), 11u);
  file.commit();
}

// Write all, flush, close, rename, flush the folder: this order survives a loss of power.
TEST(AtomicFile, MakesItsCallsInTheOrderThatSurvives) {
  const ScratchFolder folder;
  const FaultySys sys;
  write_file(folder / "out");
  EXPECT_THAT(sys.names(),
              ElementsAre("mkostemp", "lock", "write", "write", "fsync", "close", "rename", "open", "fsync", "close"));
  EXPECT_EQ(content_of(folder / "out"), "new content");
  // The temporary file lies in the same folder: a rename does not cross file systems.
  const auto log = sys.log();
  EXPECT_EQ(std::filesystem::path(log[0].path).parent_path(), folder.path());
  EXPECT_EQ(log[7].path, folder.path().string());
}

TEST(AtomicFile, IsForWhomTheUmaskAllows) {
  using enum std::filesystem::perms;
  const ScratchFolder folder;
  const ::mode_t before = ::umask(077);
  write_file(folder / "private");
  ::umask(022);
  write_file(folder / "public");
  ::umask(before);
  const auto of = [&](const char* name) { return std::filesystem::status(folder / name).permissions(); };
  EXPECT_EQ(of("private"), owner_read | owner_write);
  EXPECT_EQ(of("public"), owner_read | owner_write | group_read | others_read);
}

TEST(AtomicFile, DoesNotReplaceAPipeOrADevice) {  // io.special-target
  const ScratchFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null"), std::string("/dev/stdout")})
    EXPECT_EQ(fault_of([&] { const AtomicFile file(path); }).id, "io.special-target") << path;
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(AtomicFile, MayHaveTheLongestNameThereIs) {
  const ScratchFolder folder;
  for (const std::size_t length : {244u, 245u, 255u}) {
    const std::string name(length, 'n');
    AtomicFile file(folder / name);
    file.append(std::as_bytes(std::span(name)));
    file.commit();
    EXPECT_EQ(::batchfeed::testing::content_of(folder / name), name);
  }
  EXPECT_EQ(folder.names().size(), 3u);
  EXPECT_THROW(AtomicFile(folder / std::string(256, 'n')), Error);
}

TEST(AtomicFile, HasNoNulInItsName) {
  const ScratchFolder folder;
  const std::string path = folder / std::string("out\0side", 8);
  EXPECT_EQ(fault_of([&] { write_file(path); }).id, "io.create");
  folder.write("out", "old");
  EXPECT_EQ(fault_of([&] { File file(path); }).id, "io.open") << "nor has a file that is read";
  EXPECT_EQ(content_of(folder / "out"), "old");
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

TEST(AtomicFile, WithoutCommitThereIsNothing) {
  const ScratchFolder folder;
  folder.write("out", "old");
  {
    AtomicFile file(folder / "out");
    file.append("new");
  }
  EXPECT_THAT(folder.names(), ElementsAre("out"));
  EXPECT_EQ(content_of(folder / "out"), "old");
}

TEST(AtomicFile, IsWrittenOnce) {
  const ScratchFolder folder;
  AtomicFile file(folder / "out");
  file.append("new");
  file.commit();
  for (const bool append : {true, false}) {
    EXPECT_EQ(id_of([&] { append ? file.append("more") : file.commit(); }), "io.written");
  }
  EXPECT_EQ(content_of(folder / "out"), "new");
}

// Whichever call fails, once: what goes on afterwards cannot put a torn file in its place.
TEST(AtomicFile, WhatIsTornGetsNoNameLater) {
  for (const char* const name : {"out", "out.zst"}) {
    std::size_t refused = 0;
    for (std::uint64_t n = 2; n < 12; ++n) {
      const ScratchFolder folder;
      const FaultySys sys(nth_call(n, EIO));
      AtomicFile file(folder / name);
      const auto step = [&](const auto& take) {
        try {
          take();
        } catch (const Error& error) {
          refused += error.fault().id == "io.written" ? 1u : 0u;
        }
      };
      step([&] { file.append("new "); });
      step([&] { file.append("content"); });
      step([&] { file.rewrite_head(std::as_bytes(std::span("NEW", 3))); });
      step([&] { file.seal(); });
      step([&] { file.seal(); });
      step([&] { file.commit(); });
      step([&] { file.commit(); });
      if (!std::filesystem::exists(folder / name) || name == std::string_view("out.zst")) continue;
      EXPECT_EQ(content_of(folder / name), "NEW content") << "call " << n;
    }
    EXPECT_GT(refused, 5u) << name;
  }
}

// Every call fails in turn, with every error that it may fail with.
TEST(AtomicFile, IsOldOrNewWhicheverCallFails) {
  const std::size_t before = open_descriptors();
  for (const int error : {EIO, ENOSPC, EDQUOT, EFBIG, EXDEV, EPERM, EINTR}) {
    bool succeeded = false;
    for (std::uint64_t n = 1; !succeeded; ++n) {
      ASSERT_LT(n, 20u);
      const ScratchFolder folder;
      folder.write("out", "old");
      bool committed = true;
      {
        const FaultySys sys(nth_call(n, error));
        try {
          write_file(folder / "out");
          succeeded = sys.calls() < n;
        } catch (const Error& e) {
          committed = false;
          EXPECT_EQ(e.fault().kind, FaultKind::io);
          EXPECT_THAT(e.fault().at.file, HasSubstr(folder.path().string()));
        }
      }
      EXPECT_THAT(folder.names(), ElementsAre("out")) << "call " << n << ", error " << error;
      const std::string content = content_of(folder / "out");
      EXPECT_TRUE(content == "new content" || (!committed && content == "old")) << "call " << n << ": " << content;
      write_file(folder / "out");
      EXPECT_EQ(content_of(folder / "out"), "new content");
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(AtomicFile, IdsNameTheCall) {
  const ScratchFolder folder;
  const std::pair<const char*, const char*> ids[] = {{"mkostemp", "io.create"},
                                                     {"write", "io.write"},
                                                     {"fsync", "io.sync"},
                                                     {"close", "io.close"},
                                                     {"rename", "io.rename"}};
  for (const auto& [call, id] : ids) {
    const FaultySys sys(every(call, EIO));
    EXPECT_EQ(fault_of([&] { write_file(folder / "out"); }).id, id);
  }
  for (const int error : {EIO, EINVAL, EROFS}) {  // of the folder, which some file systems cannot flush
    const FaultySys sys(nth_call(9, error));
    EXPECT_EQ(id_of([&] { write_file(folder / "out"); }), error == EIO ? "io.sync" : "");
  }
}

TEST(AtomicFile, WhatWasInterruptedIsDoneAgain) {
  for (const char* const call : {"mkostemp", "lock", "write", "fsync", "close"}) {
    const ScratchFolder folder;
    int left = 1;
    const FaultySys sys([&](const ::batchfeed::testing::Call& c) { return c.name == call && left-- > 0 ? EINTR : 0; });
    write_file(folder / "out");
    EXPECT_LE(left, 0) << call;
    EXPECT_EQ(content_of(folder / "out"), "new content") << call;
  }
}

TEST(AtomicFile, AWriteThatTakesNothingIsAnError) {
  const ScratchFolder folder;
  FaultySys sys;
  sys.at_most(0);
  EXPECT_EQ(fault_of([&] { write_file(folder / "out"); }).id, "io.write");
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, WhatWasRemovedMeanwhileIsTold) {
  const ScratchFolder folder;
  AtomicFile file(folder / "out");
  std::filesystem::remove(file.temporary());
  const Fault fault = fault_of([&] { file.commit(); });
  EXPECT_EQ(fault.id, "io.rename");
  EXPECT_THAT(fault.hint, HasSubstr("removed meanwhile"));
}

// After a failed fsync the pages may be gone: trying again on the same file would lie.
TEST(AtomicFile, AFailedSyncIsNotTriedAgain) {
  const ScratchFolder folder;
  const FaultySys sys(every("fsync", EIO));
  EXPECT_EQ(fault_of([&] { write_file(folder / "out"); }).id, "io.sync");
  const auto names = sys.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "fsync"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "rename"), 0);
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, OfASealedFileOnlyTheNameIsMissing) {
  const ScratchFolder folder;
  const FaultySys sys;
  AtomicFile file(folder / "out");
  file.append("new");
  file.seal();
  EXPECT_THAT(sys.names(), ElementsAre("mkostemp", "lock", "write", "fsync", "close"));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  file.commit();
  EXPECT_EQ(content_of(folder / "out"), "new");
}

TEST(AtomicFile, WithoutDurabilityNothingIsFlushed) {
  const ScratchFolder folder;
  const FaultySys sys;
  AtomicFile file(folder / "out", {.durable = false});
  file.commit();
  EXPECT_THAT(sys.names(), ElementsAre("mkostemp", "lock", "close", "rename"));
}

TEST(AtomicFile, TellsIfAFileOnTheWayCannotGo) {
  const ScratchFolder folder;
  AtomicFile file(folder / "out", {.durable = false});
  {
    const FaultySys sys(every("unlink", EACCES));
    EXPECT_EQ(fault_of([&] { file.discard(); }).id, "io.remove");
  }
  file.discard();
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, WhoEndsTheProcessAtOnceCanRemoveWhatIsHalfWritten) {
  const ScratchFolder folder;
  {
    std::vector<std::unique_ptr<AtomicFile>> files;
    for (int i = 0; i < 100; ++i) files.push_back(std::make_unique<AtomicFile>(folder / std::to_string(i)));
    files[3]->commit();
    remove_unfinished();
    EXPECT_THAT(folder.names(), ElementsAre("3"));
  }
  EXPECT_THAT(folder.names(), ElementsAre("3"));
  for (int i = 0; i < 200; ++i) AtomicFile(folder / "3").append(std::string_view("x"));
  AtomicFile last(folder / "4");
  remove_unfinished();
  EXPECT_THAT(folder.names(), ElementsAre("3"));
}

// A file that has been created, and not yet named to whoever would remove it.
TEST(Unfinished, WhoEndsTheProcessWaitsForAFileThatIsBeingCreated) {
  const ScratchFolder folder;
  std::atomic<bool> begun = false;
  std::jthread creates([&] {
    Unfinished file;
    ::sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    file.list(folder.write("late", "x"));
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
    while (std::filesystem::exists(folder / "late")) std::this_thread::yield();
  });
  while (!begun) std::this_thread::yield();
  remove_unfinished();
  creates.join();
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, WhatKilledWritersLeftLongAgoGoes) {
  const ScratchFolder folder;
  for (const char* name : {"a.tmp.oldold/spk/deep/u", "a.tmp.YOUNGX/spk/u", "a.tmp.oldone", "b.tmp.oldold"}) {
    folder.write(name, "x");
    if (name[6] == 'Y') continue;
    for (std::filesystem::path p = name; !p.empty(); p = p.parent_path())
      std::filesystem::last_write_time(folder / p.string(),
                                       std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  }
  AtomicFile(folder / "a", {.clear = false});
  EXPECT_EQ(folder.names().size(), 4u);
  AtomicFile(folder / "a").commit();
  EXPECT_THAT(folder.names(), ElementsAre("a", "a.tmp.YOUNGX/spk/u", "b.tmp.oldold"));
}

void make_hours_old(const std::string& path) {
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
}

// Of a writer that was given nothing for hours, or has kept all in memory, also if it writes into a folder.
TEST(AtomicFile, AFileThatIsStillWrittenStaysHoweverOldItIs) {
  const ScratchFolder folder;
  AtomicFile slow(folder / "a"), inside(folder.write("b.tmp.speech/u", "x"));
  for (const std::string& path : {slow.temporary(), inside.temporary(), folder / "b.tmp.speech/u"})
    make_hours_old(path);
  make_hours_old(folder / "b.tmp.speech");
  AtomicFile(folder / "a").commit();
  remove_leftovers(folder / "b");
  EXPECT_TRUE(std::filesystem::exists(inside.temporary()));
  slow.append("slow");
  slow.commit();
  EXPECT_EQ(content_of(folder / "a"), "slow");
}

// Where the file system knows no locks.
TEST(AtomicFile, WithoutLocksTheAgeDecides) {
  for (const int error : {ENOLCK, ENOTSUP, EWOULDBLOCK}) {
    const ScratchFolder folder;
    AtomicFile slow(folder / "a");
    make_hours_old(slow.temporary());
    remove_leftovers(ScratchFolder() / "other");  // so that the folder is read again
    const FaultySys sys(every("lock", error));
    remove_leftovers(folder / "a");
    EXPECT_EQ(std::filesystem::exists(slow.temporary()), error == EWOULDBLOCK) << error;
  }
}

TEST(AtomicFile, LeftoversOfTheLongestNamesGo) {
  const ScratchFolder folder;
  for (const std::size_t length : {240u, 250u, 255u}) {
    const std::string name(length, 'n');
    for (const char* const keys : {"", ".keys"}) {
      const std::string left = (name + keys).substr(0, 244) + ".tmp.oldone";
      make_hours_old(folder.write(left, "x"));
      remove_leftovers(ScratchFolder() / "other");
      remove_leftovers(folder / name);
      EXPECT_TRUE(folder.names().empty()) << length << keys;
    }
  }
}

// Each name of it would be looked at for each of many files.
TEST(AtomicFile, AFolderThatManyFilesGoToIsReadOnce) {
  const ScratchFolder folder, other;
  for (const char* name : {"a.tmp.oldone", "b.tmp.oldold", "c.tmp.YOUNGX"}) folder.write(name, "x");
  const auto make_old = [&](const char* name) {
    std::filesystem::last_write_time(folder / name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  };
  make_old("a.tmp.oldone");
  make_old("b.tmp.oldold");
  remove_leftovers(folder / "a");
  EXPECT_THAT(folder.names(), ElementsAre("b.tmp.oldold", "c.tmp.YOUNGX"));
  folder.write("b.tmp.behind", "x");  // was not there, so it is no hour old whatever it says
  make_old("b.tmp.behind");
  make_old("c.tmp.YOUNGX");
  remove_leftovers(folder / "b");
  remove_leftovers(folder / "c");
  EXPECT_THAT(folder.names(), ElementsAre("b.tmp.behind"));
  remove_leftovers(other / "b");
  remove_leftovers(folder / "b");
  EXPECT_TRUE(folder.names().empty());
}

// They may have come with somebody else's corpus.
TEST(AtomicFile, LinksInLeftoversLeadNowhere) {
  const ScratchFolder folder;
  folder.write("photos/one", "precious");  // and young
  folder.write("a.tmp.strang/spk/u", "x");
  for (const char* link : {"a.tmp.strang/spk/out", "a.tmp.strang/out", "a.tmp.linked"})
    std::filesystem::create_directory_symlink(folder / "photos", folder / link);
  for (const char* link : {"a.tmp.strang/one", "a.tmp.strang/other"})  // two ways round at each step
    std::filesystem::create_directory_symlink(".", folder / link);
  for (const char* name : {"a.tmp.strang/spk/out", "a.tmp.strang/spk/u", "a.tmp.strang/spk", "a.tmp.strang/out",
                           "a.tmp.strang/one", "a.tmp.strang/other", "a.tmp.strang", "a.tmp.linked"}) {
    const timespec old[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder / name).c_str(), old, AT_SYMLINK_NOFOLLOW), 0);
  }
  remove_leftovers(folder / "a");
  EXPECT_THAT(folder.names(), ElementsAre("photos/one"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder / "a.tmp.linked")));
}

TEST(Folder, RemovesWhatIsThere) {
  const ScratchFolder folder;
  folder.write("sub/deep/c", "x");
  folder.write("sub/a", "x");
  folder.write("sub/b", "x");
  remove_tree(folder / "sub/a");
  EXPECT_THAT(folder.names(), ElementsAre("sub/b", "sub/deep/c"));
  remove_tree(folder / "sub");
  EXPECT_FALSE(std::filesystem::exists(folder / "sub"));
}

TEST(AtomicFile, ShortWritesAreInvisible) {
  const ScratchFolder folder;
  FaultySys sys;
  sys.at_most(3);
  write_file(folder / "out");
  EXPECT_EQ(content_of(folder / "out"), "new content");
}

TEST(AtomicFile, ReplacesALinkInsteadOfFollowingIt) {
  const ScratchFolder folder;
  const std::string elsewhere = folder.write("elsewhere", "precious");
  std::filesystem::create_symlink(elsewhere, folder / "out");
  write_file(folder / "out");
  EXPECT_EQ(content_of(elsewhere), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "out"));
}

// Also on file systems without a rename that refuses, and without hard links.
TEST(AtomicFile, OfWritersThatMayNotReplaceTheFirstWins) {
  const auto unknown = [](std::vector<std::pair<std::string, int>> calls) {
    return [calls](const testing::Call& call) {
      for (const auto& [name, error] : calls)
        if (call.name == name) return error;
      return 0;
    };
  };
  for (const FaultySys::Rule& rule : {FaultySys::Rule(), FaultySys::Rule(unknown({{"rename_new", EINVAL}})),
                                      FaultySys::Rule(unknown({{"rename_new", ENOSYS}, {"link", EPERM}}))}) {
    const ScratchFolder folder;
    const FaultySys sys(rule);
    {
      AtomicFile first(folder / "out", {.replace = false}), second(folder / "out", {.replace = false});
      second.append("second");
      second.commit();
      const Fault fault = fault_of([&] { first.commit(); });
      EXPECT_EQ(fault.kind, FaultKind::usage);
      EXPECT_EQ(fault.id, "convert.exists");
      EXPECT_EQ(fault_of([&] { const AtomicFile third(folder / "out", {.replace = false}); }).id, "convert.exists");
    }
    EXPECT_EQ(content_of(folder / "out"), "second");
    EXPECT_THAT(folder.names(), ElementsAre("out"));
  }
  const ScratchFolder folder;
  AtomicFile file(folder / "out", {.replace = false});
  const FaultySys sys(every("rename_new", EIO));
  EXPECT_EQ(fault_of([&] { file.commit(); }).id, "io.rename");
}

TEST(AtomicFile, WritersMayRace) {
  const ScratchFolder folder;
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        AtomicFile file(folder / "out");
        file.append(std::string(5000, static_cast<char>('a' + t)));
        file.commit();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string content = content_of(folder / "out");
  EXPECT_EQ(content, std::string(5000, content.at(0)));
  EXPECT_THAT(folder.names(), ElementsAre("out"));
}

}  // namespace
}  // namespace batchfeed::io
