// SPDX-License-Identifier: MIT
//
// A planner of which only every n-th answer has data (ReaderOptions::stride): the
// others are planned, so that places and epochs are the same for all, but read nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "reader/plan.h"

namespace batchfeed::reader {

class DealtPlanner final : public Planner {
 public:
  DealtPlanner(std::unique_ptr<Planner> inner, std::uint64_t stride, std::uint64_t offset)
      : inner_(std::move(inner)), stride_(stride), offset_(offset) {}

  void begin_epoch(std::uint64_t epoch) override { inner_->begin_epoch(epoch); }
  void restore(const Mark& mark) override { inner_->restore(mark); }
  std::vector<std::uint32_t> first_chunks(std::size_t most) const override { return inner_->first_chunks(most); }
  bool draws_ahead() const override { return inner_->draws_ahead(); }
  void count_on(const Mark& mark) override { inner_->count_on(mark); }
  void next(Plan& out) override {
    inner_->next(out);
    if (out.index % stride_ == offset_) return;
    out.items.clear();
    out.parts.clear();
  }

 private:
  std::unique_ptr<Planner> inner_;
  std::uint64_t stride_, offset_;
};

}  // namespace batchfeed::reader
