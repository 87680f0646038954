// SPDX-License-Identifier: MIT
//
// What stands in front of and behind the data: streams and chunk table, brought
// to one form for both layouts. Everything in it has been compared with the size
// of the file; nothing of the data has been touched.
//
//   modern   u64 magic, u32 version | chunks | u64 magic, u32 chunks, u32 streams,
//            streams, rows | i64 offset of the header
//     stream u8 encoding, u32 name length, name, u8 element, u32 dim
//     row    i64 offset (absolute), u32 sequences, u32 samples
//   legacy   i64 version, i64 chunks, i32 streams, streams, rows | chunks
//     stream i32 name length, name, i32 kind, [i32 storage if sparse,] i32 element,
//            [i32 is-sequence if sparse,] i32 dim
//     row    i64 offset (from the start of the data), i32 sequences, i32 samples
#pragma once

#include <batchfeed/limits.h>
#include <batchfeed/schema.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/file.h"
#include "model/fault_sink.h"

namespace batchfeed::cbf {

inline constexpr std::uint64_t kMagic = 0x636e746b5f62696e;  // the bytes "nib_ktnc"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint64_t kPrefixBytes = 12;
inline constexpr std::uint64_t kTrailerBytes = 8;
inline constexpr std::uint64_t kHeaderBytes = 16;  // in front of the streams
inline constexpr std::uint64_t kStreamBytes = 10;  // of a stream, and its name
inline constexpr std::uint64_t kRowBytes = 16;

enum class Layout : std::uint8_t { modern, legacy };

struct FileStream {
  std::string name;
  Storage storage = Storage::dense;
  Element element = Element::f32;
  std::uint32_t dim = 0;
  std::uint64_t element_at = 0;  // offset of the element type, for messages
};

struct FileChunk {
  std::uint64_t at = 0;              // offset of its row in the table
  std::uint64_t begin = 0, end = 0;  // absolute
  std::uint32_t sequences = 0;
  std::uint32_t samples = 0;
};

struct Header {
  Layout layout = Layout::modern;
  std::vector<FileStream> streams;
  std::vector<FileChunk> chunks;

  std::size_t sparse_stream() const;  // the first one; the number of streams, if there is none
};

// Values, or samples, that a chunk may have of one stream.
inline std::uint64_t most_values(const Limits& limits) noexcept {
  return std::min<std::uint64_t>(limits.chunk_values, 0xFFFFFFFFu);
}

// Throws Error for what is fatal; what is only odd goes to the sink.
Header read_header(const io::File& file, const Limits& limits, FaultSink& sink);

}  // namespace batchfeed::cbf
