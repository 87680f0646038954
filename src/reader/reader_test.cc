// SPDX-License-Identifier: MIT
#include <batchfeed/reader.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "reader/memory_source.h"

namespace batchfeed::reader {
namespace {

using Driver = ReaderOptions::Driver;

// The corpora of minibatch.md 18.
const std::vector<std::vector<std::uint32_t>> kA = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
const std::vector<std::vector<std::uint32_t>> kD = {{2, 3}, {4}, {1, 2, 2}};
const std::vector<std::vector<std::uint32_t>> kV = {{3, 1, 2}, {2, 2}, {4, 1, 1}};

Reader open(const std::vector<std::vector<std::uint32_t>>& corpus, ReaderOptions options) {
  return Reader(std::make_shared<MemorySource>(corpus), options);
}

ReaderOptions reference(OrderKind order, std::uint64_t minibatch) {
  ReaderOptions o;
  o.order.kind = order;
  o.order.window = 2;
  o.shard = Shard::chunk;
  o.minibatch_size = {minibatch};
  o.threads = 2;
  return o;
}

std::string flags(const Minibatch& b) { return std::string(b.end_of_sweep ? "s" : "") + (b.end_of_epoch ? "e" : ""); }

// "[4 0]" with keys, or "{k0@0[0,2) gap@0[2,3)}" for truncated packing.
std::string text(const Minibatch& b, bool layout) {
  if (!layout) {
    std::string out = "[";
    for (std::size_t i = 0; i < b.keys.size(); ++i) out += (i == 0 ? "" : " ") + std::to_string(b.keys[i]);
    return out + "]" + flags(b);
  }
  std::string out = "{";
  if (!b.empty()) {
    for (const LayoutEntry& e : b.streams[0].layout.entries) {
      if (out.size() > 1) out += ' ';
      out += (e.sequence == LayoutEntry::kGap ? "gap" : 'k' + std::to_string(b.keys[e.sequence])) + '@' +
             std::to_string(e.row) + '[' + std::to_string(e.begin) + ',' + std::to_string(e.end) + ')';
    }
  }
  return out + "}" + flags(b);
}

// Reads answers until the epoch ends, or `most` of them.
std::string run(Reader& reader, std::size_t most, bool layout = false) {
  std::string out;
  Minibatch batch;
  for (std::size_t i = 0; i < most && reader.read(batch); ++i) {
    out += (i == 0 ? "" : " ") + text(batch, layout);
    if (batch.end_of_epoch) break;
  }
  return out;
}

ReaderOptions truncated(std::uint64_t minibatch, std::uint64_t length, std::uint64_t splice = 0) {
  ReaderOptions o = reference(OrderKind::file, minibatch);
  o.pack = {Packing::truncated, length, splice};
  return o;
}

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

// What the rest of a run looks like, values included.
std::string tail(Reader& reader, std::size_t answers) {
  std::string out;
  Minibatch batch;
  for (std::size_t i = 0; i < answers && reader.read(batch); ++i) {
    out += text(batch, false) + '@' + std::to_string(batch.position);
    for (const StreamBatch& s : batch.streams) {
      for (const LayoutEntry& e : s.layout.entries) out += ' ' + std::to_string(e.row) + ':' + std::to_string(e.begin);
      out.append(reinterpret_cast<const char*>(s.values.data()), s.values.size());
    }
  }
  return out;
}

std::vector<ReaderOptions> every_kind() {
  std::vector<ReaderOptions> out;
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
    for (const Packing pack : {Packing::sequences, Packing::frames, Packing::truncated}) {
      for (const Driver driver : {Driver::epochs, Driver::timeline}) {
        ReaderOptions o = reference(order, 4);
        o.order.seed = 7;
        o.pack = {pack, pack == Packing::truncated ? 2u : 0u, 0};
        o.driver = driver;
        o.epoch_samples = driver == Driver::timeline ? ~0ull : 9;
        out.push_back(o);
        o.shard = Shard::even;
        out.push_back(o);
      }
    }
  }
  return out;
}

TEST(ReaderState, EveryPlaceOfEveryKindOfRunGoesOnExactly) {
  for (const ReaderOptions& o : every_kind()) {
    const bool frames = o.pack.kind == Packing::frames;
    const auto source = std::make_shared<MemorySource>(kV, frames);
    constexpr std::size_t kAnswers = 24;
    for (std::size_t at = 0; at <= 14; ++at) {
      Reader whole(source, o);
      Minibatch batch;
      for (std::size_t i = 0; i < at; ++i) ASSERT_TRUE(whole.read(batch));
      const std::string state = whole.state();
      const std::string want = tail(whole, kAnswers);
      ReaderOptions other = o;
      other.threads = static_cast<unsigned>(1 + at % 3);
      other.prefetch = at % 2 == 0;
      Reader again(source, other);
      again.restore(state);
      ASSERT_EQ(tail(again, kAnswers), want) << "order " << static_cast<int>(o.order.kind) << " pack "
                                             << static_cast<int>(o.pack.kind) << " after " << at << ": " << state;
      ASSERT_LT(state.size(), 1000u);
    }
  }
}

TEST(ReaderState, IsRefusedByNameWhereItDoesNotBelong) {
  ReaderOptions o = reference(OrderKind::cntk, 4);
  Reader reader = open(kV, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const std::string state = reader.state();
  const auto refusal = [&](Reader other, const std::string& text) -> std::string {
    try {
      other.restore(text);
    } catch (const Error& error) {
      return error.fault().id + ": " + error.fault().what;
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(open(kA, o), state).substr(0, 16), "state.other-data");
  o.order.seed = 3;
  EXPECT_EQ(
      refusal(open(kV, o), state).find("state.other-options: the state was saved with seed = 0, the reader has 3"), 0u);
  o.order.seed = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::string flipped = state;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_NE(refusal(open(kV, o), flipped), "accepted") << i;
    EXPECT_NE(refusal(open(kV, o), state.substr(0, i)), "accepted") << i;
  }
  EXPECT_EQ(refusal(open(kV, o), "{}").substr(0, 13), "state.damaged");
  EXPECT_EQ(refusal(open(kV, o), std::string(70'000, ' ')).substr(0, 11), "limit.state");
  std::string newer = state;
  newer.replace(newer.find("state\":1"), 8, "state\":9");
  EXPECT_EQ(refusal(open(kV, o), newer).substr(0, 11), "state.newer");
}

TEST(ReaderShard, EvenGivesEveryRankItsPartOfTheSameMinibatches) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw, std::uint8_t seed) {
    RC_PRE(raw.size() >= 8);
    std::vector<std::vector<std::uint32_t>> corpus(1 + raw.size() / 4);
    for (std::size_t i = 0; i < raw.size(); ++i) corpus[i / 4].push_back(1u + raw[i] % 6u);
    if (corpus.back().empty()) corpus.pop_back();
    const auto source = std::make_shared<MemorySource>(corpus);
    ReaderOptions o;
    o.order = {.kind = OrderKind::uniform, .window = 3, .window_in_samples = false, .seed = seed};
    o.minibatch_size = {12};
    o.threads = 1;
    std::vector<std::vector<std::uint64_t>> want;
    {
      Reader one(source, o);
      while (auto batch = one.next()) want.push_back(batch->keys);
    }
    for (const std::uint64_t workers : {2u, 3u, 8u}) {
      std::vector<std::vector<std::uint64_t>> got(want.size());
      std::vector<std::size_t> ranks_with_data(want.size());
      for (std::uint64_t rank = 0; rank < workers; ++rank) {
        o.workers = workers;
        o.rank = rank;
        Reader reader(source, o);
        Minibatch batch;
        for (std::size_t i = 0; i < want.size(); ++i) {
          RC_ASSERT(reader.read(batch));
          got[i].insert(got[i].end(), batch.keys.begin(), batch.keys.end());
          ranks_with_data[i] += batch.keys.empty() ? 0u : 1u;
        }
      }
      RC_ASSERT(got == want);
      for (std::size_t i = 0; i < want.size(); ++i)
        RC_ASSERT(ranks_with_data[i] == std::min<std::size_t>(workers, want[i].size()));
    }
  }));
}

TEST(ReaderShard, AStateOfFourWorkersGoesOnWithAnyNumber) {
  ReaderOptions o;
  o.order.kind = OrderKind::uniform;
  o.minibatch_size = {3};
  o.workers = 4;
  const auto source = std::make_shared<MemorySource>(kA);
  Reader four(source, o);
  Minibatch batch;
  ASSERT_TRUE(four.read(batch));
  const std::string state = four.state();
  o.workers = 1;
  Reader one(source, o);
  ASSERT_TRUE(one.read(batch));
  const std::string want = tail(one, 3);
  for (const std::uint64_t workers : {1u, 3u, 8u}) {
    std::vector<std::vector<std::uint64_t>> keys(3);
    for (std::uint64_t rank = 0; rank < workers; ++rank) {
      o.workers = workers;
      o.rank = rank;
      Reader reader(source, o);
      reader.restore(state);
      for (auto& k : keys) {
        ASSERT_TRUE(reader.read(batch));
        k.insert(k.end(), batch.keys.begin(), batch.keys.end());
      }
    }
    o.workers = 1;
    o.rank = 0;
    Reader whole(source, o);
    whole.restore(state);
    for (const auto& k : keys) {
      ASSERT_TRUE(whole.read(batch));
      EXPECT_EQ(batch.keys, k) << workers << " workers";
    }
  }
}

TEST(ReaderErrors, ArriveAtTheirPlaceAndStay) {
  auto source = std::make_shared<MemorySource>(kA);
  source->bad_chunk = 2;
  for (const bool prefetch : {true, false}) {
    ReaderOptions o = reference(OrderKind::file, 2);
    o.prefetch = prefetch;
    Reader reader(source, o);
    Minibatch batch;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.read(batch)) << i;
    EXPECT_EQ(batch.keys, (std::vector<std::uint64_t>{4, 5}));
    for (int i = 0; i < 2; ++i) EXPECT_THROW(reader.read(batch), Error);
  }
}

