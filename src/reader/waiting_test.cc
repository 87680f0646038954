// SPDX-License-Identifier: MIT
//
// What a caller asks before it reads: how much is left, and whether it would wait.
#include <batchfeed/reader.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

const std::vector<std::vector<std::uint32_t>> kCorpus = {{3, 1, 2}, {2, 2}, {4, 1, 1}};

TEST(ReaderWait, GivesUpAfterItsTimeAndTakesNothing) {
  auto source = std::make_shared<MemorySource>(kCorpus);
  source->delay_ms = 200;
  Reader reader(source, {.minibatch_size = {2}});
  Minibatch batch;
  EXPECT_FALSE(reader.wait(std::chrono::milliseconds(0), batch));
  while (!reader.wait(std::chrono::milliseconds(10), batch)) {
  }
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.index, 0u);
  EXPECT_TRUE(reader.wait(std::chrono::milliseconds::max(), batch)) << "for ever is long";
}

// The rows of a state are filled from chunks that have to be read anew.
TEST(ReaderWait, GivesUpAfterItsTimeBehindAState) {
  auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(20, {4}));
  ReaderOptions options{.order = {.kind = OrderKind::file}, .minibatch_size = {40}};
  options.pack = {.kind = Packing::truncated, .truncation_length = 2};
  std::string state;
  Minibatch batch, expected;
  {
    Reader reader(source, options);
    ASSERT_TRUE(reader.next(expected));
    state = reader.state();
    ASSERT_TRUE(reader.next(expected));
  }
  source->delay_ms = 20;
  options.threads = 1;
  Reader reader(source, options);
  reader.restore(state);
  source->reads = 0;
  EXPECT_FALSE(reader.wait(std::chrono::milliseconds(0), batch));
  EXPECT_LT(source->reads, 10u) << "it did not stay for all of them";
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.keys, expected.keys);
  EXPECT_EQ(batch.position, expected.position);
}

TEST(ReaderWait, IsOverAtTheEnd) {
  Reader reader(std::make_shared<MemorySource>(kCorpus), {.minibatch_size = {99}});
  Minibatch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_TRUE(reader.wait(std::chrono::milliseconds(0), batch)) << "there is nothing to wait for";
  EXPECT_FALSE(reader.next(batch));
}

TEST(ReaderWait, WaitsForTheNextEpochIfThatIsReadBehindTheEnd) {
  auto source = std::make_shared<MemorySource>(kCorpus);
  const ReaderOptions options{.minibatch_size = {99}, .threads = 1};
  Minibatch batch;
  std::string end;
  {
    Reader reader(source, options);
    ASSERT_TRUE(reader.read(batch) && batch.end_of_epoch);
    end = reader.state();
  }
  source->delay_ms = 200;
  Reader reader(source, options);
  reader.restore(end);
  const std::chrono::milliseconds none(0), some(10);
  EXPECT_TRUE(reader.wait(none, batch)) << "next() has nothing to wait for";
  EXPECT_FALSE(reader.wait(none, batch, true));
  EXPECT_FALSE(reader.next(batch));
  while (!reader.wait(some, batch, true)) {
  }
  EXPECT_EQ(reader.state(), end) << "nothing is taken";
  EXPECT_FALSE(reader.next(batch)) << "the epoch is over all the same";
  ASSERT_TRUE(reader.read(batch));
  EXPECT_EQ(batch.epoch, 1u);
  EXPECT_EQ(batch.num_samples, 16u);
}

TEST(ReaderWait, MakesTheAnswerWhereNothingIsPrefetched) {
  auto source = std::make_shared<MemorySource>(kCorpus);
  Reader reader(source, {.minibatch_size = {2}, .prefetch = false}), other(source, {.minibatch_size = {2}});
  Minibatch batch, expected;
  const std::string before = reader.state();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(reader.wait(std::chrono::milliseconds(0), batch));
    EXPECT_EQ(reader.state(), before) << "it is not taken";
  }
  while (other.next(expected)) {
    ASSERT_TRUE(reader.next(batch));
    EXPECT_EQ(batch.keys, expected.keys);
    EXPECT_TRUE(reader.wait(std::chrono::milliseconds(0), batch));
  }
  EXPECT_FALSE(reader.next(batch));
  source->bad_chunk = 0;
  Reader broken(source, {.order = {.kind = OrderKind::file}, .prefetch = false});
  EXPECT_TRUE(broken.wait(std::chrono::milliseconds(0), batch)) << "that it fails is an answer";
  for (int i = 0; i < 2; ++i) EXPECT_THROW(broken.next(batch), Error);
}

