// SPDX-License-Identifier: MIT
//
// Writes a corpus in the CNTK binary or text format, sequence by sequence.
//
//   batchfeed::CbfWriter writer("train.cbf", {.streams = {{.name = "x", .dim = 2}}});
//   const float x[] = {1, 2, 3, 4};
//   const batchfeed::SequenceData sequence[] = {{.samples = 2, .values = x}};
//   writer.append(sequence);
//   writer.commit();
#pragma once

#include <batchfeed/schema.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// For callers who end the process without unwinding it, as a signal handler does with _exit(): removes the temporary
// files of everything that is being written, which cannot be committed afterwards. Async-signal-safe.
void remove_unfinished_files() noexcept;

// One stream of one sequence. The pointers need to live only during append().
struct SequenceData {
  std::uint32_t samples = 0;
  const void* values = nullptr;            // of the stream's element. dense: samples x dim; sparse: all entries
  const std::int32_t* indices = nullptr;   // sparse: of each entry, below dim
  const std::uint32_t* entries = nullptr;  // sparse: number of entries of each sample
};

struct CbfWriterOptions {
  std::vector<StreamInfo> streams = {};
  // A chunk is closed before it would grow beyond this; one sequence may be larger.
  std::uint64_t chunk_bytes = 32ull << 20;
  // The layout of the format's first readers: dense streams have exactly one sample
  // a sequence, and no sparse sequence ends with an empty sample.
  bool legacy = false;
  // Write the keys given to append() to PATH.keys, one a line; without one it is the sequence's number. They only name
  // sequences: a join with other sources goes by the sequences' numbers, as in the reference.
  bool keys = false;
  // Flush to disk before the file gets its name, so that it is whole even after a
  // loss of power. False makes commit() faster, for files that are soon deleted.
  bool durable = true;
  bool replace = true;  // else a file that exists is refused, also by commit()
};

// Memory is bounded by one chunk. The same sequences give the same bytes. The
// file appears whole at commit(), or not at all. Entries of a sparse sample are
// written in ascending order of their indices; equal indices keep their order.
// All functions throw Error; what append() refuses is not written, and the writer
// can go on. After commit(), or when it was moved from, it may only be destroyed or
// assigned to. Not thread-safe.
class CbfWriter {
 public:
  CbfWriter(std::string path, CbfWriterOptions options);
  CbfWriter(CbfWriter&&) noexcept;
  CbfWriter& operator=(CbfWriter&&) noexcept;
  ~CbfWriter();

  // One element a stream, in the order of options.streams.
  void append(std::span<const SequenceData> sequence, std::string_view key = {});
  // A row of a chunk whose columns are the streams; other precision is converted.
  void append(const Chunk& chunk, std::uint32_t row, std::string_view key = {});
  // Closes the chunk although there is room in it.
  void end_chunk();

  // Does all of commit() that is likely to fail, so that of several files all or none get their names. Afterwards only
  // commit() may be called.
  void seal();
  void commit();

  std::uint64_t sequences() const noexcept;
  std::uint64_t samples() const noexcept;     // of the longest stream of each sequence
  std::uint64_t chunk_size() const noexcept;  // bytes of the chunk that is open

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct CtfWriterOptions {
  std::vector<StreamInfo> streams = {};
  bool ids = true;      // without them each sequence must be one row
  bool replace = true;  // as in CbfWriterOptions; for CtfWriter only
};

// The text of such a corpus, for whoever writes the file. Every stream must have a
// sample in every sequence. Throws Error; what append() refuses adds nothing to
// `out`. `name` stands for the text in faults. Not thread-safe.
class CtfText {
 public:
  explicit CtfText(CtfWriterOptions options, std::string name = {});
  CtfText(CtfText&&) noexcept;
  CtfText& operator=(CtfText&&) noexcept;
  ~CtfText();

  // A row of a chunk whose columns are the streams, behind what `out` holds. Without
  // a key its id is its number.
  void append(const Chunk& chunk, std::uint32_t row, std::string_view key, std::string& out);

  std::uint64_t sequences() const noexcept;
  std::uint64_t samples() const noexcept;  // of the longest stream of each sequence

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The same into a file, which appears whole at commit() or not at all.
class CtfWriter {
 public:
  CtfWriter(std::string path, CtfWriterOptions options);
  CtfWriter(CtfWriter&&) noexcept;
  CtfWriter& operator=(CtfWriter&&) noexcept;
  ~CtfWriter();

  // A row of a chunk whose columns are the streams. Without a key its id is its number.
  void append(const Chunk& chunk, std::uint32_t row, std::string_view key = {});
  void commit();

  std::uint64_t sequences() const noexcept;
  std::uint64_t samples() const noexcept;  // of the longest stream of each sequence

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace batchfeed
