// SPDX-License-Identifier: MIT
//
// A corpus in memory, for tests: chunks of sequences given by their lengths. Keys count up
// from `first_key` through all chunks. Sample i of key k is 100 k + i.
#pragma once

#include <batchfeed/source.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace batchfeed::reader {

class MemorySource final : public Source {
 public:
  explicit MemorySource(const std::vector<std::vector<std::uint32_t>>& chunks, bool frames = false,
                        const std::string& name = "x", std::uint64_t first_key = 0)
      : frames_(frames), keys_(first_key) {
    streams_[0].name = name;
    for (const auto& lengths : chunks) {
      ChunkInfo info{.sequences = lengths.size(), .samples = 0, .bytes = 0};
      std::vector<SequenceInfo> table;
      for (const std::uint32_t n : lengths) {
        table.push_back({keys_++, static_cast<std::uint32_t>(table.size()), n});
        info.samples += n;
      }
      info.bytes = info.samples * sizeof(float);
      chunks_.push_back(info);
      tables_.push_back(std::move(table));
    }
  }

  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { out = tables_[chunk]; }
  bool splits_frames() const override { return frames_; }

  void read(std::uint32_t chunk, Chunk& out) const override {
    reads.fetch_add(1);
    if (hold) hold();
    if (delay_ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    if (bad_chunk == chunk)
      throw Error(
          Fault{.kind = FaultKind::format, .id = "test.bad", .what = "chunk " + std::to_string(chunk) + " is bad"});
    out.reset(streams_);
    Column& c = out.columns[0];
    for (const SequenceInfo& s : tables_[chunk]) {
      c.begin.push_back(c.values.size() / sizeof(float));
      c.first_sample.push_back(c.first_sample.back() + s.samples);
      for (std::uint32_t i = 0; i < s.samples; ++i) {
        const auto value = static_cast<float>(100 * s.key + i);
        c.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
      }
      if (is_damaged(s.key)) {
        out.invalid.resize(tables_[chunk].size(), Chunk::kValid);
        out.invalid[s.row] = Chunk::kUnpaid;
      }
    }
  }

  bool is_damaged(std::uint64_t key) const { return damaged_key == key || key < damaged_below; }

  std::optional<std::uint32_t> bad_chunk;    // read() throws for it
  std::optional<std::uint64_t> damaged_key;  // its row is invalid
  std::uint64_t damaged_below = 0;           // the rows of all keys below are invalid, too
  unsigned delay_ms = 0;                     // of each read
  std::function<void()> hold;                // called at the beginning of each read
  mutable std::atomic<std::uint64_t> reads{0};

 private:
  bool frames_;
  std::uint64_t keys_ = 0;
  std::vector<StreamInfo> streams_ = {{.name = "x", .dim = 1}};
  std::vector<ChunkInfo> chunks_;
  std::vector<std::vector<SequenceInfo>> tables_;
};

}  // namespace batchfeed::reader
