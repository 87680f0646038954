// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

TEST(ReaderTruncated, GivesTheDocumentedRows) {  // K11, K13, K15, K16
  Reader k11 = open(kD, truncated(6, 3));
  EXPECT_EQ(run(k11, 9, true),
            "{k0@0[0,2) k1@0[2,5) k2@1[0,4)} {k1@0[-1,2) k3@0[2,3) k2@1[-3,1) k5@1[1,3)}s {k4@0[0,2) gap@0[2,3) "
            "gap@1[0,3)}e");
  Reader k13 = open(kD, truncated(3, 4));
  EXPECT_EQ(run(k13, 2, true), "{k0@0[0,2) k1@0[2,5)} {k1@0[-2,1) k2@0[1,5)}");
  Reader k15 = open({{7}}, truncated(3, 3, 1));
  EXPECT_EQ(run(k15, 9, true), "{k0@0[0,7)} {k0@0[-2,5)} {k0@0[-4,3)} {k0@0[-6,1) gap@0[1,3)}se");
  ReaderOptions k16 = truncated(4, 2);
  k16.order.kind = OrderKind::cntk;
  Reader reader = open(kA, k16);
  EXPECT_EQ(run(reader, 9, true),
            "{k0@0[0,1) k8@0[1,2) k6@1[0,1) k1@1[1,2)} {k7@0[0,1) k5@0[1,2) k2@1[0,1) k3@1[1,2)} "
            "{k4@0[0,1) k11@0[1,2) k9@1[0,1) gap@1[1,2)} {k10@0[0,1) gap@0[1,2) gap@1[0,2)}se");
}

TEST(ReaderTruncated, EndlessRunsGoOverSweeps) {  // K12
  ReaderOptions o = truncated(4, 4);
  o.driver = Driver::timeline;
  o.epoch_samples = ~0ull;
  Reader reader = open(kD, o);
  EXPECT_EQ(run(reader, 4, true),
            "{k0@0[0,2) k1@0[2,5)} {k1@0[-2,1) k2@0[1,5)} {k2@0[-3,1) k3@0[1,2) k4@0[2,4)} {k5@0[0,2) k0@0[2,4)}s");
}

TEST(ReaderTruncated, RowsAreSharedAmongWorkers) {  // K14, X5
  ReaderOptions o = truncated(9, 3);
  o.workers = 2;
  Reader first = open(kD, o);
  EXPECT_EQ(run(first, 2, true), "{k0@0[0,2) k2@0[2,6) k4@1[0,2) gap@1[2,3)} {k2@0[-1,3) gap@1[0,3)}e");
  o.rank = 1;
  Reader second = open(kD, o);
  EXPECT_EQ(run(second, 2, true), "{k1@0[0,3)} {k3@0[0,1) k5@0[1,3)}se");
  ReaderOptions many = truncated(6, 3);
  many.workers = 3;
  Reader refused = open(kD, many);
  Minibatch batch;
  EXPECT_THROW(refused.read(batch), Error);
}

// Rows that run dry ask behind the end of the epoch, and so enter the next sweep: the epoch to come begins in this one,
// which is made anew and in the order of its seed, whatever order it had (minibatch.md 6.2, 6.3, 11).
TEST(ReaderTruncated, RowsThatRunDryEnterTheNextSweep) {
  ReaderOptions o = truncated(20, 10);
  o.order.kind = OrderKind::cntk;
  o.order.window = 1;
  o.order.seed = 19;
  o.epoch_samples = 6;
  Reader reader = open({{6, 1}, {4}}, o);
  std::string keys;
  Minibatch batch;
  for (std::uint64_t epoch = 0; epoch < 4 && reader.read(batch);) {
    for (const std::uint64_t key : batch.keys) keys += std::to_string(key);
    keys += batch.end_of_epoch ? (batch.end_of_sweep ? "/ " : " ") : ",";
    epoch += batch.end_of_epoch ? 1u : 0u;
  }
  EXPECT_EQ(keys, "210,0/ 2 10/ 12/ ");
}

