// SPDX-License-Identifier: MIT
//
// What every order must keep, for corpora, windows, seeds and workers drawn at
// random: nothing lost or repeated, wherever it is cut, left and taken up again.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "order/cntk_order.h"
#include "order/corpus_testing.h"
#include "order/uniform_order.h"

namespace batchfeed::order {
namespace {

struct Setting {
  LengthSource::Lengths lengths;
  OrderOptions options;
  bool frames = false;
};

Setting draw_setting(OrderKind kind) {
  Setting setting;
  const auto chunks = *rc::gen::inRange<std::size_t>(1, 12);
  const auto longest = *rc::gen::element<std::uint32_t>(1, 2, 5);
  for (std::size_t c = 0; c < chunks; ++c) {
    // The size of the generator says how many there are and would keep the lengths at one.
    const auto length = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1u, longest + 1));
    setting.lengths.push_back(
        *rc::gen::resize(8, rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint32_t>>(length))));
  }
  setting.options = {.kind = kind,
                     .window = *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 5, 8, 20, kWholeSet),
                     .window_in_samples = *rc::gen::arbitrary<bool>(),
                     .seed = *rc::gen::inRange<std::uint64_t>(0, 1000)};
  setting.frames = *rc::gen::inRange(0, 4) == 0;
  return setting;
}

OrderKind draw_kind() { return *rc::gen::element(OrderKind::file, OrderKind::cntk, OrderKind::uniform); }

using Key = std::pair<std::uint64_t, std::uint32_t>;  // sequence, frame

void append_keys(const LengthSource& source, const Batch& batch, std::vector<Key>& keys) {
  for (const Item& item : batch.items) keys.emplace_back(source.key(item), item.frame);
}

std::vector<Key> all_keys(const LengthSource& source, const Corpus& corpus) {
  std::vector<Item> items;
  for (std::uint32_t c = 0; c < corpus.chunks(); ++c) corpus.table(c, items);
  std::vector<Key> keys;
  for (const Item& item : items) keys.emplace_back(source.key(item), item.frame);
  std::sort(keys.begin(), keys.end());
  return keys;
}

// Everything up to the end of the epoch, in batches of `limit`.
std::vector<Key> read_epoch(const LengthSource& source, Timeline& timeline, std::uint64_t limit) {
  std::vector<Key> keys;
  Batch batch;
  do {
    timeline.next(limit, limit, batch);
    append_keys(source, batch, keys);
  } while (!batch.end_of_epoch);
  return keys;
}

RC_GTEST_PROP(AnyOrder, GivesEverySequenceOnceASweepWhateverTheMinibatchSize, ()) {
  const Setting setting = draw_setting(draw_kind());
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, setting.frames);
  const auto timeline = make_timeline(corpus, setting.options, false, 1, 0);
  const std::uint64_t sweep = corpus.total_samples();
  for (std::uint64_t index = 0; index < 3; ++index) {
    timeline->begin_epoch(index * sweep, sweep);
    const auto large = read_epoch(source, *timeline, *rc::gen::inRange<std::uint64_t>(1, 14));
    timeline->begin_epoch(index * sweep, sweep);
    RC_ASSERT(read_epoch(source, *timeline, 1) == large);
    auto sorted = large;
    std::sort(sorted.begin(), sorted.end());
    RC_ASSERT(sorted == all_keys(source, corpus));
  }
}

