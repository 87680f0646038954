// SPDX-License-Identifier: MIT
//
// The Source of one text file: its index in memory, its bytes on disk.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/ctf/blocks.h"
#include "formats/ctf/counted_once.h"
#include "formats/ctf/index.h"
#include "formats/ctf/line_map.h"
#include "formats/ctf/schema.h"
#include "index_cache/index_cache.h"
#include "io/file.h"
#include "model/fault_sink.h"
#include "model/open_context.h"

namespace batchfeed::ctf {

class CtfSource final : public Source, private RowReader {
 public:
  struct Tuning {
    std::size_t block = LineBlocks::kBlock;  // size of the reads; tests make it tiny
    std::uint64_t range = 8ull << 20;        // least part of the file that a thread indexes
    bool every_line = false;                 // is looked at by the index (see RangeIndexer)
    bool cache_index = false;                // whatever the options say
    bool rebuild_cache = false;              // do not look for a cache, write a new one
  };
  CtfSource(const CtfOptions& options, const std::string& file, const OpenContext& context)
      : CtfSource(options, file, context, Tuning()) {}
  CtfSource(const CtfOptions& options, const std::string& file, const OpenContext& context, const Tuning& tuning);

  const std::vector<StreamInfo>& streams() const override { return schema_.streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { sequences(run_of(chunk), out); }
  void read(std::uint32_t chunk, Chunk& out) const override { read(run_of(chunk), out); }
  // What has to be fetched or unpacked is better read in large parts.
  const RowReader* row_reader(std::uint32_t /*chunk*/) const override {
    return file_.is_remote() || file_.is_compressed() ? nullptr : this;
  }
  std::string key_text(std::uint64_t key) const override { return context_.keys->text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override;
  std::vector<std::string> files() const override { return {file_.path()}; }
  std::uint64_t fingerprint() const override;
  std::vector<Notice> notices() const override;

  const Index& index() const noexcept { return index_; }
  std::uint64_t errors() const { return sink_.errors(); }

  // What became of the index cache, where one was asked for.
  struct CacheState {
    bool used = false;
    std::string path;  // of the cache used or written; empty: none could be written
    std::string why;   // an existing one was not used
  };
  const CacheState& cache() const noexcept { return cache_; }

 private:
  void look_at_end();
  void make_index(bool skip_sequence_ids);
  bool load_index(const index_cache::Binding& binding, const std::vector<std::string>& places);
  void store_index(const index_cache::Binding& binding, const std::vector<std::string>& places);
  bool text_keys() const noexcept { return context_.keys->mode() != KeyMode::numeric; }
  // Sequences of the index, all of one chunk.
  struct Run {
    std::uint32_t chunk;
    std::size_t first, last;
  };
  Run run_of(std::uint32_t chunk) const {
    return {chunk, static_cast<std::size_t>(index_.chunk_first[chunk]),
            static_cast<std::size_t>(index_.chunk_first[chunk + 1])};
  }
  Run run_of(std::uint32_t chunk, RowRange rows) const {
    const std::size_t first = run_of(chunk).first;
    return {chunk, first + rows.first, first + rows.last};
  }
  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    sequences(run_of(chunk, rows), out);
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override { read(run_of(chunk, rows), out); }
  bool may_be_narrow(std::uint32_t chunk, std::size_t stream) const override;
  void sequences(Run run, std::vector<SequenceInfo>& out) const;
  void read(Run run, Chunk& out) const;
  // Errors of rows that were `counted` before are not reported again.
  void read(Run run, Chunk& out, const CountedOnce::Before& counted) const;
  // Closes the errors of a run that was read ahead of its turn (ErrorsAhead).
  void close_ahead(Run run, const CountedOnce::Before& counted) const;
  // Reads the run; `row` counts the sequences that were read.
  template <class T>
  void parse(Run run, Chunk& out, const CountedOnce::Before& counted, std::size_t& row) const;
  std::string line_at(std::uint64_t byte) const;

  Schema schema_;
  Element element_;
  int trace_level_;
  OpenContext context_;
  io::File file_;
  Tuning tuning_;
  CacheState cache_;
  bool indexed_ = false;      // the index was built now, not loaded from a cache
  bool ends_in_nul_ = false;  // which was told at open
  Start start_;
  Index index_;
  IndexNotes notes_;
  std::vector<ChunkInfo> chunks_;

  mutable FaultSink sink_;
  mutable LineMap lines_;
  mutable std::optional<CountedOnce> counted_once_;  // set at open
  mutable std::mutex short_mutex_;
  mutable std::set<std::pair<std::uint32_t, std::size_t>> told_short_;  // chunks and streams
};

}  // namespace batchfeed::ctf
