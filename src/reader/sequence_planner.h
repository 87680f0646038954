// SPDX-License-Identifier: MIT
//
// Answers made of whole sequences or single frames.
#pragma once

#include <batchfeed/options.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "order/timeline.h"
#include "reader/epoch_table.h"
#include "reader/plan.h"

namespace batchfeed::reader {

// The order's batches become answers. With Shard::even one batch is drawn ahead, so
// that a small last one can be evened out with the one before it. Drawing again from a
// position gives the same batch, so states need not hold the one drawn ahead.
class SequencePlanner final : public Planner {
 public:
  // `timeline`: that of this worker; with Shard::even that of a single worker, which all share.
  // `expect_running`: called before each batch that is drawn because all of the one before it was left out; throws to
  // give up.
  SequencePlanner(std::unique_ptr<order::Timeline> timeline, std::uint64_t sweep_samples, const ReaderOptions& options,
                  std::function<void()> expect_running = {});

  void begin_epoch(std::uint64_t epoch) override;
  void restore(const Mark& mark) override;
  std::vector<std::uint32_t> first_chunks(std::size_t most) const override { return timeline_->first_chunks(most); }
  void next(Plan& out) override;

 private:
  struct Drawn {
    order::Batch batch;
    std::uint64_t begin = 0;  // position before the batch; batch.position is behind it
    Padding padding;          // as the timeline had counted it behind this batch
  };

  void enter(std::uint64_t epoch, bool behind_another);
  void advance();
  void draw(std::uint64_t size, Drawn& out);
  void draw_samples(std::uint64_t size, Drawn& out);
  void draw_one_by_one(std::uint64_t size, Drawn& out);
  bool is_last(const order::Batch& batch) const noexcept;
  void draw_again();
  void even_out(std::uint64_t size);
  bool ends_sweep(std::uint64_t begin, std::uint64_t end) const noexcept;
  void emit(const order::Item& item, std::uint64_t size, Plan& out);
  void keep_own(Plan& out);
  void expect_some(std::uint64_t size, std::uint64_t skipped_samples) const;
  bool is_short_legacy(std::uint64_t size) const noexcept;
  void drop_partial(std::uint64_t size, Plan& out);
  void count_padding();
  std::uint64_t own_size(std::uint64_t size) const noexcept;
  Padding counted() const;

  std::unique_ptr<order::Timeline> timeline_;
  ReaderOptions options_;
  EpochTable epochs_;
  std::uint64_t sweep_samples_;
  bool crosses_;
  std::function<void()> expect_running_;
  Drawn now_;    // for this answer
  Drawn ahead_;  // for the next, if has_ahead_
  bool has_ahead_ = false;
  std::uint64_t drawn_to_ = 0;  // position behind the last batch drawn
  order::Batch one_, pending_;  // drawn one by one; the pending one did not fit
  bool has_pending_ = false;
  Padding padding_;  // what the timeline had counted when mark_ was last brought up to date
};

}  // namespace batchfeed::reader
