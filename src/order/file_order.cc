// SPDX-License-Identifier: MIT
#include "order/file_order.h"

#include <algorithm>

#include "base/rng.h"
#include "base/saturate.h"
#include "order/block_timeline.h"

namespace batchfeed::order {

FileTimeline::FileTimeline(const Corpus& corpus, bool cross_sweeps, std::uint64_t workers, std::uint64_t rank)
    : corpus_(&corpus), cross_sweeps_(cross_sweeps) {
  starts_.samples.push_back(0);
  starts_.sequences.push_back(0);
  for (std::uint32_t c = 0; c < corpus.chunks(); ++c) {
    starts_.samples.push_back(starts_.samples.back() + corpus.samples(c));
    starts_.sequences.push_back(starts_.sequences.back() + corpus.sequences(c));
  }
  set_workers(workers, rank);
  begin_epoch(0, kWholeSet);
}

void FileTimeline::begin_epoch(std::uint64_t begin, std::uint64_t size) {
  check_epoch(size);
  end_ = add_sat(begin, size);
  workers_ = next_workers_;
  rank_ = next_rank_;
  seek(begin);
  first_sweep_ = position_ / corpus_->total_samples();
  number_ = starts_.sequences[chunk_] + row_;
  renumbered_ = 0;
}

void FileTimeline::set_past(const Past& past) {
  renumbered_ = past.renumbered;
  if (renumbered_ != 0) first_sweep_ = renumbered_ - 1;
}

void FileTimeline::restore(std::uint64_t position) {
  workers_ = next_workers_;
  rank_ = next_rank_;
  seek(position);
  const std::uint64_t sweep = position_ / corpus_->total_samples();
  number_ = starts_.sequences[chunk_] + row_;
  if (sweep > first_sweep_) number_ += (sweep - first_sweep_) * corpus_->total_sequences();
}

void FileTimeline::set_workers(std::uint64_t workers, std::uint64_t rank) {
  check_workers(workers, rank);
  next_workers_ = workers;
  next_rank_ = rank;
}

// To the first sequence that starts at or behind `position`.
void FileTimeline::seek(std::uint64_t position) {
  const std::uint64_t offset = position % corpus_->total_samples();
  const std::vector<std::uint64_t>& starts = starts_.samples;
  const auto at = std::upper_bound(starts.begin(), starts.end() - 1, offset);
  enter(static_cast<std::uint32_t>(at - starts.begin()) - 1);
  std::uint64_t sample = starts[chunk_];
  while (sample < offset) {
    sample += table_->samples(row_);
    step();
  }
  position_ = position - offset + sample;
}

// Passes over chunks without sequences; the corpus has at least one with some.
void FileTimeline::enter(std::uint32_t chunk) {
  while (chunk == corpus_->chunks() || corpus_->sequences(chunk) == 0) {
    chunk = chunk == corpus_->chunks() ? 0 : chunk + 1;
  }
  if (!table_ || table_->chunk() != chunk) table_ = std::make_shared<const Table>(*corpus_, chunk);
  chunk_ = chunk;
  row_ = 0;
}

void FileTimeline::step(std::uint32_t rows) {
  row_ += rows;
  if (row_ == table_->size()) enter(chunk_ + 1);
}

// The rows from the cursor on that begin in the epoch and have at most `limit` samples; with `need_one` the first may
// have more.
FileTimeline::Stretch FileTimeline::stretch_within(std::uint64_t limit, bool need_one) const {
  const Table& table = *table_;
  const std::uint64_t to_end = end_ - position_;
  Stretch out;
  while (row_ + out.rows < table.size() && out.samples < limit && out.samples < to_end) {
    const std::uint32_t samples = table.samples(row_ + out.rows);
    if (out.samples + samples > limit && !(need_one && out.rows == 0)) break;
    out.samples += samples;
    ++out.rows;
  }
  return out;
}

void FileTimeline::next(std::uint64_t global_limit, std::uint64_t local_limit, Batch& out) {
  check_limits(global_limit, local_limit);
  const std::uint64_t sweep_samples = corpus_->total_samples();
  const std::uint64_t in_sweep = position_ % sweep_samples;
  out.items.clear();
  out.position = position_;
  if (position_ >= end_) {
    out.end_of_epoch = true;
    out.end_of_sweep = position_ >= sweep_samples && in_sweep == 0;
    report_window(chunk_, 1, out);
    return;
  }
  if (!cross_sweeps_) global_limit = std::min(global_limit, sweep_samples - in_sweep);
  const std::uint32_t first_chunk = chunk_;
  std::uint64_t visited = 1;
  std::uint64_t global = 0;
  std::uint64_t local = 0;
  bool need_one = true;
  while (global < global_limit && local < local_limit && position_ < end_) {
    // A worker alone takes a stretch at once, others look at row after row.
    const bool alone = workers_ == 1, mine = alone || number_ % workers_ == rank_;
    const std::uint64_t limit = mine ? std::min(global_limit - global, local_limit - local) : global_limit - global;
    const Stretch stretch = alone ? stretch_within(limit, need_one) : Stretch{1, table_->samples(row_)};
    if (stretch.rows == 0 || (!need_one && stretch.samples > limit)) break;
    if (mine) {
      table_->append(row_, row_ + stretch.rows, out.items);
      local += stretch.samples;
      need_one = false;
    }
    global += stretch.samples;
    position_ += stretch.samples;
    number_ += stretch.rows;
    const std::uint32_t before = chunk_;
    step(stretch.rows);
    if (row_ == 0) visited += chunk_ > before ? chunk_ - before : corpus_->chunks() - before + chunk_;
  }
  out.end_of_epoch = position_ >= end_;
  out.end_of_sweep = position_ / sweep_samples != (out.position / sweep_samples);
  out.position = position_;
  report_window(first_chunk, visited, out);
}

void FileTimeline::report_window(std::uint32_t first_chunk, std::uint64_t visited, Batch& out) const {
  const std::uint32_t chunks = corpus_->chunks();
  const std::uint64_t count = std::min<std::uint64_t>(visited, chunks);
  const std::uint64_t number = mix64(first_chunk + mix64(count)) | 1;
  if (out.window_generation == number) return;
  out.window_generation = number;
  out.window.clear();
  for (std::uint64_t i = 0; i < count; ++i) {
    out.window.push_back(static_cast<std::uint32_t>((first_chunk + i) % chunks));
  }
}

}  // namespace batchfeed::order