RC_GTEST_PROP(AnyOrder, GoesOnFromARestoredPositionAsIfNeverLeft, ()) {
  const Setting setting = draw_setting(draw_kind());
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, setting.frames);
  const bool cross = *rc::gen::arbitrary<bool>();
  const auto workers = *rc::gen::inRange<std::uint64_t>(1, 4);
  const auto rank = *rc::gen::inRange<std::uint64_t>(0, workers);
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 3 * corpus.total_samples());
  const auto limit = *rc::gen::inRange<std::uint64_t>(1, 12);
  const auto used = make_timeline(corpus, setting.options, cross, workers, rank);
  const auto visited = make_timeline(corpus, setting.options, cross, workers, rank);
  used->begin_epoch(size, size);
  visited->begin_epoch(size, size);
  Batch batch;
  for (int i = 0; i < 40 && !batch.end_of_epoch; ++i) {
    const auto fresh = make_timeline(corpus, setting.options, cross, workers, rank);
    fresh->begin_epoch(size, size);
    fresh->restore(used->position());
    visited->restore(*rc::gen::inRange<std::uint64_t>(0, 4 * corpus.total_samples()));
    visited->restore(used->position());
    RC_ASSERT(fresh->position() == used->position());
    Batch other;
    used->next(Timeline::kUnlimited, limit, batch);
    for (const auto& timeline : {fresh.get(), visited.get()}) {
      timeline->next(Timeline::kUnlimited, limit, other);
      RC_ASSERT(other.items == batch.items);
      RC_ASSERT(other.position == batch.position);
      RC_ASSERT(other.end_of_sweep == batch.end_of_sweep);
      RC_ASSERT(other.end_of_epoch == batch.end_of_epoch);
    }
  }
}

// What an order let go of in one epoch decides how the next one begins, wherever a run was taken up between them.
RC_GTEST_PROP(AnyOrder, TakesUpAlikeInEveryEpochThatFollows, ()) {
  const Setting setting = draw_setting(draw_kind());
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, setting.frames);
  const bool cross = *rc::gen::arbitrary<bool>();
  const auto workers = *rc::gen::inRange<std::uint64_t>(1, 4);
  const auto rank = *rc::gen::inRange<std::uint64_t>(0, workers);
  // Mostly an epoch ends a little before its sweep: that is where a last sequence reaches the sweep's end.
  const std::uint64_t total = corpus.total_samples();
  const std::uint64_t near = total + 1 - std::min(total, *rc::gen::inRange<std::uint64_t>(0, 6));
  const std::uint64_t size = std::max<std::uint64_t>(1, near / *rc::gen::inRange<std::uint64_t>(1, 5));
  const auto limit = *rc::gen::inRange<std::uint64_t>(1, 12);
  const auto used = make_timeline(corpus, setting.options, cross, workers, rank);
  used->begin_epoch(0, size);
  std::unique_ptr<Timeline> later;  // took up `used` at some batch of some epoch and goes on beside it
  Batch batch, other;
  for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
    for (batch.end_of_epoch = false; !batch.end_of_epoch;) {
      used->next(Timeline::kUnlimited, limit, batch);
      if (later) {
        later->next(Timeline::kUnlimited, limit, other);
        RC_ASSERT(other.items == batch.items);
        RC_ASSERT(other.position == batch.position);
        RC_ASSERT(other.end_of_sweep == batch.end_of_sweep);
        RC_ASSERT(other.end_of_epoch == batch.end_of_epoch);
      }
      if (!*rc::gen::inRange(0, 3)) {
        later = make_timeline(corpus, setting.options, cross, workers, rank);
        later->begin_epoch(epoch * size, size);
        later->set_past(used->past());
        later->restore(used->position());
      }
    }
    used->next_epoch((epoch + 1) * size, size);
    if (later) later->next_epoch((epoch + 1) * size, size);
  }
}

RC_GTEST_PROP(AnyOrder, CutIntoShortEpochsIsOneLongRun, ()) {
  const Setting setting = draw_setting(draw_kind());
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, setting.frames);
  const auto timeline = make_timeline(corpus, setting.options, false, 1, 0);
  const std::uint64_t far = 3 * corpus.total_samples();
  timeline->begin_epoch(0, far);
  const auto whole = read_epoch(source, *timeline, 4);
  const auto size = *rc::gen::inRange<std::uint64_t>(1, far + 1);
  std::vector<Key> cut;
  for (std::uint64_t index = 0; index * size < far; ++index) {
    timeline->begin_epoch(index * size, std::min(size, far - index * size));
    const auto part = read_epoch(source, *timeline, 4);
    cut.insert(cut.end(), part.begin(), part.end());
  }
  RC_ASSERT(cut == whole);
}

