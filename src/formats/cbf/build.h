// SPDX-License-Identifier: MIT
//
// Sequences on their way into a chunk: one byte buffer a stream, in the layout it
// will have in the file. Refuses what the format cannot hold.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/cbf/header.h"

namespace batchfeed::cbf {

// One stream of one sequence, dense samples in a row or entries sample by sample.
struct Piece {
  std::uint32_t samples = 0;
  const std::byte* values = nullptr;  // of type `element`
  Element element = Element::f32;
  std::uint64_t step = 0;  // dense: elements from sample to sample
  const std::int32_t* indices = nullptr;
  std::vector<std::uint32_t> entries = {};  // sparse, of each sample
  std::uint64_t nnz = 0;
};

// How messages call a sequence that is written.
struct WrittenSequence {
  const std::string& path;
  std::uint64_t number;
  std::string text() const { return "sequence " + std::to_string(number); }
};

// One chunk in the making.
class ChunkBuilder {
 public:
  // The file counts a chunk's samples in 32 bits; `most` may be less.
  ChunkBuilder(const std::vector<StreamInfo>& streams, Layout layout, std::uint64_t most = 0xFFFFFFFF);

  // Throws Error (usage) and leaves the chunk as it was, or adds the sequence.
  void append(const std::vector<Piece>& sequence, const WrittenSequence& who);
  // Bytes of the chunk with one more sequence like this.
  std::uint64_t size_with(const std::vector<Piece>& sequence) const;
  std::uint64_t size() const;
  // Reserves `times` the bytes that each stream has now.
  void expect(std::uint64_t times);

  std::uint32_t sequences() const noexcept { return static_cast<std::uint32_t>(lengths_.size()); }
  std::uint64_t samples() const noexcept { return samples_; }

  // Hands the bytes of the chunk, in order, to `sink(span)` and empties it.
  template <class Sink>
  void flush(Sink&& sink) {
    if (layout_ == Layout::modern) sink(std::as_bytes(std::span(lengths_)));
    for (Stream& stream : streams_) {
      finish(stream);
      sink(std::span<const std::byte>(stream.data.span()));
    }
    clear();
  }

 private:
  struct Stream {
    StreamInfo info;
    Buffer<std::byte> data;          // modern: as in the file. legacy: values
    std::vector<std::int32_t> rows;  // legacy sparse
    std::vector<std::int32_t> columns = {0};
  };

  void check(const std::vector<Piece>& sequence, const WrittenSequence& who) const;
  void check_pointers(const Stream& stream, const Piece& piece, const WrittenSequence& who) const;
  void check_indices(const Stream& stream, const Piece& piece, const WrittenSequence& who) const;
  void check_legacy(const Stream& stream, const Piece& piece, const WrittenSequence& who) const;
  void add_dense(Stream& stream, const Piece& piece);
  void add_sparse(Stream& stream, const Piece& piece);
  void sort_entries(const Piece& piece);
  void add_values(Stream& stream, const Piece& piece, const std::byte* from, std::size_t n);
  void finish(Stream& stream);
  void clear();

  Layout layout_;
  std::uint64_t most_;  // samples
  std::vector<Stream> streams_;
  std::vector<std::uint32_t> lengths_;
  std::uint64_t samples_ = 0;
  std::vector<std::uint32_t> order_;  // scratch of sort_entries
  Buffer<std::byte> sorted_values_;
  std::vector<std::int32_t> sorted_indices_;
};

// Throws Error (usage) if a file cannot have these streams.
void check_streams(const std::vector<StreamInfo>& streams, const std::string& path);

}  // namespace batchfeed::cbf
