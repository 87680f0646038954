// SPDX-License-Identifier: MIT
#include "reader/check_options.h"

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/saturate.h"
#include "order/mix.h"
#include "reader/epoch_table.h"

namespace batchfeed::reader {
namespace {

using Driver = ReaderOptions::Driver;

[[noreturn]] void usage(std::string id, std::string what, std::string hint) {
  throw Error(Fault{
      .kind = FaultKind::usage, .id = "reader." + std::move(id), .what = std::move(what), .hint = std::move(hint)});
}

void check_workers(const ReaderOptions& o) {
  if (o.workers == 0) usage("workers", "workers is 0, must be at least 1", "");
  if (o.rank < o.workers) return;
  usage("rank", "rank is " + std::to_string(o.rank) + ", must be below workers (" + std::to_string(o.workers) + ')',
        "ranks count from 0");
}

void check_stride(const ReaderOptions& o) {
  if (o.stride == 0) usage("offset", "stride is 0, must be at least 1", "");
  if (o.offset < o.stride) return;
  usage("offset", "offset is " + std::to_string(o.offset) + ", must be below stride (" + std::to_string(o.stride) + ')',
        "offsets count from 0");
}

void check_sizes(const ReaderOptions& o) {
  if (o.minibatch_size.empty() || std::count(o.minibatch_size.begin(), o.minibatch_size.end(), 0u) != 0) {
    usage("minibatch-size", "the minibatch size is 0, must be at least 1", "");
  }
  if (o.epoch_samples != 0 && o.epoch_sweeps != 0)
    usage("epoch-size", "epoch_samples and epoch_sweeps are both set", "give one of them");
  if (o.last_minibatch == LastMinibatch::cross && o.cross_sweeps == false) {
    usage("last-minibatch", "last_minibatch = cross and cross_sweeps = false contradict each other",
          "give one of them");
  }
  if (o.prefetch_depth == 0) {
    usage("prefetch-depth", "prefetch_depth is 0, must be at least 1", "prefetch = false prepares nothing ahead");
  }
}

void check_truncated(const ReaderOptions& o) {
  if (o.pack.kind != Packing::truncated || o.legacy_speech) return;
  if (o.pack.truncation_length == 0 && o.rows_per_epoch.empty())
    usage("truncation-length", "truncation_length is 0, must be at least 1", "");
  if (o.pack.right_splice >= o.pack.truncation_length && o.pack.right_splice != 0) {
    usage("right-splice",
          "right_splice is " + std::to_string(o.pack.right_splice) + ", must be below truncation_length (" +
              std::to_string(o.pack.truncation_length) + ')',
          "a minibatch must bring at least one new sample a row");
  }
  if (o.size_unit != SizeUnit::samples) usage("size-unit", "truncated packing counts minibatches in samples", "");
  if (o.long_sequence != LongSequence::alone) {
    usage("long-sequence", "truncated packing cuts every sequence, long_sequence has no meaning for it",
          "leave it at alone");
  }
  if (o.last_minibatch == LastMinibatch::drop) {
    usage("last-minibatch", "truncated packing fills the last minibatches with gaps, it cannot drop them",
          "leave `last_minibatch` at keep");
  }
}

// For options that rearrange the order's sequences, which needs one timeline for all workers.
void check_one_line(const ReaderOptions& o, const char* option) {
  if (o.legacy_speech) usage("one-line", std::string(option) + " is not for HTKMLFReader", "");
  if (o.shard == Shard::even || o.workers == 1) return;
  usage("one-line",
        std::string(option) + " is for shard = even or one worker, not for " + counted(o.workers, "worker") +
            " that share by chunk",
        "use `shard = even`");
}

void check_one_sequence(const ReaderOptions& o) {
  if (!o.one_sequence) return;
  const char* const other = o.legacy_speech                          ? "legacy_speech"
                            : o.pack.kind != Packing::sequences      ? "packing of frames or truncated sequences"
                            : o.bucket_minibatches != 0              ? "bucket_minibatches"
                            : o.long_sequence != LongSequence::alone ? "long_sequence"
                                                                     : nullptr;
  if (other == nullptr) return;
  usage("one-sequence",
        std::string("one_sequence makes a minibatch of each sequence, which leaves nothing to ") + other,
        "leave one of them out");
}

void check_bucketing(const ReaderOptions& o) {
  if (o.bucket_minibatches == 0) return;
  check_one_line(o, "bucket_minibatches");
  if (o.pack.kind != Packing::sequences) {
    usage("bucket-packing",
          std::string("bucket_minibatches sorts sequences by length, which means nothing with packing of ") +
              (o.pack.kind == Packing::frames ? "frames" : "truncated sequences"),
          "pack sequences, or leave it out");
  }
  if (crosses_sweeps(o) && (o.cross_sweeps || o.last_minibatch == LastMinibatch::cross)) {
    usage("bucket-crossing", "bucket_minibatches cannot make minibatches that span two sweeps",
          "leave out `cross_sweeps` and `last_minibatch = cross`");
  }
  if (std::any_of(o.minibatch_size.begin(), o.minibatch_size.end(),
                  [&](std::uint64_t size) { return size != o.minibatch_size.front(); })) {
    usage("bucket-sizes", "bucket_minibatches needs one minibatch size, not a list of different ones",
          "pools are cut into minibatches of that size");
  }
}

void check_mixture(const ReaderOptions& o, std::size_t corpora) {
  if (o.mix_weights.empty() && corpora == 1) return;
  if (o.mix_weights.size() != corpora) {
    usage("mix-weights",
          counted(o.mix_weights.size(), "weight") + " (mix_weights) for " + std::to_string(corpora) +
              (corpora == 1 ? " corpus" : " corpora"),
          "give one for each");
  }
  order::check_weights(o.mix_weights);
  check_one_line(o, "mix_weights");
  if (o.epoch_sweeps != 0) {
    usage("mix-sweeps",
          "a mixture has no sweeps, so epoch_sweeps = " + std::to_string(o.epoch_sweeps) + " says nothing",
          "give `epoch_samples`");
  }
  if (o.cross_sweeps == false) {
    usage("mix-crossing", "cross_sweeps = false, but every corpus of a mixture runs through sweeps of its own",
          "leave it out");
  }
}

// Rows of HTKMLFReader are dealt to workers; frames are cut like other minibatches.
void check_legacy_shard(const ReaderOptions& o) {
  if (!o.legacy_speech || o.pack.kind == Packing::frames || o.workers == 1 || o.shard == Shard::chunk) return;
  usage("legacy-even", "HTKMLFReader deals whole rows of utterances to the workers, and cuts no minibatch evenly",
        "use `shard = chunk`");
}

}  // namespace

bool crosses_sweeps(const ReaderOptions& o) noexcept {
  if (o.cross_sweeps) return *o.cross_sweeps;
  return o.last_minibatch == LastMinibatch::cross || (o.driver == Driver::timeline && o.bucket_minibatches == 0);
}

std::optional<Notice> warn_of_starving(const ReaderOptions& o, std::uint64_t chunks, std::uint64_t sequences,
                                       std::uint64_t samples) {
  // In file order workers share sequences by number, wherever chunks end.
  const bool deals_rows = o.legacy_speech && o.pack.kind != Packing::frames;  // Shard::even is refused then
  if (o.shard == Shard::chunk && o.order.kind != OrderKind::file && chunks < o.workers) {
    return Notice{.severity = Severity::warning,
                  .fault = {.kind = FaultKind::usage,
                            .id = "reader.few-chunks",
                            .what = counted(chunks, "chunk") + " for " + counted(o.workers, "worker") +
                                    " that share by chunk: some go without data",
                            .hint = deals_rows ? "use fewer workers, or cut smaller chunks (`chunkSizeInBytes`)"
                                               : "share evenly (`shard = even`), or cut smaller chunks "
                                                 "(`chunkSizeInBytes`)"}};
  }
  if (o.shard != Shard::even || o.workers == 1 || o.pack.kind == Packing::truncated || sequences == 0)
    return std::nullopt;
  const std::uint64_t size = *std::min_element(o.minibatch_size.begin(), o.minibatch_size.end());
  const std::uint64_t mean = o.size_unit == SizeUnit::sequences ? 1 : std::max<std::uint64_t>(1, samples / sequences);
  const std::uint64_t in_one = std::max<std::uint64_t>(1, size / mean);
  if (in_one / 2 >= o.workers) return std::nullopt;
  return Notice{.severity = Severity::warning,
                .fault = {.kind = FaultKind::usage,
                          .id = "reader.few-sequences",
                          .what = "a minibatch of " + std::to_string(size) + " has about " +
                                  counted(in_one, "sequence") + " for " + counted(o.workers, "worker") +
                                  "; where there is none for everybody, some go without data",
                          .hint = "a size of " + std::to_string(mul_sat(2, mul_sat(o.workers, mean))) +
                                  " or more is on the safe side"}};
}

namespace {

// A minibatch that spans sweeps, of a corpus that comes again and again without an end, is as large as it was asked to
// be.
void check_repeats(const ReaderOptions& o, std::uint64_t samples, const Limits& limits) {
  if (o.one_sequence || o.legacy_speech || (!crosses_sweeps(o) && o.mix_weights.empty())) return;
  const std::uint64_t size =
      std::min(*std::max_element(o.minibatch_size.begin(), o.minibatch_size.end()), EpochTable(o, samples).size(0));
  const std::uint64_t most = add_sat(limits.implied_samples, mul_sat(16, samples));
  if (size <= most) return;
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.repeats",
                    .what = "a minibatch of " + std::to_string(size) + " would hold the corpus of " +
                            counted(samples, "sample") + " again and again",
                    .hint = "lower the minibatch size, or raise limits.implied_samples"});
}

}  // namespace