// Only the epoch or call at hand needs a row for each worker.
TEST(ReaderTruncated, SizesOfOtherEpochsAndCallsNeedNoRows) {
  ReaderOptions o = truncated(3, 3);
  o.minibatch_size = {3, 9};
  o.workers = 2;
  o.start_epoch = 1;
  Reader second = open(kD, o);
  ReaderOptions wide = truncated(9, 3);
  wide.workers = 2;
  wide.start_epoch = 1;
  Reader same = open(kD, wide);
  EXPECT_EQ(run(second, 9, true), run(same, 9, true));

  o.start_epoch = 0;
  o.workers = 1;
  o.driver = Driver::timeline;
  Reader reader = open(kD, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  reader.set_workers(2, 0);
  EXPECT_NO_THROW(run(reader, 9, true));
}

TEST(ReaderTruncated, AnotherSizeGivesUpWhatWaitsThoughTheRowsStayAsMany) {
  ReaderOptions o = truncated(6, 3);
  o.minibatch_size = {6, 7};
  o.driver = Driver::timeline;
  Reader reader = open(kD, o);
  EXPECT_EQ(run(reader, 9, true),
            "{k0@0[0,2) k1@0[2,5) k2@1[0,4)} {k3@0[0,1) k4@0[1,3) gap@1[0,3)} {k5@0[0,2) gap@0[2,3) gap@1[0,3)}se");
  EXPECT_EQ(reader.skipped(), 2u);
  o.minibatch_size = {6};
  Minibatch batch;
  Reader changed = open(kD, o);
  ASSERT_TRUE(changed.read(batch));
  changed.set_minibatch_size(7);
  EXPECT_EQ(changed.skipped(), 2u);
  Reader undisturbed = open(kD, o), told_again = open(kD, o);
  ASSERT_TRUE(undisturbed.read(batch) && told_again.read(batch));
  told_again.set_minibatch_size(6);
  told_again.set_workers(1, 0);
  EXPECT_EQ(run(told_again, 9, true), run(undisturbed, 9, true));
  o.minibatch_size = {6, 7};
  o.shard = Shard::even;  // whose rows stay as long as they are as many
  Reader even = open(kD, o), same = open(kD, [&] {
                               o.minibatch_size = {6};
                               return o;
                             }());
  EXPECT_EQ(run(even, 9, true), run(same, 9, true));
  EXPECT_EQ(even.skipped(), 0u);
}

TEST(ReaderTruncated, AChangeOfWorkersGivesUpWhatWaitsUnlessTheyShareEvenly) {
  ReaderOptions o = truncated(9, 3);
  o.workers = 2;
  Reader reader = open(kD, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const std::uint64_t position = batch.position;
  reader.set_workers(3, 1);
  EXPECT_NO_THROW(run(reader, 9, true));
  EXPECT_GE(batch.position, position);
  reader.begin_epoch(1);
  ASSERT_TRUE(reader.read(batch));
  reader.set_minibatch_size(12);
  EXPECT_NO_THROW(run(reader, 9, true));

  // Rows of all workers: the union goes on as if nothing had changed.
  o.shard = Shard::even;
  o.workers = 1;
  Reader whole = open(kD, o);
  std::vector<std::vector<std::uint64_t>> want;
  while (whole.read(batch) && !batch.end_of_epoch) want.push_back(batch.keys);
  want.push_back(batch.keys);
  for (std::size_t at = 0; at < want.size(); ++at) {
    std::vector<std::vector<std::uint64_t>> got(want.size());
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
      Reader changed = open(kD, o);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (i == at) changed.set_workers(3, rank);
        ASSERT_TRUE(changed.read(batch));
        if (i >= at) got[i].insert(got[i].end(), batch.keys.begin(), batch.keys.end());
      }
    }
    for (std::size_t i = at; i < want.size(); ++i) EXPECT_EQ(got[i], want[i]) << i << " after " << at;
  }
}

