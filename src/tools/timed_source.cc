// SPDX-License-Identifier: MIT
#include "tools/timed_source.h"

#include <algorithm>

#include "tools/clocks.h"

namespace batchfeed {

namespace {

constexpr std::size_t kMostTimed = 4096;  // about the most chunks that are timed

std::uint64_t nanoseconds(double seconds) { return static_cast<std::uint64_t>(std::max(0.0, seconds) * 1e9); }

}  // namespace

TimedSource::TimedSource(std::shared_ptr<const Source> source, std::shared_ptr<ReadTimes> times)
    : SharedSource(std::move(source)), times_(std::move(times)), every_(1 + chunks().size() / kMostTimed) {}

void TimedSource::read(std::uint32_t chunk, Chunk& out) const {
  timed(chunk, [&] { SharedSource::read(chunk, out); });
}

void TimedSource::read(std::uint32_t chunk, RowRange rows, Chunk& out) const {
  timed(chunk, [&] { SharedSource::row_reader(chunk)->read(chunk, rows, out); });
}

template <class Read>
void TimedSource::timed(std::uint32_t chunk, const Read& read) const {
  ++times_->calls;
  if (chunk % every_ != 0) {
    read();
    return;
  }
  const std::uint64_t sleeps = clocks::thread_sleeps();
  const double queue = clocks::thread_core_wait(), cpu = clocks::thread_cpu(), wall = clocks::wall();
  read();
  const double took = clocks::wall() - wall, worked = clocks::thread_cpu() - cpu;
  times_->wall += every_ * nanoseconds(took);
  times_->cpu += every_ * nanoseconds(worked);
  // A thread that never slept has waited only for a core, whether another program took it or the host of a
  // virtual machine; the latter time is in no schedstat.
  if (clocks::thread_sleeps() != sleeps)
    times_->disk_wait += every_ * nanoseconds(took - worked - (clocks::thread_core_wait() - queue));
}

HollowSource::HollowSource(std::shared_ptr<const Source> source, std::size_t merge)
    : source_(std::move(source)), merge_(merge), streams_({{.name = "hollow", .dim = 1}}) {
  const std::vector<ChunkInfo>& all = source_->chunks();
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (c % merge_ == 0) chunks_.emplace_back();
    chunks_.back().sequences += all[c].sequences;
    chunks_.back().samples += all[c].samples;
    chunks_.back().bytes += all[c].bytes;
  }
}

void HollowSource::sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const {
  if (merge_ == 1) {
    source_->sequences(chunk, out);
    return;
  }
  out.clear();
  std::vector<SequenceInfo> part;
  std::uint32_t rows = 0;
  const std::size_t end = std::min((chunk + std::size_t{1}) * merge_, source_->chunks().size());
  for (std::size_t c = chunk * merge_; c < end; ++c) {
    source_->sequences(static_cast<std::uint32_t>(c), part);
    std::uint32_t next = rows;
    for (SequenceInfo& sequence : part) {
      sequence.row += rows;
      next = std::max(next, sequence.row + 1);
      out.push_back(sequence);
    }
    rows = next;
  }
}

void HollowSource::read(std::uint32_t chunk, Chunk& out) const {
  thread_local std::vector<SequenceInfo> table;
  sequences(chunk, table);
  out.reset(streams_);
  Column& column = out.columns[0];
  column.step = 0;  // one value stands for all samples
  const float zero = 0;
  column.values.append(reinterpret_cast<const std::byte*>(&zero), sizeof zero);
  std::sort(table.begin(), table.end(), [](const SequenceInfo& a, const SequenceInfo& b) { return a.row < b.row; });
  for (const SequenceInfo& sequence : table) {
    while (column.begin.size() < sequence.row) {  // rows that the table leaves out
      column.begin.push_back(0);
      column.first_sample.push_back(column.first_sample.back());
    }
    column.begin.push_back(0);
    column.first_sample.push_back(column.first_sample.back() + sequence.samples);
  }
}

}  // namespace batchfeed