void check_gaps(const ReaderOptions& o, std::uint64_t samples, const Limits& limits) {
  if (o.pack.kind != Packing::truncated) return check_repeats(o, samples, limits);
  const std::uint64_t size = *std::max_element(o.minibatch_size.begin(), o.minibatch_size.end());
  const std::uint64_t rows =
      o.rows_per_epoch.empty() ? 1 : *std::max_element(o.rows_per_epoch.begin(), o.rows_per_epoch.end());
  // At least one row of truncation_length; without it, rows of the minibatch's size, as many as a list says.
  const std::uint64_t places = o.pack.truncation_length != 0 && !o.legacy_speech
                                   ? std::max(size, o.pack.truncation_length)
                                   : mul_sat(size, rows);
  const std::uint64_t most = std::min<std::uint64_t>(add_sat(limits.implied_samples, mul_sat(16, samples)), 0x7FFFFFFF);
  if (places <= most) return;
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.gaps",
                    .what = "a minibatch of truncated packing has " + std::to_string(places) +
                            " places, whatever there is to fill them; the corpus has " + counted(samples, "sample"),
                    .hint = "lower `truncationLength` and the minibatch size, or raise limits.implied_samples"});
}

void check_options(const ReaderOptions& o, std::size_t corpora) {
  check_workers(o);
  check_stride(o);
  check_sizes(o);
  check_truncated(o);
  check_one_sequence(o);
  check_bucketing(o);
  check_mixture(o, corpora);
  check_legacy_shard(o);
}

}  // namespace batchfeed::reader
