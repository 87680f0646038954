// SPDX-License-Identifier: MIT
//
// The one seam between file formats and everything after them: a Source says
// what there is (streams, chunks, sequences) and turns one chunk of bytes into
// columns. It knows nothing of order, minibatches or epochs. Users may write
// their own.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/error.h>
#include <batchfeed/schema.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace batchfeed {

// Size of one chunk; enough to plan an order without reading data.
struct ChunkInfo {
  std::uint64_t sequences = 0;
  std::uint64_t samples = 0;  // sum of the sequences' nominal lengths
  std::uint64_t bytes = 0;    // of the file, or 0 if unknown; a measure of what read() will cost
};

// One sequence of a chunk. `samples` is the nominal length, the only length an
// order sees; a stream's real length may differ (it stands in the Chunk).
struct SequenceInfo {
  std::uint64_t key = 0;      // joins sequences across sources (KeyMode::numeric)
  std::uint32_t row = 0;      // its place in the columns of the Chunk that read() gives
  std::uint32_t samples = 0;  // >= 1
};

// The data of one stream in one chunk, sequence after sequence.
//
// Sample i of sequence r, with n = first_sample[r] + i:
//   dense   values[begin[r] + i * step .. + dim)
//           `begin` counts elements. step = dim for plain data, less for windows
//           that overlap, 0 where one stored sample stands for all of a sequence.
//   sparse  values[first_value[n] .. first_value[n+1]), indices likewise,
//           in stored order: neither sorted nor merged.
struct Column {
  Storage storage = Storage::dense;
  Element element = Element::f32;
  std::uint64_t dim = 0;
  std::uint64_t step = 0;                   // dense only
  Buffer<std::uint32_t> first_sample = {};  // sequences + 1; first_sample[0] = 0
  Buffer<std::uint64_t> begin = {};         // dense: one per sequence, in elements
  Buffer<std::uint32_t> first_value = {};   // sparse: samples + 1; first_value[0] = 0
  Buffer<std::byte> values = {};            // of type `element`
  Buffer<std::int32_t> indices = {};        // sparse: one per value

  std::uint32_t samples(std::uint32_t row) const noexcept { return first_sample[row + 1] - first_sample[row]; }
  template <class T>
  const T* as() const noexcept {
    return reinterpret_cast<const T*>(values.data());
  }
  template <class T>
  T* as() noexcept {
    return reinterpret_cast<T*>(values.data());
  }

  // Empty, with the right offsets for zero sequences; keeps its memory.
  void reset(const StreamInfo& stream);
};

// One chunk of data: a column per stream. Rows are the sequences of the chunk
// in table order. Plain data, movable, reusable: read() into a used Chunk
// recycles its memory.
struct Chunk {
  // What `invalid` says of a row. Damaged rows are not delivered.
  static constexpr std::uint8_t kValid = 0;
  static constexpr std::uint8_t kPaid = 1;    // damaged; the source's own error budget has paid for it
  static constexpr std::uint8_t kUnpaid = 2;  // damaged; counts against ReaderOptions::max_invalid

  std::vector<Column> columns = {};
  std::vector<std::uint8_t> invalid = {};  // per row; empty = all are valid

  bool is_invalid(std::uint32_t row) const noexcept { return !invalid.empty() && invalid[row] != kValid; }
  void reset(const std::vector<StreamInfo>& streams);
  std::uint64_t memory() const noexcept;  // bytes held, used or not
};

// Where a sequence stands in a file, for people (`read --explain`).
struct Place {
  std::string file = {};
  std::uint64_t begin = 0, end = 0;             // bytes
  std::uint64_t first_line = 0, last_line = 0;  // from 1; 0 = not a text file or unknown

  // Its begin, as a fault names it: the line, or else the byte.
  Position position() const {
    return {.file = file, .byte = begin, .line = first_line, .has_byte = !file.empty() && first_line == 0};
  }
};

// Neighbouring rows of a chunk: [first, last).
struct RowRange {
  std::uint32_t first = 0, last = 0;
};

enum class RowMemory : std::uint8_t { unknown, as_stored, far_more };

// Reads the rows [first, last) of a chunk as if it had no others: row `first` becomes row 0.
// read() may give further rows behind them, which sequences() does not list. Otherwise both
// functions are as those of Source. Thread-safe.
class RowReader {
 public:
  virtual void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const = 0;
  virtual void read(std::uint32_t chunk, RowRange rows, Chunk& out) const = 0;
  // Whether a glance at the data shows only whole numbers from 0 to 255 in a dense stream, or a single 1 in each sample
  // of a sparse one. If all data turn out so, the reader keeps one byte a value, or only the indices. Asked only of
  // chunks with one row for each sequence. The default does not look.
  virtual bool may_be_narrow(std::uint32_t /*chunk*/, std::size_t /*stream*/) const { return false; }
  // How much memory rows of a chunk take compared with their bytes in the file: about as much (binary files), or far
  // more (labels, where a few bytes stand for many samples). The default does not know.
  virtual RowMemory row_memory(std::uint32_t /*chunk*/) const { return RowMemory::unknown; }

 protected:
  ~RowReader() = default;
};

// All functions are const and may be called from several threads at once. The references from streams() and chunks()
// are valid, and what they refer to does not change, as long as the source lives.
class Source {
 public:
  virtual ~Source() = default;

  virtual const std::vector<StreamInfo>& streams() const = 0;
  virtual const std::vector<ChunkInfo>& chunks() const = 0;

  // The table of one chunk, in order; `out` is overwritten. Metadata only. Throws Error.
  virtual void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const = 0;

  // The data of one chunk; `out` is overwritten, its memory reused: begin with out.reset(streams()). Throws Error.
  virtual void read(std::uint32_t chunk, Chunk& out) const = 0;

  // Reads the chunk in parts, so that in the files' own order a large chunk is never in memory as a whole. Null, the
  // default, where parts cannot be read or rows are not in table order. Owned by the source.
  virtual const RowReader* row_reader(std::uint32_t /*chunk*/) const { return nullptr; }

  // A key as people know it. The default prints it in decimal.
  virtual std::string key_text(std::uint64_t key) const { return std::to_string(key); }

  // Where a row of a chunk comes from; the default knows nothing. May read the file.
  virtual Place place(std::uint32_t chunk, std::uint32_t row) const;
  // The same in every source that a joined sequence comes from, the primary first;
  // the default has one.
  virtual std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const;
  // The files that the source reads: those of Place::file, and lists that name them. The default, which knows no lists,
  // asks for the places of all rows.
  virtual std::vector<std::string> files() const;

  // In frame mode each frame is a sequence of its own. A source whose sequences
  // can be split so (speech) says true; others deliver whole sequences.
  virtual bool splits_frames() const { return false; }

  // Binds a saved state to the data. The default hashes streams, chunks and sequence tables: data that differ in
  // nothing but values are the same to it, so a source that knows more of its content should hash that, too.
  virtual std::uint64_t fingerprint() const;

  // One line on what was left out at open and why ("3 utterances with a repeated
  // key"), or nothing.
  virtual std::vector<Notice> notices() const { return {}; }
};

// Wraps a source so that each table and chunk is checked against the rules above before it is used. Throws Error
// (usage): source.streams at once, source.table and source.chunk from sequences() and read(), those of RowReader too.
// A reader does not check a source, and reads wherever its offsets lead: wrap a source of your own in this while you
// write it, and in its tests. Null stays null.
std::shared_ptr<const Source> checked(std::shared_ptr<const Source> source);

}  // namespace batchfeed