RC_GTEST_PROP(AnyOrder, SharedAmongWorkersGivesEverySequenceOnce, ()) {
  const Setting setting = draw_setting(draw_kind());
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, setting.frames);
  const auto workers = *rc::gen::inRange<std::uint64_t>(1, 6);
  std::vector<Key> keys;
  for (std::uint64_t rank = 0; rank < workers; ++rank) {
    const auto timeline = make_timeline(corpus, setting.options, false, workers, rank);
    timeline->begin_epoch(0, corpus.total_samples());
    const auto own = read_epoch(source, *timeline, 3);
    keys.insert(keys.end(), own.begin(), own.end());
  }
  std::sort(keys.begin(), keys.end());
  RC_ASSERT(keys == all_keys(source, corpus));
}

RC_GTEST_PROP(AnyOrder, NamesTheChunksOfEveryBatchInItsWindow, ()) {
  const Setting setting = draw_setting(draw_kind());
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, setting.frames);
  const bool cross = *rc::gen::arbitrary<bool>();
  const auto timeline = make_timeline(corpus, setting.options, cross, 2, 0);
  const auto twin = make_timeline(corpus, setting.options, cross, 2, 0);
  timeline->begin_epoch(0, 4 * corpus.total_samples());
  twin->begin_epoch(0, 4 * corpus.total_samples());
  const auto limit = *rc::gen::inRange<std::uint64_t>(1, 3 * corpus.total_samples());
  Batch reused, fresh;
  do {
    timeline->next(Timeline::kUnlimited, limit, reused);
    fresh = Batch{};
    twin->next(Timeline::kUnlimited, limit, fresh);
    RC_ASSERT(reused.window == fresh.window);
    RC_ASSERT(reused.window_generation == fresh.window_generation);
    const std::set<std::uint32_t> window(reused.window.begin(), reused.window.end());
    RC_ASSERT(window.size() == reused.window.size());
    for (const Item& item : reused.items) RC_ASSERT(window.contains(item.chunk));
  } while (!reused.end_of_epoch);
}

// The reference's shuffle written down plainly, all at once (minibatch.md 5.3).
std::vector<std::uint64_t> eager_order(const LengthSource& source, const Corpus& corpus, const OrderOptions& options) {
  const auto chunks = cntk_chunk_order(corpus.chunks(), options.seed);
  std::vector<std::uint64_t> sizes, first = {0};
  std::vector<std::pair<std::uint32_t, std::uint64_t>> row;  // home, key
  std::vector<std::uint32_t> at;
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    std::vector<Item> items;
    corpus.table(chunks[c], items);
    for (const Item& item : items) {
      row.emplace_back(c, source.key(item));
      at.push_back(c);
    }
    sizes.push_back(corpus.samples(chunks[c]));
    first.push_back(row.size());
  }
  const Windows w = options.window_in_samples ? windows_in_samples(sizes, options.window)
                                              : windows_in_chunks(corpus.chunks(), options.window);
  CntkRng rng;
  rng.seed(options.seed);
  for (std::size_t t = 0; t < row.size(); ++t) {
    for (;;) {
      const auto j = rng.draw(first[w.lo[at[t]]], first[w.hi[at[t]]]);
      if (row[j].first < w.lo[at[t]] || row[j].first >= w.hi[at[t]]) continue;
      if (row[t].first < w.lo[at[j]] || row[t].first >= w.hi[at[j]]) continue;
      std::swap(row[t], row[j]);
      break;
    }
  }
  std::vector<std::uint64_t> keys;
  for (std::size_t t = 0; t < row.size(); ++t) {
    EXPECT_TRUE(w.lo[at[t]] <= row[t].first && row[t].first < w.hi[at[t]]);
    keys.push_back(row[t].second);
  }
  return keys;
}

