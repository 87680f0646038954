// SPDX-License-Identifier: MIT
//
// A source with one stream whose chunks are runs of an index's entries, a row each. It can read
// any rows of a chunk; a whole chunk is read as all of its rows.
#pragma once

#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/working_folder.h"
#include "model/fault_sink.h"
#include "model/open_context.h"
#include "model/stream_faults.h"

namespace batchfeed {

class RowSource : public Source, protected RowReader {
 public:
  const std::vector<StreamInfo>& streams() const final { return streams_; }
  const std::vector<ChunkInfo>& chunks() const final { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const final { table(all(chunk), out); }
  void read(std::uint32_t chunk, Chunk& out) const final { fetch(all(chunk), out); }
  std::string key_text(std::uint64_t key) const final { return keys_->text(key); }
  std::vector<Notice> notices() const final {
    std::vector<Notice> all = left_out_;
    for (Notice& n : faults_.finish()) all.push_back(std::move(n));
    return all;
  }

 protected:
  // Entries of the index, all of one chunk: [from, to).
  struct Run {
    std::uint32_t chunk;
    std::uint64_t from, to;
  };

  // `file` is named where damage is summed up.
  RowSource(const std::string& file, int trace_level, const OpenContext& context)
      : limits_(context.limits),
        keys_(context.keys),
        file_system_(from_here(context.file_system)),
        check_(context.check),
        faults_(file, check_ ? ~0ull : 0, trace_level, context.report, check_ ? 0 : FaultSink::kPerId,
                context.count_only) {}

  // With the working directory of now as the base of relative paths: files are opened again later.
  static FileSystem from_here(FileSystem files) {
    if (files.folder.empty()) files.folder = working_folder();
    return files;
  }

  // Throws Error(limit) if it is too wide.
  void set_stream(StreamInfo stream) {
    expect_dim(stream.name, stream.dim, limits_);
    streams_ = {std::move(stream)};
  }
  // Behind the chunks added before.
  void add_chunk(const ChunkInfo& chunk) {
    chunks_.push_back(chunk);
    first_.push_back(first_.back() + chunk.sequences);
  }

  void drop_chunks() {
    chunks_.clear();
    first_ = {0};
  }

  // The first entry of a chunk.
  std::uint64_t first(std::uint32_t chunk) const noexcept { return first_[chunk]; }
  // What row_reader() gives for a chunk that may be cut.
  const RowReader* by_rows() const noexcept { return this; }

  // RowReader::sequences() and read() of a run.
  virtual void table(Run run, std::vector<SequenceInfo>& out) const = 0;
  virtual void fetch(Run run, Chunk& out) const = 0;

  const Limits limits_;
  const std::shared_ptr<KeyTable> keys_;
  const FileSystem file_system_;
  const bool check_;
  mutable FaultSink faults_;
  std::vector<Notice> left_out_;  // what the index says

 private:
  Run all(std::uint32_t chunk) const { return {chunk, first_[chunk], first_[chunk + 1]}; }
  Run some(std::uint32_t chunk, RowRange rows) const {
    return {chunk, first_[chunk] + rows.first, first_[chunk] + rows.last};
  }
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const final {
    table(some(chunk, rows), out);
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const final { fetch(some(chunk, rows), out); }

  std::vector<StreamInfo> streams_;
  std::vector<ChunkInfo> chunks_;
  std::vector<std::uint64_t> first_ = {0};  // entry of each chunk, and the end
};

// The table of a run of entries that have a key and, in `length`, their number of samples.
template <class Entries, class Entry = typename Entries::value_type>
void list_rows(const Entries& entries, std::uint32_t Entry::*length, std::uint64_t from, std::uint64_t to,
               std::vector<SequenceInfo>& out) {
  out.clear();
  out.reserve(static_cast<std::size_t>(to - from));
  for (std::uint64_t i = from; i < to; ++i)
    out.push_back({entries[i].key, static_cast<std::uint32_t>(i - from), entries[i].*length});
}

}  // namespace batchfeed