TEST(ReaderWait, AFaultIsAnAnswer) {
  auto source = std::make_shared<MemorySource>(kCorpus);
  source->bad_chunk = 0;
  Reader reader(source, {.order = {.kind = OrderKind::file}});
  Minibatch batch;
  while (!reader.wait(std::chrono::milliseconds(10), batch)) {
  }
  EXPECT_THROW(reader.next(batch), Error);
  EXPECT_TRUE(reader.wait(std::chrono::milliseconds(0), batch)) << "and stays one";
  EXPECT_THROW(reader.next(batch), Error);
}

// Small minibatches come several at a time, so that most are at hand; what is, needs no thread.
TEST(ReaderAtHand, SaysWhatNextGivesWithoutWaiting) {
  const std::vector<std::vector<std::uint32_t>> chunk = {std::vector<std::uint32_t>(500, 1)};
  Reader reader(std::make_shared<MemorySource>(chunk), {.minibatch_size = {2}});
  EXPECT_FALSE(reader.at_hand()) << "nothing has been asked for";
  Minibatch batch;
  std::size_t given = 0, at_hand = 0;
  for (bool ready = false; reader.next(batch); ready = reader.at_hand()) {
    ++given;
    at_hand += ready;
  }
  EXPECT_EQ(given, 250u);
  EXPECT_GT(at_hand, given / 2);
  EXPECT_FALSE(reader.at_hand()) << "the epoch is over";
}

TEST(ReaderAtHand, IsNotTrueOfAnswersWithoutData) {
  // Of a minibatch that is one sequence of two samples, one of two workers has nothing.
  const std::vector<std::vector<std::uint32_t>> corpus(64, {1, 1, 2});
  Reader reader(std::make_shared<MemorySource>(corpus),
                {.order = {.kind = OrderKind::file}, .workers = 2, .rank = 1, .minibatch_size = {2}});
  Minibatch batch;
  std::size_t empty = 0, empty_at_hand = 0;
  for (batch.end_of_epoch = false; !batch.end_of_epoch;) {
    const bool ready = reader.at_hand();
    ASSERT_TRUE(reader.read(batch));
    if (!batch.empty() || batch.end_of_epoch) continue;
    ++empty;
    empty_at_hand += ready;
  }
  EXPECT_GT(empty, 0u);
  EXPECT_EQ(empty_at_hand, 0u);
}

TEST(ReaderRemaining, CountsWhatNextWillGive) {
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
    for (const Packing pack : {Packing::sequences, Packing::frames, Packing::truncated}) {
      for (const Shard shard : {Shard::chunk, Shard::even}) {
        const ReaderOptions options = {.order = {.kind = order},
                                       .pack = {.kind = pack, .truncation_length = 2},
                                       .shard = shard,
                                       .workers = 2,
                                       .rank = 1,
                                       .minibatch_size = {4},
                                       .epoch_samples = 9};
        Reader reader(std::make_shared<MemorySource>(kCorpus, true), options);
        Minibatch batch;
        for (std::uint64_t left = reader.remaining();; --left) {
          EXPECT_EQ(reader.remaining(), left);
          if (!reader.next(batch)) break;
        }
        EXPECT_EQ(reader.remaining(), 0u);
      }
    }
  }
}

std::string keys(const Minibatch& batch) {
  std::string out = std::to_string(batch.index) + ':';
  for (const std::uint64_t key : batch.keys) out += ' ' + std::to_string(key);
  return out;
}

std::vector<std::string> all(Reader& reader) {
  std::vector<std::string> out;
  Minibatch batch;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    reader.begin_epoch(epoch);
    while (reader.next(batch)) out.push_back(std::to_string(epoch) + '.' + keys(batch));
  }
  return out;
}

TEST(ReaderStride, DealsTheMinibatchesOfOneStream) {
  for (const Packing pack : {Packing::sequences, Packing::frames, Packing::truncated}) {
    ReaderOptions options = {.pack = {.kind = pack, .truncation_length = 2}, .minibatch_size = {3}};
    const auto open = [&] { return Reader(std::make_shared<MemorySource>(kCorpus, true), options); };
    Reader whole = open();
    const std::vector<std::string> expected = all(whole);
    options.stride = 3;
    std::vector<std::string> dealt;
    for (options.offset = 0; options.offset < 3; ++options.offset) {
      Reader part = open();
      const std::uint64_t left = part.remaining();
      const std::vector<std::string> mine = all(part);
      EXPECT_EQ(left, std::count_if(mine.begin(), mine.end(), [](const std::string& m) { return m[0] == '0'; }));
      dealt.insert(dealt.end(), mine.begin(), mine.end());
    }
    std::sort(dealt.begin(), dealt.end());
    EXPECT_EQ(dealt, expected);
  }
  EXPECT_THROW(Reader(std::make_shared<MemorySource>(kCorpus), {.stride = 2, .offset = 2}), Error);  // reader.offset
}