RC_GTEST_PROP(CntkOrder, ComputedLazilyIsTheOneComputedAtOnce, ()) {
  Setting setting = draw_setting(OrderKind::cntk);
  const LengthSource source(setting.lengths);
  const Corpus corpus(source, false);
  const auto timeline = make_timeline(corpus, setting.options, false, 1, 0);
  for (int sweep = 0; sweep < 3; ++sweep, ++setting.options.seed) {
    std::vector<std::uint64_t> keys;
    Batch batch;
    do {
      timeline->next(3, 3, batch);
      for (const Item& item : batch.items) keys.push_back(source.key(item));
    } while (!batch.end_of_sweep);
    RC_ASSERT(keys == eager_order(source, corpus, setting.options));
    timeline->begin_epoch(static_cast<std::uint64_t>(sweep + 1) * corpus.total_samples(), kWholeSet);
  }
}

// A row's words are four or eight bytes, as 16 bits for chunks and 16 or 17 for their sequences ask.
TEST(AnyOrder, IsTheSameWhereNumbersNeedMoreThan32Bits) {
  for (const std::uint32_t longest : {65536u, 65537u}) {
    LengthSource::Lengths lengths(40'000, {1});
    lengths[12'345].assign(longest, 1);
    const LengthSource source(lengths);
    const Corpus corpus(source, false);
    EXPECT_EQ(EntryBits(corpus).narrow(), longest == 65536);
    for (const OrderKind kind : {OrderKind::cntk, OrderKind::uniform}) {
      for (const std::uint64_t window : {std::uint64_t{300}, kWholeSet}) {
        const OrderOptions options{.kind = kind, .window = window, .seed = 5};
        const auto timeline = make_timeline(corpus, options, false, 1, 0);
        timeline->begin_epoch(0, corpus.total_samples());
        std::vector<std::uint64_t> keys;
        for (const Key& key : read_epoch(source, *timeline, 1000)) keys.push_back(key.first);
        if (kind == OrderKind::cntk) {
          EXPECT_EQ(keys, eager_order(source, corpus, options));
        }
        std::sort(keys.begin(), keys.end());
        for (std::uint64_t k = 0; k < corpus.total_sequences(); ++k) ASSERT_EQ(keys[k], k);
      }
    }
  }
}

template <class Sweep>
std::uint64_t most_tables_held(const Corpus& corpus, const OrderOptions& options) {
  Sweep sweep(corpus, options);
  sweep.begin(0);
  std::uint64_t most = 0;
  for (; sweep.settle(); sweep.advance()) most = std::max(most, sweep.tables_held());
  return most;
}

TEST(AnyOrder, HoldsTablesOfItsWindowOnly) {
  const LengthSource source(LengthSource::Lengths(400, std::vector<std::uint32_t>(5, 2)));
  const Corpus corpus(source, false);
  for (const std::uint64_t window : {1u, 2u, 9u, 40u, 200u}) {
    const OrderOptions options{.window = window, .seed = 3};
    EXPECT_LE(most_tables_held<UniformSweep>(corpus, options), window);
    // Everything that can still touch the cursor's chunk has been placed.
    EXPECT_LE(most_tables_held<CntkSweep>(corpus, options), 2 * window + 1);
  }
  const OrderOptions in_samples{.window = 90, .window_in_samples = true, .seed = 3};
  EXPECT_LE(most_tables_held<UniformSweep>(corpus, in_samples), 9u);
}

TEST(AnyOrder, FindsAPositionWithoutReadingTheTablesBeforeIt) {
  const LengthSource source(LengthSource::Lengths(2000, {1, 2, 3, 1}));
  const Corpus corpus(source, false);
  const auto timeline = make_timeline(corpus, {.window = 16, .seed = 1}, false, 1, 0);
  source.tables_read = 0;
  timeline->restore(corpus.total_samples() * 7 + corpus.total_samples() / 2);
  EXPECT_LE(source.tables_read, 64u);
}

}  // namespace
}  // namespace batchfeed::order
