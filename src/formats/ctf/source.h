// SPDX-License-Identifier: MIT
//
// The Source of one text file: its index in memory, its bytes on disk.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/source.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "formats/ctf/index.h"
#include "formats/ctf/line_map.h"
#include "formats/ctf/schema.h"
#include "io/file.h"
#include "model/fault_sink.h"
#include "model/open_context.h"

namespace batchfeed::ctf {

class CtfSource final : public Source {
 public:
  // `block` is the size of the reads; tests make it tiny.
  CtfSource(const CtfOptions& options, const std::string& file, const OpenContext& context, std::size_t block = 512 << 10);

  const std::vector<StreamInfo>& streams() const override { return schema_.streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override;
  void read(std::uint32_t chunk, Chunk& out) const override;
  std::string key_text(std::uint64_t key) const override { return context_.keys->text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override;
  std::uint64_t fingerprint() const override;
  std::vector<Notice> notices() const override;

  const Index& index() const noexcept { return index_; }
  std::uint64_t errors() const { return sink_.errors(); }

 private:
  template <class T>
  void parse(std::uint32_t chunk, Chunk& out, bool quiet) const;
  Buffer<char> borrow() const;
  void give_back(Buffer<char> buffer) const;

  Schema schema_;
  CtfOptions options_;
  OpenContext context_;
  io::File file_;
  std::size_t block_;
  Start start_;
  Index index_;
  IndexNotes notes_;
  std::vector<ChunkInfo> chunks_;

  mutable FaultSink sink_;
  mutable LineMap lines_;
  // Per chunk: its errors were counted, or are being counted.
  mutable std::unique_ptr<std::atomic<bool>[]> counted_;
  mutable std::mutex buffers_mutex_;
  mutable std::vector<Buffer<char>> buffers_;  // for reuse
};

// What binds data to an index or a state: the size and samples of the bytes,
// from head, tail and places between.
std::uint64_t content_fingerprint(const io::File& file);

}  // namespace batchfeed::ctf