// The last sequence of the epoch, which goes beyond it, had been drawn before.
TEST(ReaderTruncated, AWorkerThatIsLeftWithoutAChunkIsAtTheEndOfTheEpoch) {
  ReaderOptions o = truncated(16, 2);
  o.order.kind = OrderKind::cntk;
  o.order.window = 1;
  o.epoch_samples = 9;
  o.start_epoch = 1;
  Reader reader = open({{3, 3, 1, 1, 2, 2, 1, 1, 1}}, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  EXPECT_GT(batch.position, 18u);
  reader.set_workers(2, 1);
  ASSERT_TRUE(reader.read(batch));
  EXPECT_TRUE(batch.empty() && batch.end_of_epoch);
  EXPECT_EQ(batch.position, 18u) << "minibatch.md 6.2";
}

TEST(Reader, CutsMinibatchesAsTheReference) {  // M1, M5, M6
  Reader m1 = open(kV, reference(OrderKind::cntk, 5));
  EXPECT_EQ(run(m1, 9), "[4 0] [3 1 2] [6 5] [7]se");
  ReaderOptions o = reference(OrderKind::cntk, 5);
  o.driver = Driver::timeline;
  o.epoch_samples = ~0ull;
  Reader m5 = open(kA, o);
  EXPECT_EQ(run(m5, 4), "[0 8 7 6 1] [2 5 4 3 9] [11 10 7 2 1]s [8 6 0 9 10]");
  o = reference(OrderKind::cntk, 30);
  o.driver = Driver::timeline;
  o.epoch_sweeps = 3;
  Reader m6 = open(kA, o);
  EXPECT_EQ(run(m6, 9), "[0 8 7 6 1 2 5 4 3 9 11 10 7 2 1 8 6 0 9 10 11 4 3 5 7 2 6 8 0 1]s [4 3 5 11 10 9]se");
}

TEST(Reader, EpochsFollowEachOtherAndNextStopsAtEach) {
  Reader reader = open(kA, reference(OrderKind::cntk, 12));
  EXPECT_EQ(run(reader, 1), "[0 8 7 6 1 2 5 4 3 9 11 10]se");
  EXPECT_FALSE(reader.next()) << "the epoch is over";
  reader.begin_epoch(1);
  EXPECT_EQ(run(reader, 1), "[7 2 1 8 6 0 9 10 11 4 3 5]se");
  EXPECT_EQ(run(reader, 1).size(), run(reader, 1).size());
}

TEST(ReaderPlan, NamesASequenceThatIsTooLongAsReadingDoes) {
  ReaderOptions o = reference(OrderKind::file, 3);
  o.long_sequence = LongSequence::error;
  Reader reader = open(kV, o);
  const auto what_of = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const Error& error) {
      return error.fault().what;
    }
    return {};
  };
  const std::string what = "sequence '5' has 4 samples, the minibatch 3";
  EXPECT_EQ(what_of([&] { static_cast<void>(reader.plan(9)); }), what);
  EXPECT_EQ(what_of([&] { static_cast<void>(reader.num_minibatches()); }), what);
  EXPECT_EQ(what_of([&] { static_cast<void>(reader.remaining()); }), what);
  EXPECT_EQ(what_of([&] { run(reader, 9); }), what);
}

TEST(ReaderPlan, SaysWhatWillCome) {
  Reader reader = open(kV, reference(OrderKind::cntk, 5));
  const std::vector<BatchPlan> plans = reader.plan(99);
  std::string planned;
  for (const BatchPlan& p : plans) {
    planned += planned.empty() ? "[" : " [";
    for (std::size_t i = 0; i < p.items.size(); ++i) planned += (i == 0 ? "" : " ") + std::to_string(p.items[i].key);
    planned += std::string("]") + (p.end_of_sweep ? "s" : "") + (p.end_of_epoch ? "e" : "");
  }
  EXPECT_EQ(planned, run(reader, 99));
}

}  // namespace
}  // namespace batchfeed::reader
