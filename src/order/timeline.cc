// SPDX-License-Identifier: MIT
//
// Options to timelines, and what all of them check.
#include <string>

#include "order/block_timeline.h"
#include "order/cntk_order.h"
#include "order/file_order.h"
#include "order/uniform_order.h"

namespace batchfeed::order {
namespace {

[[noreturn]] void refuse(const char* id, std::string what, std::string hint) {
  throw Error(Fault{.kind = FaultKind::usage, .id = id, .what = std::move(what), .hint = std::move(hint)});
}

std::uint64_t identity(const OrderOptions& options) {
  return mix64(static_cast<std::uint64_t>(options.kind) +
               mix64(options.seed + mix64(options.window + (options.window_in_samples ? mix64(1) : 0))));
}

}  // namespace

void check_limits(std::uint64_t global_limit, std::uint64_t local_limit) {
  if (global_limit == 0 || local_limit == 0) {
    refuse("order.minibatch-size", "the minibatch size is 0", "it must be at least 1 sample");
  }
}

void check_workers(std::uint64_t workers, std::uint64_t rank) {
  if (workers == 0) refuse("order.workers", "the number of workers is 0", "it must be at least 1");
  if (rank >= workers) {
    refuse("order.rank",
           "rank " + std::to_string(rank) + " is not below the number of workers, " + std::to_string(workers),
           "ranks count from 0");
  }
}

void check_epoch(std::uint64_t size) {
  if (size == 0) refuse("order.epoch-size", "the epoch size is 0 samples", "it must be at least 1 sample");
}

std::unique_ptr<Timeline> make_timeline(const Corpus& corpus, const OrderOptions& options, bool cross_sweeps,
                                        std::uint64_t workers, std::uint64_t rank, bool own_first) {
  if (corpus.total_samples() == 0) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "order.empty-corpus",
                      .what = "the corpus has no samples",
                      .hint = "check the paths, and whether the sources have keys in common"});
  }
  switch (options.kind) {
    case OrderKind::file: return std::make_unique<FileTimeline>(corpus, cross_sweeps, workers, rank);
    case OrderKind::cntk:
      return std::make_unique<BlockTimeline<CntkSweep>>(CntkSweep(corpus, options), identity(options), cross_sweeps,
                                                        workers, rank, own_first);
    case OrderKind::uniform: break;
  }
  return std::make_unique<BlockTimeline<UniformSweep>>(UniformSweep(corpus, options), identity(options), cross_sweeps,
                                                       workers, rank, own_first);
}

}  // namespace batchfeed::order
