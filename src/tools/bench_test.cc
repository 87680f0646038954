// SPDX-License-Identifier: MIT
//
// judge() on given figures, so that nothing depends on the machine; and whole runs in which one
// stage is made slower than the others by far.
#include <batchfeed/bench.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/memory_source.h"
#include "tools/clocks.h"
#include "tools/timed_source.h"

namespace batchfeed {
namespace {

// An epoch of 10 s that two cores spend on parsing.
EpochTimes parsing() {
  EpochTimes t;
  t.seconds = 10, t.cpu = 19, t.first = 1, t.core_wait = 2;
  t.reading = 18, t.reading_cpu = 17;
  t.cores = t.threads = 2, t.window = 0.1;
  t.chunks = 100, t.bytes = 3'000'000'000, t.samples = t.sequences = 1000, t.minibatches = 1000;
  return t;
}

template <class Change>
Bound judged(const Change& change) {
  EpochTimes t = parsing();
  change(t);
  return judge(t);
}

TEST(BenchJudge, ParsingAndPackingGoByProcessorTime) {
  EXPECT_EQ(judge(parsing()), Bound::parse);
  EXPECT_EQ(judged([](auto& t) { t.reading = t.reading_cpu = 5; }), Bound::pack);
  // A single chunk is read by one thread, so 9 s of reading are the bound of 10.
  EXPECT_EQ(judged([](auto& t) { t.chunks = 1, t.reading = t.reading_cpu = 9, t.cpu = 12; }), Bound::parse);
  EXPECT_EQ(judged([](auto& t) { t.reading = t.reading_cpu = 9, t.cpu = 15; }), Bound::pack);
}

TEST(BenchJudge, ALargeChunkThatIsReadInPartsKeepsSeveralThreadsBusy) {
  const auto one_chunk = [](auto& t) { t.chunks = 1, t.reading = t.reading_cpu = 9, t.cpu = 15; };
  EXPECT_EQ(judged(one_chunk), Bound::parse);
  EXPECT_EQ(judged([&](auto& t) { one_chunk(t), t.reads = 50; }), Bound::pack);
}

TEST(BenchJudge, AFileThatIsWaitedForIsTheDisk) {
  EXPECT_EQ(judged([](auto& t) { t.cpu = 4, t.reading_cpu = 3, t.disk_wait = 15; }), Bound::disk);
  // Of 8 threads only one at a time reads.
  EXPECT_EQ(judged([](auto& t) {
              t.cpu = 2, t.core_wait = 0, t.reading_cpu = 1, t.reading = 9, t.disk_wait = 8, t.threads = 8;
            }),
            Bound::disk);
  // Reading waits for the disk, but the thread that packs is busy all the time.
  EXPECT_EQ(judged([](auto& t) { t.cpu = 12, t.reading = 6, t.reading_cpu = 2, t.disk_wait = 4; }), Bound::pack);
  // Reading is as fast as the files give bytes.
  EXPECT_EQ(judged([](auto& t) { t.fastest_read = 400e6; }), Bound::disk);
  EXPECT_EQ(judged([](auto& t) { t.fastest_read = 4e9; }), Bound::parse);
}

TEST(BenchJudge, ACoreThatIsWaitedForIsNotTheDisk) {
  const auto crowded = [](EpochTimes& t) { t.seconds = 40, t.reading = 70, t.core_wait = 55, t.first = 4; };
  EXPECT_EQ(judged(crowded), Bound::machine);
  // Where the system does not tell the time waited for a core, the work itself is the bound.
  EXPECT_EQ(judged([&](auto& t) { crowded(t), t.core_wait = 0; }), Bound::parse);
  // Our own threads compete for cores, and keep these busy.
  EXPECT_EQ(judged([](auto& t) { t.core_wait = 20; }), Bound::parse);
  // A slow disk is the bound on a crowded machine, too.
  EXPECT_EQ(judged([&](auto& t) { crowded(t), t.cpu = 4, t.reading_cpu = 3, t.core_wait = 12, t.disk_wait = 55; }),
            Bound::disk);
}

TEST(BenchJudge, AConsumerThatHasTheMinibatchesMostOfTheTimeIsTheBound) {
  EXPECT_EQ(judged([](auto& t) { t.consuming = 6; }), Bound::consumer);
  EXPECT_EQ(judged([](auto& t) { t.consuming = 6, t.disk_wait = 16, t.reading_cpu = 1, t.cpu = 2; }), Bound::consumer);
  EXPECT_EQ(judged([](auto& t) { t.consuming = 2; }), Bound::parse);
}

TEST(BenchJudge, AWindowIsTheBoundWhereReadingAndConsumingCouldGoSideBySide) {
  const auto huge = [](EpochTimes& t) { t.window = 1, t.first = 5, t.consuming = 4.5; };
  EXPECT_EQ(judged(huge), Bound::window);
  EXPECT_EQ(judged([&](auto& t) { huge(t), t.first = 9, t.consuming = 0.5; }), Bound::parse);  // little to overlap
  EXPECT_EQ(judged([&](auto& t) { huge(t), t.window = 0.1; }), Bound::parse);
  EXPECT_EQ(judged([&](auto& t) { huge(t), t.minibatches = 2; }), Bound::parse);
}

TEST(BenchJudge, SmallChunksAreTheBoundByWhatTheyCost) {
  EXPECT_EQ(judged([](auto& t) { t.chunks = 1'000'000, t.small_chunks_cpu = 8; }), Bound::chunk);
  EXPECT_EQ(judged([](auto& t) { t.chunks = 1'000'000, t.small_chunks_cpu = 2; }), Bound::parse);
  EXPECT_EQ(judged([](auto& t) { t.chunks = 1'000'000, t.small_chunks_cpu = 2, t.small_chunks_read_cpu = 7; }),
            Bound::chunk);
}

TEST(BenchJudge, NothingIsSaidOfWhatIsOverAtOnce) {
  EXPECT_EQ(judged([](auto& t) { t.seconds = 0.001; }), Bound::unknown);
  EXPECT_EQ(judged([](auto& t) { t.minibatches = 0; }), Bound::unknown);
  EXPECT_EQ(judge({}), Bound::unknown);
  EXPECT_EQ(name(Bound::window), "window");
}

// Each chunk takes `seconds` of processor time to read, and claims to have 1 MiB.
class Working final : public Source {
 public:
  Working(std::shared_ptr<const Source> source, double seconds)
      : source_(std::move(source)), seconds_(seconds), chunks_(source_->chunks()) {
    for (ChunkInfo& chunk : chunks_) chunk.bytes = 1u << 20;
  }
  const std::vector<StreamInfo>& streams() const override { return source_->streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { source_->sequences(chunk, out); }
  void read(std::uint32_t chunk, Chunk& out) const override {
    for (const double until = clocks::thread_cpu() + seconds_; clocks::thread_cpu() < until;) {
    }
    source_->read(chunk, out);
  }

 private:
  std::shared_ptr<const Source> source_;
  double seconds_;
  std::vector<ChunkInfo> chunks_;
};

// For messages of tests that fail.
std::string told(const EpochTimes& t) {
  std::ostringstream out;
  out << name(judge(t)) << ": " << t.seconds << " s, cpu " << t.cpu << ", first " << t.first << ", core wait "
      << t.core_wait << ", consuming " << t.consuming << ", reading " << t.reading << " cpu " << t.reading_cpu
      << " disk " << t.disk_wait << ", order " << t.order_cpu << ", small chunks " << t.small_chunks_cpu;
  return out.str();
}

// The times as if no other program had used the machine.
EpochTimes alone(EpochTimes times) {
  times.core_wait = 0;
  return times;
}

std::shared_ptr<reader::MemorySource> all_ones(std::size_t chunks, std::size_t sequences) {
  return std::make_shared<reader::MemorySource>(
      std::vector<std::vector<std::uint32_t>>(chunks, std::vector<std::uint32_t>(sequences, 1)));
}

Setup setup(std::shared_ptr<const Source> source, std::uint64_t window = 2) {
  Setup out;
  out.sources = {std::move(source)};
  out.reader.order = {.kind = OrderKind::uniform, .window = window};
  out.reader.minibatch_size = {16};
  out.reader.threads = 1;
  return out;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Bench, ASlowDiskIsToldFromParsing) {
  const auto slow = all_ones(30, 16);
  slow->delay_ms = 10;
  const EpochTimes times = time_epoch(setup(slow));
  EXPECT_EQ(judge(times), Bound::disk) << told(times);
  EXPECT_GT(times.disk_wait, 0.2);
  EXPECT_EQ(times.threads, 1u);
  EXPECT_EQ(times.minibatches, 30u);
  EXPECT_EQ(times.chunks, 30u);
  EXPECT_EQ(times.samples, 480u);
}

TEST(Bench, WorkInReadIsNoDisk) {
  const EpochTimes times = time_epoch(setup(std::make_shared<Working>(all_ones(30, 16), 0.01)));
  EXPECT_GT(times.reading_cpu, 0.25);
  EXPECT_LT(times.disk_wait, 0.5 * times.reading);
  EXPECT_EQ(judge(alone(times)), Bound::parse) << told(times);
}

// The sources of a join wait for the disk and use processor time; only the rest of it is the join's.
TEST(Bench, AJoinIsToldFromReading) {
  const auto slow = [](const std::string& name) {
    auto source =
        std::make_shared<reader::MemorySource>(std::vector(30, std::vector<std::uint32_t>(16, 1)), false, name);
    source->delay_ms = 5;
    return std::make_shared<Working>(std::move(source), 0.005);
  };
  batchfeed::Setup joined = setup(slow("x"));
  EXPECT_EQ(time_epoch(joined).join_cpu, 0);
  joined.sources.emplace_back(slow("y"));
  const EpochTimes times = time_epoch(joined);
  EXPECT_EQ(times.sequences, 480u);
  EXPECT_GT(times.reading_cpu, 0.25);
  EXPECT_GT(times.join_cpu, 0);
  EXPECT_LT(times.join_cpu, 0.5 * times.reading_cpu);
  EXPECT_GT(times.disk_wait, 0.25);
}

// Three other processes for each core take the cores. By processor time the work is still judged right.
TEST(Bench, ACrowdedMachineIsNoDisk) {
  std::vector<pid_t> others;
  for (unsigned i = 0; i < 3 * std::max(1u, std::thread::hardware_concurrency()); ++i) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::alarm(20);
      for (std::atomic<unsigned> n = 0;;) ++n;
    }
    others.push_back(pid);
  }
  const EpochTimes times = time_epoch(setup(std::make_shared<Working>(all_ones(30, 16), 0.01)));
  for (const pid_t pid : others) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  EXPECT_LT(times.disk_wait, 0.5 * times.reading);
  EXPECT_EQ(judge(alone(times)), Bound::parse) << told(times);
}

TEST(Bench, ASlowConsumerIsTheBound) {
  const EpochTimes times = time_epoch(setup(all_ones(30, 16)), {.consume = [](const Minibatch&) { sleep_ms(10); }});
  EXPECT_EQ(judge(times), Bound::consumer) << told(times);
  EXPECT_GT(times.consuming, 0.25);
}

TEST(Bench, AWindowOfAllMakesAConsumerWaitThatCouldGoBesideReading) {
  const auto slow = all_ones(30, 16);
  slow->delay_ms = 10;
  const EpochHooks training{.consume = [](const Minibatch&) { sleep_ms(30); }};
  const auto run = [&](std::uint64_t window) {
    batchfeed::Setup out = setup(slow, window);
    out.reader.minibatch_size = {48};  // so large that the first minibatch has samples of nearly every chunk
    return time_epoch(out, training);
  };
  const EpochTimes whole = run(kWholeSet), narrow = run(2);
  EXPECT_EQ(whole.window, 1.0);
  EXPECT_EQ(judge(whole), Bound::window) << told(whole);
  EXPECT_NE(judge(narrow), Bound::window) << told(narrow);
}

TEST(Bench, TinyChunksAreToldFromTheirData) {
  const EpochTimes tiny = time_epoch(setup(all_ones(20'000, 1), 128));
  EXPECT_GT(tiny.small_chunks_cpu, 0);
  EXPECT_EQ(judge(alone(tiny)), Bound::chunk) << told(tiny);
  EXPECT_EQ(time_epoch(setup(all_ones(20, 1000))).small_chunks_cpu, 0);
}

TEST(Bench, PulseMayGiveUp) {
  struct Enough {};
  EXPECT_THROW(time_epoch(setup(all_ones(30, 16)), {.pulse = [] { throw Enough{}; }}), Enough);
}

TEST(Bench, AHollowSourceHasTheSequencesOfAnother) {
  const HollowSource merged(all_ones(5, 3), 2);
  ASSERT_EQ(merged.chunks().size(), 3u);
  EXPECT_EQ(merged.chunks()[0].sequences, 6u);
  EXPECT_EQ(merged.chunks()[2].samples, 3u);
  std::vector<SequenceInfo> table;
  merged.sequences(1, table);
  ASSERT_EQ(table.size(), 6u);
  EXPECT_EQ(table[4].key, 10u);
  EXPECT_EQ(table[4].row, 4u);
  Chunk chunk;
  merged.read(1, chunk);
  EXPECT_EQ(chunk.columns[0].samples(5), 1u);
}

}  // namespace
}  // namespace batchfeed
