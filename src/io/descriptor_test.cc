// SPDX-License-Identifier: MIT
#include "io/descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/atomic_file.h"
#include "io/file.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed::io {
namespace {

using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::open_descriptors;
using ::batchfeed::testing::ScratchFolder;

// How many descriptors the process may have, for as long as this lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    ::rlimit lower = before_;
    lower.rlim_cur = most;
    ::setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  ::rlimit before_{};
};

// The system gives the lowest number that is free: limits are about numbers, and those before may have gaps.
std::size_t first_free_descriptor() {
  const int fd = ::dup(STDERR_FILENO);
  ::close(fd);
  return static_cast<std::size_t>(fd);
}

std::vector<File> files(const ScratchFolder& folder, std::size_t count) {
  std::vector<File> out;
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(folder.write(std::to_string(i), std::to_string(1000 + i)));
  return out;
}

std::string text_of(const File& file) {
  std::string text(static_cast<std::size_t>(file.size()), '?');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// The call of this name fails so the first time.
FaultySys once(const char* name, int error) {
  return FaultySys([name, error, failed = false](const ::batchfeed::testing::Call& call) mutable {
    return call.name == name && !std::exchange(failed, true) ? error : 0;
  });
}

TEST(Descriptor, MoreFilesThanAProcessMayHoldOpen) {
  const ScratchFolder folder;
  const std::size_t before = open_descriptors();
  {
    const DescriptorLimit limit(before + 32);
    const std::vector<File> all = files(folder, 200);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(text_of(all[i * 7 % 200]), std::to_string(1000 + i * 7 % 200));
      // Half of them are for others.
      EXPECT_LE(open_descriptors() - before, (before + 32) / 2);
    }
    all[0].expect_unchanged();
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Descriptor, FewFilesStayOpen) {
  const ScratchFolder folder;
  const std::size_t before = open_descriptors();
  for (const std::size_t few : {8u, 60u}) {  // half of what the process may have
    const DescriptorLimit limit(2 * (before + 60));
    const std::vector<File> all = files(folder, few);
    EXPECT_EQ(open_descriptors(), before + few);
  }
}

// Others may have taken them all.
TEST(Descriptor, AnIdleFileMakesRoom) {
  const ScratchFolder folder;
  const std::vector<File> all = files(folder, 2);
  const std::size_t before = open_descriptors();
  for (const int error : {EMFILE, ENFILE}) {
    const FaultySys sys = once("open", error);
    const File another(folder.write("another", "x"));
    EXPECT_EQ(open_descriptors(), before) << "one was closed for it";
    EXPECT_EQ(text_of(all[0]), "1000");
    EXPECT_EQ(text_of(all[1]), "1001");
  }
  const FaultySys sys = once("mkostemp", EMFILE);
  AtomicFile written(folder / "written");
  written.commit();
  EXPECT_TRUE(std::filesystem::exists(folder / "written"));
}

TEST(Descriptor, NobodyIsClosedWhileHeIsRead) {
  const ScratchFolder folder;
  const std::string path = folder.write("a", "text");
  const int fd = open_to_read(path, 0, Opening());
  const Descriptor file(fd, path, 0, path, identify(fd, path));
  {
    const Descriptor::Use use = file.use();
    while (close_an_idle_file()) {
    }
    EXPECT_EQ(use.fd(), fd);
    EXPECT_EQ(identify(use.fd(), path).size, 4u);
    const Descriptor::Use again = file.use();
    EXPECT_EQ(again.fd(), fd);
  }
  EXPECT_TRUE(close_an_idle_file());
  EXPECT_FALSE(close_an_idle_file());
  EXPECT_EQ(identify(file.use().fd(), path).size, 4u);
}

TEST(Descriptor, WhatIsOpenedAgainIsTheSameFile) {
  const ScratchFolder folder;
  const std::vector<File> all = files(folder, 3);
  while (close_an_idle_file()) {
  }
  folder.write("0", "changed");
  std::filesystem::remove(folder / "1");
  const Fault changed = fault_of([&] { text_of(all[0]); });
  EXPECT_EQ(changed.id, "io.changed");
  EXPECT_EQ(changed.kind, FaultKind::stale);
  EXPECT_EQ(changed.what, "changed while it was being read: 4 bytes then, 7 now");
  const Fault gone = fault_of([&] { text_of(all[1]); });
  EXPECT_EQ(gone.id, "io.open");
  EXPECT_EQ(gone.at.file, folder / "1");
  EXPECT_EQ(text_of(all[2]), "1002");
  // It fails each time, and leaves nothing open.
  const std::size_t before = open_descriptors();
  EXPECT_EQ(fault_of([&] { all[0].expect_unchanged(); }).id, "io.changed");
  EXPECT_EQ(open_descriptors(), before);
}

// Four threads, each of which reads files and opens them anew: how many were not what they should be.
int wrong_of_four_threads(const ScratchFolder& folder, const std::vector<File>& all, std::size_t rounds) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < rounds; ++i) {
        const std::size_t n = (i * (2 * t + 3) + t) % all.size();
        try {
          if (text_of(all[n]) != std::to_string(1000 + n)) ++wrong;
          if (File(folder / std::to_string(n)).size() != 4) ++wrong;
        } catch (const Error&) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST(Descriptor, ThreadsReadManyFilesWithFewDescriptors) {
  const ScratchFolder folder;
  const DescriptorLimit limit(open_descriptors() + 24);
  const std::vector<File> all = files(folder, 100);
  EXPECT_EQ(wrong_of_four_threads(folder, all, 2000), 0);
}

// Those who read give theirs back; who needs one waits for that.
TEST(Descriptor, ThreadsTakeTurnsWithOneDescriptor) {
  const ScratchFolder folder;
  const std::vector<File> all = files(folder, 20);
  while (close_an_idle_file()) {
  }
  const DescriptorLimit limit(first_free_descriptor() + 1);
  EXPECT_EQ(wrong_of_four_threads(folder, all, 200), 0);
}

// With the working folder in front of it, it would be longer than the system takes.
TEST(Descriptor, ALongRelativePathIsOpenedAgain) {
  const ScratchFolder folder;
  folder.write("a", "text");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::string path;
  while (path.size() < PATH_MAX - 4) path += "./";
  const File file(path + 'a');
  while (close_an_idle_file()) {
  }
  EXPECT_EQ(text_of(file), "text");
  std::filesystem::current_path(before);
}

// The threads that read or opened a file when the process was forked will never be done with it in the child.
TEST(Descriptor, AForkedChildWaitsForNoThreadThatItHasNot) {
  const ScratchFolder folder;
  const std::vector<File> all = files(folder, 1);
  while (close_an_idle_file()) {
  }
  const std::string path = folder.write("a", "text");
  const Opening opening;
  const Descriptor file(open_to_read(path, 0, opening), path, 0, path, File(path).identity());
  const Descriptor::Use use = file.use();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const bool closed = close_an_idle_file();  // nobody reads it here
    const FaultySys sys([](const ::batchfeed::testing::Call& call) { return call.name == "open" ? EMFILE : 0; });
    ::_exit(closed && fault_of([&] { text_of(all[0]); }).id == "io.open" ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Descriptor, AForkedChildOpensWhatAThreadWasOpening) {
  const ScratchFolder folder;
  const std::vector<File> all = files(folder, 1);
  while (close_an_idle_file()) {
  }
  std::atomic<bool> opening = false, forked = false;
  const FaultySys sys([&](const ::batchfeed::testing::Call& call) {
    if (call.name != "open") return 0;
    opening = true;
    opening.notify_one();
    forked.wait(false);
    return 0;
  });
  std::thread thread([&] { EXPECT_EQ(text_of(all[0]), "1000"); });
  opening.wait(false);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    set_sys(nullptr);
    ::_exit(text_of(all[0]) == "1000" ? 0 : 1);
  }
  forked = true;
  forked.notify_one();
  thread.join();
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Each opens it, and the first one's descriptor serves all.
TEST(Descriptor, ThreadsOpenOneFileAgainAtOnce) {
  const ScratchFolder folder;
  const std::vector<File> all = files(folder, 1);
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 200; ++round) {
    while (close_an_idle_file()) {
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { EXPECT_EQ(text_of(all[0]), "1000"); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(open_descriptors(), before);
  }
}

}  // namespace
}  // namespace batchfeed::io
