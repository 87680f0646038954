// SPDX-License-Identifier: MIT
#include "compressed/parked.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <thread>

namespace batchfeed::compressed {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// A decoder that says it stands at `at` and takes `bytes` of memory, and decodes nothing.
class Standing : public Decoder {
 public:
  explicit Standing(std::uint64_t at, std::size_t bytes = kMiB) : at_(at), bytes_(bytes) {}
  void start(const Stored&, const Point&, std::span<const std::byte>) override {}
  std::size_t decode(const Stored&, std::span<std::byte>) override { return 0; }
  std::size_t decode_to_point(const Stored&, std::span<std::byte>) override { return 0; }
  bool at_point() const noexcept override { return false; }
  Point point() const noexcept override { return {}; }
  bool finish_frame(const Stored&) override { return true; }
  std::uint64_t at() const noexcept override { return at_; }
  bool at_end() const noexcept override { return false; }
  std::size_t bytes() const noexcept override { return bytes_; }

 private:
  std::uint64_t at_;
  std::size_t bytes_;
};

void add(const Parked& file, std::uint64_t at, std::size_t bytes = kMiB) {
  file.add(std::make_unique<Standing>(at, bytes));
}

std::optional<std::uint64_t> taken(const Parked& file, std::uint64_t from, std::uint64_t to) {
  const std::unique_ptr<Decoder> decoder = file.take(from, to);
  return decoder ? std::optional(decoder->at()) : std::nullopt;
}

TEST(Parked, GivesTheFarthestOfItsOwnFile) {
  const Parked one, other;
  for (const std::uint64_t at : {10u, 30u, 20u, 50u}) add(one, at);
  add(other, 35);
  EXPECT_EQ(taken(one, 5, 40), 30u);
  EXPECT_EQ(taken(one, 5, 40), 20u);
  EXPECT_EQ(taken(one, 11, 40), std::nullopt);
  EXPECT_EQ(taken(one, 10, 10), 10u);
  EXPECT_EQ(parked_bytes(), 2 * kMiB);
}

TEST(Parked, AFileThatIsClosedLeavesNothing) {
  {
    const Parked one;
    const Parked other;
    add(one, 1);
    add(other, 1);
    one.clear();
    EXPECT_EQ(parked_bytes(), kMiB);
  }
  EXPECT_EQ(parked_bytes(), 0u);
}

// The limit is of all files together; the decoders that were parked longest ago are dropped.
TEST(Parked, AllFilesTogetherHoldSoMuch) {
  constexpr std::size_t kFiles = 500, kMost = kMostParked / kMiB;
  const std::deque<Parked> files(kFiles);
  for (std::size_t i = 0; i < kFiles; ++i) {
    add(files[i], i);
    ASSERT_LE(parked_bytes(), kMostParked);
  }
  EXPECT_EQ(parked_bytes(), kMostParked);
  for (std::size_t i = 0; i < kFiles; ++i) {
    const bool stays = i >= kFiles - kMost;
    EXPECT_EQ(taken(files[i], 0, kFiles), stays ? std::optional<std::uint64_t>(i) : std::nullopt) << i;
  }
}

TEST(Parked, OneFileHoldsAFewAndUsesThemAgain) {
  const Parked file;
  std::size_t most = 0;
  for (std::uint64_t at = 0; at < 100; ++at) {
    add(file, at, 1000);
    most = std::max(most, parked_bytes());
  }
  EXPECT_LE(most, 32'000u);
  EXPECT_GE(most, 4'000u);
  EXPECT_EQ(taken(file, 200, 300), 100 - most / 1000) << "the oldest, to go elsewhere";
  EXPECT_EQ(taken(file, 200, 300), std::nullopt) << "there may be another";
}

// If it were dropped, each read would begin from the beginning of the file.
TEST(Parked, TheLastOneStaysHoweverLargeItIs) {
  const Parked one, other;
  add(one, 1);
  add(other, 2, kMostParked + 1);
  EXPECT_EQ(taken(one, 0, 9), std::nullopt);
  EXPECT_EQ(taken(other, 5, 9), 2u) << "and no other is made beside it";
  add(other, 2, kMostParked + 1);
  add(one, 1);
  EXPECT_EQ(parked_bytes(), kMiB);
}

// The thread that held the lock at the fork does not exist in the child.
TEST(Parked, AForkedChildReadsOn) {
  const Parked mine, others;
  const std::jthread busy([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      add(others, 1);
      (void)others.take(0, 9);
    }
  });
  for (int i = 0; i < 60; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(20);
      add(mine, 7);
      ::_exit(taken(mine, 0, 9) == 7u ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "after " << i;
  }
}

}  // namespace
}  // namespace batchfeed::compressed
