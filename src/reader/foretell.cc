// SPDX-License-Identifier: MIT
//
// What a reader will give, without reading: plans, and how many minibatches there are.
#include <algorithm>
#include <exception>
#include <map>

#include "reader/impl.h"

namespace batchfeed {

using namespace reader;

namespace {

void plan_next(Planner& planner, const Source& source, Plan& out) {
  try {
    planner.next(out);
  } catch (const TooLong& sequence) {
    std::rethrow_exception(located(sequence, source));
  }
}

}  // namespace

std::vector<BatchPlan> Reader::plan(std::uint64_t minibatches) const {
  std::vector<BatchPlan> out;
  plan(minibatches, [&](const BatchPlan& batch) { out.push_back(batch); });
  return out;
}

void Reader::plan(std::uint64_t minibatches, const std::function<void(const BatchPlan&)>& each) const {
  constexpr std::size_t kMostKeys = 64;  // chunks whose keys are held beside the window's
  const std::unique_ptr<Planner> planner = impl_->make_planner(false);
  planner->enter(impl_->mark);
  Plan plan;
  BatchPlan batch;
  std::vector<SequenceInfo> table;
  std::map<std::uint32_t, std::vector<std::uint64_t>> keys;  // of each chunk, by row
  std::vector<std::uint32_t> window;                         // sorted: it may have a hundred thousand chunks
  for (std::uint64_t i = 0; i < minibatches; ++i) {
    plan_next(*planner, *impl_->as_read, plan);
    batch.position = plan.after.position;
    batch.end_of_epoch = plan.end_of_epoch;
    batch.end_of_sweep = plan.end_of_sweep;
    batch.items.clear();
    for (const PlanItem& item : plan.items) {
      // A shuffled order jumps between chunks, so each table is looked at once only.
      const auto [found, fresh] = keys.try_emplace(item.chunk);
      if (fresh) {
        impl_->as_read->sequences(item.chunk, table);
        found->second.reserve(table.size());
        for (const SequenceInfo& sequence : table) {
          if (sequence.row >= found->second.size()) found->second.resize(sequence.row + 1);
          found->second[sequence.row] = sequence.key;
        }
      }
      BatchPlan::Item& to = batch.items.emplace_back();
      const Pieces::Part part = impl_->corpora.in_source(item.chunk);
      to.chunk = part.chunk;
      to.row = part.rows.first + item.row;
      to.key = item.row < found->second.size() ? found->second[item.row] : 0;
      to.samples = item.samples;
      if (impl_->frames) to.frame = item.first;
      to.corpus = impl_->corpora.part_of(item.chunk);
    }
    each(batch);
    if (plan.end_of_epoch) break;
    if (keys.size() > 2 * plan.window.size() + kMostKeys) {  // those that the order has left behind
      window = plan.window;
      std::sort(window.begin(), window.end());
      std::erase_if(keys,
                    [&](const auto& chunk) { return !std::binary_search(window.begin(), window.end(), chunk.first); });
    }
  }
}

namespace {

std::uint64_t count_to_end(Planner& planner, const Source& source, bool with_empty) {
  std::uint64_t n = 0;
  Plan plan;
  do {
    plan_next(planner, source, plan);
    if (with_empty || !plan.items.empty()) ++n;
  } while (!plan.end_of_epoch);
  return n;
}

}  // namespace

std::uint64_t Reader::num_minibatches(std::uint64_t epoch) const {
  if (impl_->has_no_end(epoch)) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "reader.endless",
                      .what = "a run without end has no number of minibatches",
                      .hint = "give `epoch_samples` or `epoch_sweeps`"});
  }
  const std::unique_ptr<Planner> planner = impl_->make_planner(false);
  if (impl_->mark.follows && impl_->mark.epoch == epoch) {
    planner->enter(impl_->mark);
  } else {
    planner->begin_epoch(epoch);
  }
  return count_to_end(*planner, *impl_->as_read, true);
}

std::uint64_t Reader::remaining() const {
  if (impl_->mark.ended) return 0;
  if (impl_->has_no_end(impl_->mark.epoch)) return ~0ull;
  const std::unique_ptr<Planner> planner = impl_->make_planner(false);
  planner->enter(impl_->mark);
  return count_to_end(*planner, *impl_->as_read, false);
}

}  // namespace batchfeed
