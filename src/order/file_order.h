// SPDX-License-Identifier: MIT
//
// The files' own order on the endless line of sweeps (minibatch.md 7). Workers
// share by running sequence number; chunk boundaries play no role.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "order/table.h"

namespace batchfeed::order {

class FileTimeline final : public Timeline {
 public:
  FileTimeline(const Corpus& corpus, bool cross_sweeps, std::uint64_t workers, std::uint64_t rank);

  void begin_epoch(std::uint64_t begin, std::uint64_t size) override;
  void restore(std::uint64_t position) override;
  void set_workers(std::uint64_t workers, std::uint64_t rank) override;
  void next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) override;
  std::uint64_t position() const override { return position_; }
  Past past() const override { return {.renumbered = renumbered_}; }
  void set_past(const Past& past) override;

 private:
  // Where each chunk begins, and the last one ends.
  struct Starts {
    std::vector<std::uint64_t> samples, sequences;
  };

  // Rows of this chunk from the cursor on.
  struct Stretch {
    std::uint32_t rows = 0;
    std::uint64_t samples = 0;
  };

  void seek(std::uint64_t position);
  void enter(std::uint32_t chunk);
  void step(std::uint32_t rows = 1);
  Stretch stretch_within(std::uint64_t limit, bool need_one) const;
  void report_window(std::uint32_t first_chunk, std::uint64_t visited, Batch& out) const;

  const Corpus* corpus_;
  bool cross_sweeps_;
  Starts starts_;
  std::uint64_t workers_ = 1, rank_ = 0;
  std::uint64_t next_workers_ = 1, next_rank_ = 0;
  std::uint64_t end_ = 0, position_ = 0;
  // Sequence numbers count from the sweep in which the epoch began, or that `renumbered_` names,
  // and run on over sweep ends, so that restoring finds the number an uninterrupted run has.
  std::uint64_t first_sweep_ = 0, number_ = 0, renumbered_ = 0;

  std::shared_ptr<const Table> table_;  // of the chunk at the cursor
  std::uint32_t chunk_ = 0, row_ = 0;
};

}  // namespace batchfeed::order