// The answers in front of the one that is waited for are those of other readers, which are there at once.
TEST(ReaderStride, WaitsForAnAnswerOfItsOwn) {
  auto source = std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(8, {1}));
  source->delay_ms = 100;
  ReaderOptions options = {.order = {.kind = OrderKind::file}, .minibatch_size = {1}};
  options.stride = 4;
  options.offset = 3;
  options.threads = 1;
  Reader reader(source, options);
  Minibatch batch;
  EXPECT_FALSE(reader.wait(std::chrono::milliseconds(5), batch));
  while (!reader.wait(std::chrono::milliseconds(5), batch)) {
  }
  EXPECT_TRUE(reader.at_hand() || source->reads > 0);
  ASSERT_TRUE(reader.next(batch));
  EXPECT_EQ(batch.index, 3u);
  // Who gets nothing for long is not kept waiting for ever.
  options.workers = 9;
  options.rank = 8;
  options.driver = ReaderOptions::Driver::timeline;
  options.epoch_samples = ~0ull;
  Reader without(source, options);
  EXPECT_TRUE(without.wait(std::chrono::milliseconds::max(), batch));
}

// What opens chunks as it plans is not planned far ahead, whoever the answers are for.
TEST(ReaderStride, APlannerThatReadsIsKnownAsOne) {
  ReaderOptions options = {.pack = {.kind = Packing::truncated, .truncation_length = 1}, .minibatch_size = {1}};
  options.order.kind = OrderKind::file;
  options.stride = 2;
  const auto source =
      std::make_shared<MemorySource>(std::vector<std::vector<std::uint32_t>>(400, std::vector<std::uint32_t>{1}));
  Reader reader(source, options);
  Minibatch batch;
  ASSERT_TRUE(reader.next(batch));
  EXPECT_LT(source->reads.load(), 100);
}

TEST(ReaderStride, AStateIsGoodForEveryStride) {
  ReaderOptions options = {.minibatch_size = {3}};
  Reader whole(std::make_shared<MemorySource>(kCorpus), options);
  Minibatch batch;
  ASSERT_TRUE(whole.next(batch));
  options.stride = 2;
  Reader second(std::make_shared<MemorySource>(kCorpus), options);
  second.restore(whole.state());
  ASSERT_TRUE(whole.next(batch) && whole.next(batch));
  const std::string expected = keys(batch);
  ASSERT_TRUE(second.next(batch));
  EXPECT_EQ(keys(batch), expected);
}

// Nobody looks into the data to plan: what its tables leave out is not planned, and no state is called damaged for it.
TEST(ReaderRemaining, PlansSequencesThatHaveMoreSamplesThanTheirTablesSay) {
  class SaysOne final : public Source {
   public:
    SaysOne() {
      for (const ChunkInfo& chunk : data_.chunks())
        chunks_.push_back({.sequences = chunk.sequences, .samples = chunk.sequences, .bytes = chunk.bytes});
    }
    const std::vector<StreamInfo>& streams() const override { return data_.streams(); }
    const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
    void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
      data_.sequences(chunk, out);
      for (SequenceInfo& s : out) s.samples = 1;
    }
    void read(std::uint32_t chunk, Chunk& out) const override { data_.read(chunk, out); }

   private:
    MemorySource data_{{{7, 2, 5}, {3}}};
    std::vector<ChunkInfo> chunks_;
  };
  ReaderOptions o = reference(OrderKind::file, 2);
  o.pack = {Packing::truncated, 2, 0};
  Reader reader(std::make_shared<SaysOne>(), o);
  Minibatch batch;
  std::uint64_t samples = 0;
  while (reader.next(batch)) {
    samples += batch.num_samples;
    EXPECT_LE(reader.remaining(), 4u);
    Reader other(std::make_shared<SaysOne>(), o);
    other.restore(reader.state());
    EXPECT_LE(other.remaining(), 4u);
  }
  EXPECT_EQ(samples, 17u);
}

TEST(ReaderRemaining, KnowsARunWithoutEnd) {
  const ReaderOptions options = {.epoch_samples = ~0ull, .driver = ReaderOptions::Driver::timeline};
  EXPECT_EQ(Reader(std::make_shared<MemorySource>(kCorpus), options).remaining(), ~0ull);
  const auto source = std::make_shared<MemorySource>(kCorpus);
  for (const ReaderOptions& long_one :
       {ReaderOptions{.epoch_samples = ~0ull}, ReaderOptions{.epoch_samples = 1ull << 61},
        ReaderOptions{.epoch_sweeps = ~0ull, .driver = ReaderOptions::Driver::timeline}}) {
    EXPECT_EQ(Reader(source, long_one).remaining(), ~0ull);
    EXPECT_EQ(testing::fault_of([&] { (void)Reader(source, long_one).num_minibatches(); }).id, "reader.endless");
  }
}

}  // namespace
}  // namespace batchfeed::reader
