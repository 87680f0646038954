// SPDX-License-Identifier: MIT
//
// Sources that are measured, or that stand in for one where only its chunks and
// sequences count.
#pragma once

#include <batchfeed/source.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/shared_source.h"

namespace batchfeed {

// What read() took, in nanoseconds, of all threads, and how often it was called.
struct ReadTimes {
  std::atomic<std::uint64_t> wall = 0, cpu = 0, disk_wait = 0, calls = 0;
};

// Another source, whose read() is timed. Of many chunks only some are, evenly spread, and
// count for all of them: the clocks cost as much as a small chunk.
class TimedSource final : public SharedSource, private RowReader {
 public:
  TimedSource(std::shared_ptr<const Source> source, std::shared_ptr<ReadTimes> times);

  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    SharedSource::sequences(chunk, out);
  }
  void read(std::uint32_t chunk, Chunk& out) const override;
  const RowReader* row_reader(std::uint32_t chunk) const override {
    return SharedSource::row_reader(chunk) == nullptr ? nullptr : this;
  }

 private:
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    SharedSource::row_reader(chunk)->sequences(chunk, rows, out);
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override;
  bool may_be_narrow(std::uint32_t chunk, std::size_t stream) const override {
    return SharedSource::row_reader(chunk)->may_be_narrow(chunk, stream);
  }
  RowMemory row_memory(std::uint32_t chunk) const override {
    return SharedSource::row_reader(chunk)->row_memory(chunk);
  }
  template <class Read>
  void timed(std::uint32_t chunk, const Read& read) const;

  std::shared_ptr<ReadTimes> times_;
  std::uint64_t every_;
};

// The sequences of another source with hardly any data, `merge` of its chunks as one:
// what reading it takes is the price of chunks and sequences alone.
class HollowSource final : public Source {
 public:
  HollowSource(std::shared_ptr<const Source> source, std::size_t merge);

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override;
  void read(std::uint32_t chunk, Chunk& out) const override;
  bool splits_frames() const override { return source_->splits_frames(); }

 private:
  std::shared_ptr<const Source> source_;
  std::size_t merge_;
  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
};

}  // namespace batchfeed