TEST(ReaderErrors, DamagedSequencesAreLeftOutUpToTheBudget) {  // X9
  auto source = std::make_shared<MemorySource>(kV);
  source->damaged_key = 3;
  ReaderOptions o = reference(OrderKind::file, 16);
  o.max_invalid = 1;
  Reader tolerant(source, o);
  Minibatch batch;
  ASSERT_TRUE(tolerant.read(batch));
  EXPECT_EQ(batch.keys, (std::vector<std::uint64_t>{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(batch.invalid, 1u);
  o.max_invalid = 0;
  Reader strict(source, o);
  EXPECT_THROW(strict.read(batch), Error);
}

TEST(ReaderStop, AnyMomentIsAGoodOneToLeave) {
  for (unsigned batches = 0; batches < 12; ++batches) {
    auto source = std::make_shared<MemorySource>(kV);
    source->delay_ms = 1;
    Reader reader(source, reference(OrderKind::cntk, 2));
    Minibatch batch;
    for (unsigned i = 0; i < batches; ++i) ASSERT_TRUE(reader.read(batch));
  }
}

TEST(ReaderStop, AForkedChildIsToldToOpenItsOwn) {
  Reader reader = open(kV, reference(OrderKind::cntk, 2));
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      reader.read(batch);
    } catch (const Error& error) {
      code = error.fault().id == "reader.forked" ? 0 : 2;
    }
    { const Reader gone = std::move(reader); }  // must not wait for threads that are not here
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ReaderMemory, NeverHoldsMoreChunksThanWindowAndReadAhead) {
  const std::vector<std::vector<std::uint32_t>> corpus(64, std::vector<std::uint32_t>(64, 4));
  const auto source = std::make_shared<MemorySource>(corpus);
  Reader probe(source, reference(OrderKind::file, 64));
  Minibatch batch;
  ASSERT_TRUE(probe.read(batch));
  for (const OrderKind kind : {OrderKind::cntk, OrderKind::file}) {
    ReaderOptions o = reference(kind, 64);
    o.order.window = 4;
    Reader reader(source, o);
    std::uint64_t most = 0;
    while (reader.read(batch)) {
      most = std::max(most, reader.memory_held());
      if (batch.end_of_epoch) break;
    }
    const std::uint64_t chunk = 64 * (4 * sizeof(float) + 4 + 8 + 8) * 3;  // values and offsets, with room to grow
    EXPECT_LE(most, chunk * (o.order.window + 2 + 3 + 3)) << static_cast<int>(kind);
  }
  EXPECT_LE(source->reads.load(), 3u * 64u + 64u) << "chunks are read once a sweep, not again and again";
}

TEST(ReaderSizes, CountSequencesAndCells) {
  ReaderOptions o = reference(OrderKind::file, 3);
  o.size_unit = SizeUnit::sequences;
  Reader sequences = open(kV, o);
  EXPECT_EQ(run(sequences, 9), "[0 1 2] [3 4 5] [6 7]se");
  o.size_unit = SizeUnit::cells;
  o.minibatch_size = {6};
  Reader cells = open(kV, o);
  EXPECT_EQ(run(cells, 9), "[0 1] [2 3 4] [5] [6 7]se");
}

TEST(ReaderPolicies, LongSequencesAndTheLastMinibatch) {
  ReaderOptions o = reference(OrderKind::file, 3);
  o.long_sequence = LongSequence::skip;
  Reader skip = open(kV, o);
  EXPECT_EQ(run(skip, 9).find(" 5"), std::string::npos) << "key 5 has 4 samples";
  o.long_sequence = LongSequence::split;
  Reader split = open(kV, o);
  std::uint64_t samples = 0;
  Minibatch batch;
  while (split.read(batch)) {
    samples += batch.num_samples;
    if (batch.end_of_epoch) break;
  }
  EXPECT_EQ(samples, 16u);
  o.long_sequence = LongSequence::error;
  Reader error = open(kV, o);
  EXPECT_THROW(run(error, 9), Error);
  o = reference(OrderKind::file, 5);
  o.last_minibatch = LastMinibatch::drop;
  Reader drop = open(kA, o);
  EXPECT_EQ(run(drop, 9), "[0 1 2 3 4] [5 6 7 8 9] []se");
}

// The id of the fault that opening and reading with `o` gives; "" if none does.
std::string refusal(const std::vector<std::vector<std::uint32_t>>& corpus, const ReaderOptions& o) {
  try {
    Reader reader = open(corpus, o);
    Minibatch batch;
    for (int i = 0; i < 9 && reader.read(batch); ++i) {
    }
  } catch (const Error& error) {
    return error.fault().id;
  }
  return "";
}

TEST(ReaderRefuses, WhatMakesNoSenseByTheNameOfTheRule) {
  const ReaderOptions good = reference(OrderKind::file, 4);
  EXPECT_EQ(refusal(kV, good), "");
  const auto with = [&](auto&& change) {
    ReaderOptions o = good;
    change(o);
    return refusal(kV, o);
  };
  EXPECT_EQ(with([](ReaderOptions& o) { o.workers = 0; }), "reader.workers");
  EXPECT_EQ(with([](ReaderOptions& o) { o.rank = 1; }), "reader.rank");
  EXPECT_EQ(with([](ReaderOptions& o) { o.minibatch_size = {4, 0}; }), "reader.minibatch-size");
  EXPECT_EQ(with([](ReaderOptions& o) { o.epoch_samples = o.epoch_sweeps = 3; }), "reader.epoch-size");
  EXPECT_EQ(with([](ReaderOptions& o) { o.pack.kind = Packing::truncated; }), "reader.truncation-length");
  EXPECT_EQ(with([](ReaderOptions& o) { o.pack = {Packing::truncated, 2, 2}; }), "reader.right-splice");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.pack = {Packing::truncated, 2, 0};
              o.size_unit = SizeUnit::cells;
            }),
            "reader.size-unit");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.pack = {Packing::truncated, 4, 0};
              o.workers = 2;
            }),
            "reader.more-workers-than-rows");
  EXPECT_EQ(with([](ReaderOptions& o) {
              o.minibatch_size = {3};
              o.long_sequence = LongSequence::error;
            }),
            "reader.long-sequence");
  EXPECT_EQ(with([](ReaderOptions& o) { o.memory_limit = 16; }), "limit.memory");
  EXPECT_EQ(refusal({}, good), "reader.no-samples");
}

TEST(ReaderRefuses, DamagedSequencesBeyondTheBudget) {
  auto source = std::make_shared<MemorySource>(kV);
  source->damaged_key = 3;
  Reader strict(source, reference(OrderKind::file, 16));
  Minibatch batch;
  try {
    strict.read(batch);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "reader.too-many-invalid");
  }
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
