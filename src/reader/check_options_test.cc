// SPDX-License-Identifier: MIT
//
// Where the rules of options.h begin and end: what is refused, and what next to it is not.
#include "reader/check_options.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/fault_of.h"

namespace batchfeed::reader {
namespace {

using Driver = ReaderOptions::Driver;
using Change = std::function<void(ReaderOptions&)>;

std::string refused(const Change& change, std::size_t corpora = 1) {
  ReaderOptions o;
  change(o);
  return testing::id_of([&] { check_options(o, corpora); });
}

TEST(CheckOptions, RefusesNothingButWhatCannotWork) {
  const struct {
    const char* name;
    Change change;
    std::string id = "";
    std::size_t corpora = 1;
  } cases[] = {
      {"the defaults", [](auto&) {}},
      {"the last rank", [](auto& o) { o.workers = 3, o.rank = 2; }},
      {"a rank too many", [](auto& o) { o.workers = 3, o.rank = 3; }, "reader.rank"},
      {"the last offset", [](auto& o) { o.stride = 3, o.offset = 2; }},
      {"an offset too many", [](auto& o) { o.stride = 3, o.offset = 3; }, "reader.offset"},
      {"no stride", [](auto& o) { o.stride = 0; }, "reader.offset"},
      {"rows of HTKMLFReader by chunk", [](auto& o) { o.legacy_speech = true, o.workers = 2, o.shard = Shard::chunk; }},
      {"rows of HTKMLFReader for one", [](auto& o) { o.legacy_speech = true; }},
      {"rows of HTKMLFReader evenly", [](auto& o) { o.legacy_speech = true, o.workers = 2; }, "reader.legacy-even"},
      {"frames of HTKMLFReader evenly",
       [](auto& o) {
         o.legacy_speech = true, o.workers = 2;
         o.pack.kind = Packing::frames;
       }},
      {"no size", [](auto& o) { o.minibatch_size = {}; }, "reader.minibatch-size"},
      {"sizes",
       [](auto& o) {
         o.minibatch_size = {1, 2, 1};
       }},
      {"an epoch of sweeps", [](auto& o) { o.epoch_sweeps = 2; }},
      {"an epoch of samples", [](auto& o) { o.epoch_samples = 2; }},
      {"the last across, said twice", [](auto& o) { o.last_minibatch = LastMinibatch::cross, o.cross_sweeps = true; }},

      {"pieces",
       [](auto& o) {
         o.pack = {Packing::truncated, 4, 3};
       }},
      {"pieces that bring nothing",
       [](auto& o) {
         o.pack = {Packing::truncated, 4, 4};
       },
       "reader.right-splice"},
      {"pieces of all rows",
       [](auto& o) {
         o.pack = {Packing::truncated, 0, 0}, o.rows_per_epoch = {2};
       }},
      {"pieces, the last dropped",
       [](auto& o) {
         o.pack = {Packing::truncated, 4, 0}, o.last_minibatch = LastMinibatch::drop;
       },
       "reader.last-minibatch"},
      {"pieces, the last across",
       [](auto& o) {
         o.pack = {Packing::truncated, 4, 0}, o.last_minibatch = LastMinibatch::cross;
       }},
      {"pieces in HTKMLFReader's way",
       [](auto& o) {
         o.pack = {Packing::truncated, 0, 0}, o.legacy_speech = true;
       }},
      {"whole sequences have no pieces",
       [](auto& o) {
         o.pack = {Packing::sequences, 0, 7};
       }},

      {"one sequence each, in HTKMLFReader's way", [](auto& o) { o.one_sequence = o.legacy_speech = true; },
       "reader.one-sequence"},

      {"buckets", [](auto& o) { o.bucket_minibatches = 2; }},
      {"buckets of one size said twice",
       [](auto& o) {
         o.bucket_minibatches = 2, o.minibatch_size = {5, 5};
       }},
      {"buckets of two sizes",
       [](auto& o) {
         o.bucket_minibatches = 2, o.minibatch_size = {5, 6};
       },
       "reader.bucket-sizes"},
      {"buckets of frames", [](auto& o) { o.bucket_minibatches = 2, o.pack.kind = Packing::frames; },
       "reader.bucket-packing"},
      {"buckets on a timeline", [](auto& o) { o.bucket_minibatches = 2, o.driver = Driver::timeline; }},
      {"buckets across sweeps", [](auto& o) { o.bucket_minibatches = 2, o.cross_sweeps = true; },
       "reader.bucket-crossing"},
      {"buckets, the last across", [](auto& o) { o.bucket_minibatches = 2, o.last_minibatch = LastMinibatch::cross; },
       "reader.bucket-crossing"},
      {"buckets, and no crossing", [](auto& o) { o.bucket_minibatches = 2, o.cross_sweeps = false; }},
      {"buckets of workers", [](auto& o) { o.bucket_minibatches = 2, o.workers = 2; }},
      {"buckets of one worker by chunk", [](auto& o) { o.bucket_minibatches = 2, o.shard = Shard::chunk; }},
      {"buckets of workers by chunk", [](auto& o) { o.bucket_minibatches = 2, o.shard = Shard::chunk, o.workers = 2; },
       "reader.one-line"},
      {"buckets in HTKMLFReader's way", [](auto& o) { o.bucket_minibatches = 2, o.legacy_speech = true; },
       "reader.one-line"},

      {"a mixture",
       [](auto& o) {
         o.mix_weights = {1, 0.5};
       },
       "", 2},
      {"a mixture of one", [](auto& o) { o.mix_weights = {1}; }},
      {"a mixture without weights", [](auto&) {}, "reader.mix-weights", 2},
      {"a weight too many",
       [](auto& o) {
         o.mix_weights = {1, 1};
       },
       "reader.mix-weights"},
      {"a weight of nothing",
       [](auto& o) {
         o.mix_weights = {1, 0};
       },
       "order.mix-weight", 2},
      {"a mixture in sweeps",
       [](auto& o) {
         o.mix_weights = {1, 1}, o.epoch_sweeps = 1;
       },
       "reader.mix-sweeps", 2},
      {"a mixture that keeps sweeps",
       [](auto& o) {
         o.mix_weights = {1, 1}, o.cross_sweeps = false;
       },
       "reader.mix-crossing", 2},
      {"a mixture across sweeps",
       [](auto& o) {
         o.mix_weights = {1, 1}, o.cross_sweeps = true;
       },
       "", 2},
      {"a mixture of workers by chunk",
       [](auto& o) {
         o.mix_weights = {1, 1}, o.shard = Shard::chunk, o.workers = 2;
       },
       "reader.one-line", 2},
  };
  for (const auto& c : cases) EXPECT_EQ(refused(c.change, c.corpora), c.id) << c.name;
}

TEST(CheckOptions, MinibatchesSpanSweepsWhereItIsSaidOrOnATimeline) {
  const struct {
    std::optional<bool> said;
    LastMinibatch last;
    Driver driver;
    std::uint64_t buckets;
    bool crosses;
  } cases[] = {
      {std::nullopt, LastMinibatch::keep, Driver::epochs, 0, false},
      {std::nullopt, LastMinibatch::drop, Driver::epochs, 0, false},
      {std::nullopt, LastMinibatch::cross, Driver::epochs, 0, true},
      {std::nullopt, LastMinibatch::keep, Driver::timeline, 0, true},
      {std::nullopt, LastMinibatch::keep, Driver::timeline, 2, false},
      {false, LastMinibatch::keep, Driver::timeline, 0, false},
      {true, LastMinibatch::keep, Driver::epochs, 0, true},
      {true, LastMinibatch::keep, Driver::timeline, 2, true},
  };
  for (const auto& c : cases) {
    ReaderOptions o;
    o.cross_sweeps = c.said;
    o.last_minibatch = c.last;
    o.driver = c.driver;
    o.bucket_minibatches = c.buckets;
    EXPECT_EQ(crosses_sweeps(o), c.crosses) << &c - cases;
  }
}

TEST(CheckOptions, WorkersThatShareByChunkNeedAChunkEach) {
  const auto warned = [](const Change& change, std::uint64_t chunks) {
    ReaderOptions o;
    o.shard = Shard::chunk;
    o.workers = 4;
    change(o);
    const auto notice = warn_of_starving(o, chunks, 1000, 1000);
    return notice ? notice->fault.id : "";
  };
  EXPECT_EQ(warned([](auto&) {}, 3), "reader.few-chunks");
  EXPECT_EQ(warned([](auto&) {}, 4), "");
  EXPECT_EQ(warned([](auto& o) { o.order.kind = OrderKind::cntk; }, 3), "reader.few-chunks");
  EXPECT_EQ(warned([](auto& o) { o.order.kind = OrderKind::file; }, 3), "") << "sequences are shared by number";
  EXPECT_EQ(warned([](auto& o) { o.shard = Shard::even; }, 3), "");
  // The hint names sharing evenly where that is a choice.
  for (const bool legacy : {false, true}) {
    for (const Packing kind : {Packing::sequences, Packing::frames, Packing::truncated}) {
      ReaderOptions o;
      o.shard = Shard::chunk;
      o.workers = 4;
      o.legacy_speech = legacy;
      o.pack = {kind, 4, 0};
      const bool hinted = warn_of_starving(o, 3, 1000, 1000)->fault.hint.find("`shard = even`") != std::string::npos;
      o.shard = Shard::even;
      EXPECT_EQ(testing::id_of([&] { check_options(o, 1); }), hinted ? "" : "reader.legacy-even")
          << legacy << ' ' << name(kind);
    }
  }
}

// A worker may get half of what it should: with two sequences each in the mean, one comes.
TEST(CheckOptions, WorkersThatShareEvenlyNeedTwoSequencesEach) {
  const struct {
    const char* name;
    std::vector<std::uint64_t> sizes;
    std::uint64_t sequences, samples;
    std::string hint;  // the size it asks for; empty: no warning
    Change change = [](auto&) {};
  } cases[] = {
      {"enough", {8}, 100, 100, ""},
      {"too few", {7}, 100, 100, "8"},
      {"long sequences", {80}, 100, 1000, ""},
      {"long sequences, too few", {79}, 100, 1000, "80"},
      {"one of the sizes is too small", {80, 79, 90}, 100, 1000, "80"},
      {"sequences are counted", {8}, 100, 1000, "", [](auto& o) { o.size_unit = SizeUnit::sequences; }},
      {"too few sequences are counted", {7}, 100, 1000, "8", [](auto& o) { o.size_unit = SizeUnit::sequences; }},
      {"more sequences than samples", {8}, 100, 10, ""},
      {"a sequence that is longer than a minibatch", {5}, 100, 1000, "80"},
      {"one worker", {1}, 100, 100, "", [](auto& o) { o.workers = 1; }},
      {"nothing to share", {1}, 0, 0, ""},
      {"rows, which are dealt",
       {1},
       100,
       100,
       "",
       [](auto& o) {
         o.pack = {Packing::truncated, 4, 0};
       }},
  };
  for (const auto& c : cases) {
    ReaderOptions o;
    o.workers = 4;
    o.minibatch_size = c.sizes;
    c.change(o);
    const auto notice = warn_of_starving(o, 1, c.sequences, c.samples);
    ASSERT_EQ(notice.has_value(), !c.hint.empty()) << c.name;
    if (!notice) continue;
    EXPECT_EQ(notice->fault.id, "reader.few-sequences") << c.name;
    EXPECT_EQ(notice->fault.hint, "a size of " + c.hint + " or more is on the safe side") << c.name;
    o.minibatch_size = {std::stoull(c.hint)};
    EXPECT_FALSE(warn_of_starving(o, 1, c.sequences, c.samples)) << c.name << ", as it asks";
  }
}

TEST(CheckOptions, PlacesOfAMinibatchAreBoundedByWhatThereIs) {
  const struct {
    const char* name;
    Change change;
    std::uint64_t places;  // samples asked of the minibatch for it to have just what is allowed
    std::uint64_t more;    // and for it to have more
  } cases[] = {
      {"sizes", [](auto&) {}, 260, 261},
      {"rows of an epoch",
       [](auto& o) {
         o.pack.truncation_length = 0, o.rows_per_epoch = {1, 3, 2};
       },
       86, 87},
      {"HTKMLFReader's rows", [](auto& o) { o.pack.truncation_length = 999, o.legacy_speech = true; }, 260, 261},
  };
  Limits limits;
  limits.implied_samples = 100;  // and 16 for each of 10 samples
  for (const auto& c : cases) {
    ReaderOptions o;
    o.pack = {Packing::truncated, 5, 0};
    c.change(o);
    const auto with = [&](std::uint64_t size) {
      o.minibatch_size = {1, size, 2};
      return testing::id_of([&] { check_gaps(o, 10, limits); });
    };
    EXPECT_EQ(with(c.places), "") << c.name;
    EXPECT_EQ(with(c.more), "limit.gaps") << c.name;
    o.pack.kind = Packing::sequences;
    EXPECT_EQ(with(c.more), "") << c.name << ": whole sequences have no gaps that nobody asked for";
  }
  ReaderOptions spanning;
  spanning.cross_sweeps = true;
  spanning.epoch_samples = 1000;
  const auto spans = [&](std::uint64_t size) {
    spanning.minibatch_size = {1, size};
    return testing::id_of([&] { check_gaps(spanning, 10, limits); });
  };
  EXPECT_EQ(spans(260), "");
  EXPECT_EQ(spans(261), "limit.repeats");
  spanning.epoch_samples = 260;
  EXPECT_EQ(spans(1000), "") << "an epoch has no more";
  ReaderOptions o;
  o.pack = {Packing::truncated, 5, 0};
  limits.implied_samples = ~0ull;
  o.minibatch_size = {0x7FFFFFFF};
  EXPECT_EQ(testing::id_of([&] { check_gaps(o, ~0ull, limits); }), "");
  o.minibatch_size = {0x80000000};
  EXPECT_EQ(testing::id_of([&] { check_gaps(o, ~0ull, limits); }), "limit.gaps") << "whatever the limit";
}

}  // namespace
}  // namespace batchfeed::reader
