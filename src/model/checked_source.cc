// SPDX-License-Identifier: MIT
//
// Checks a source against the rules of source.h.
#include <batchfeed/source.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/quoted.h"
#include "base/saturate.h"
#include "model/shared_source.h"

namespace batchfeed {

namespace {

[[noreturn]] void refuse(const char* id, std::string what, const std::string& stream = {}) {
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = id,
                    .what = std::move(what),
                    .hint = "<batchfeed/source.h> says what a source gives",
                    .stream = stream});
}

void expect_streams(const std::vector<StreamInfo>& streams) {
  constexpr std::uint64_t kMostIndices = std::numeric_limits<std::int32_t>::max();
  if (streams.empty()) refuse("source.streams", "a source without streams");
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const StreamInfo& stream = streams[i];
    const auto bad = [&](const std::string& what) {
      refuse("source.streams", "stream " + quoted(stream.name) + ": " + what, stream.name);
    };
    const bool repeated = std::any_of(streams.begin(), streams.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const StreamInfo& other) { return other.name == stream.name; });
    if (repeated) bad("a second one of that name");
    if (stream.dim == 0) bad("dim 0");
    if (stream.storage == Storage::sparse && stream.dim > kMostIndices)
      bad("dim " + std::to_string(stream.dim) + ", and a sparse one has at most " + std::to_string(kMostIndices));
  }
}

// `place` is "chunk 3" or "chunk 3, rows [5, 9)"; `rows`: how many rows it has at most.
void expect_table(const std::string& place, const std::vector<SequenceInfo>& table, std::uint64_t rows) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto bad = [&](const std::string& what) {
      refuse("source.table", place + ": sequence " + std::to_string(i) + " of the table " + what);
    };
    if (table[i].samples == 0) bad("has no samples");
    if (table[i].row >= rows) bad("is row " + std::to_string(table[i].row) + " of " + std::to_string(rows));
  }
}

void expect_sums(const std::string& place, const std::vector<SequenceInfo>& table, const ChunkInfo& info) {
  const auto bad = [&](std::uint64_t n, const char* noun, std::uint64_t expected) {
    refuse("source.table",
           place + ": " + counted(n, noun) + " in the table, expected " + std::to_string(expected) + " as in chunks()");
  };
  if (table.size() != info.sequences) bad(table.size(), "sequence", info.sequences);
  std::uint64_t samples = 0;
  for (const SequenceInfo& s : table) samples += s.samples;
  if (samples != info.samples) bad(samples, "sample", info.samples);
}

// Offsets are one more than `items`, the first 0, none less than the one before it.
template <class Bad>
void expect_offsets(const Buffer<std::uint32_t>& offsets, const char* name, std::uint64_t items, const Bad& bad) {
  if (offsets.size() != items + 1)
    bad(std::string(name) + " has " + counted(offsets.size(), "entry") + ", expected " + std::to_string(items + 1));
  if (offsets[0] != 0) bad(std::string(name) + "[0] is " + std::to_string(offsets[0]) + ", expected 0");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1])
      bad(std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(offsets[i]) + ", less than the " +
          std::to_string(offsets[i - 1]) + " before it");
  }
}

template <class Bad>
void expect_dense(const Column& column, const Bad& bad) {
  const std::size_t rows = column.first_sample.size() - 1;
  const std::uint64_t values = column.values.size() / size_of(column.element);
  if (column.begin.size() != rows)
    bad("begin has " + counted(column.begin.size(), "entry") + ", expected " + std::to_string(rows));
  for (std::uint32_t r = 0; r < rows; ++r) {
    const std::uint64_t n = column.samples(r);
    if (n == 0) continue;
    const std::uint64_t end = add_sat(column.begin[r], add_sat(mul_sat(n - 1, column.step), column.dim));
    if (end > values)
      bad("row " + std::to_string(r) + " ends with value " + std::to_string(end) + " of " + std::to_string(values));
  }
}

template <class Bad>
void expect_sparse(const Column& column, const Chunk& chunk, const Bad& bad) {
  const std::uint64_t values = column.values.size() / size_of(column.element);
  expect_offsets(column.first_value, "first_value", column.first_sample.back(), bad);
  if (column.indices.size() != column.first_value.back() || values != column.first_value.back())
    bad(counted(values, "value") + " and " + std::to_string(column.indices.size()) + " indices, expected " +
        std::to_string(column.first_value.back()) + " of both");
  for (std::uint32_t r = 0; r + 1 < column.first_sample.size(); ++r) {
    if (chunk.is_invalid(r)) continue;
    for (std::size_t i = column.first_value[column.first_sample[r]]; i < column.first_value[column.first_sample[r + 1]];
         ++i) {
      if (column.indices[i] < 0 || static_cast<std::uint64_t>(column.indices[i]) >= column.dim)
        bad("index " + std::to_string(column.indices[i]) + " in row " + std::to_string(r) + " is not below dim " +
            std::to_string(column.dim));
    }
  }
}

// Returns how many rows it has.
std::uint64_t expect_chunk(const std::string& place, const std::vector<StreamInfo>& streams, const Chunk& chunk) {
  if (chunk.columns.size() != streams.size())
    refuse("source.chunk",
           place + ": " + counted(chunk.columns.size(), "column") + " for " + counted(streams.size(), "stream"));
  const std::size_t first = chunk.columns.front().first_sample.size();
  const std::uint64_t rows = first == 0 ? 0 : first - 1;
  if (!chunk.invalid.empty() && chunk.invalid.size() != rows)
    refuse("source.chunk", place + ": invalid has " + counted(chunk.invalid.size(), "entry") + ", expected none or " +
                               std::to_string(rows));
  for (std::size_t r = 0; r < chunk.invalid.size(); ++r) {
    if (chunk.invalid[r] > Chunk::kUnpaid)
      refuse("source.chunk", place + ": invalid[" + std::to_string(r) + "] is " + std::to_string(chunk.invalid[r]) +
                                 ", expected kValid, kPaid or kUnpaid");
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Column& column = chunk.columns[i];
    const auto bad = [&](const std::string& what) {
      refuse("source.chunk", place + ", stream " + quoted(streams[i].name) + ": " + what, streams[i].name);
    };
    if (column.storage != streams[i].storage || column.element != streams[i].element || column.dim != streams[i].dim)
      bad("storage, element or dim are not the stream's");
    expect_offsets(column.first_sample, "first_sample", rows, bad);
    if (column.storage == Storage::dense)
      expect_dense(column, bad);
    else
      expect_sparse(column, chunk, bad);
  }
  return rows;
}

class Checked final : public SharedSource, private RowReader {
 public:
  explicit Checked(std::shared_ptr<const Source> source) : SharedSource(std::move(source)) {
    expect_streams(streams());
  }

  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override {
    SharedSource::sequences(chunk, out);
    expect_table(place_of(chunk), out, std::numeric_limits<std::uint64_t>::max());
    expect_sums(place_of(chunk), out, chunks()[chunk]);
  }
  void read(std::uint32_t chunk, Chunk& out) const override {
    SharedSource::read(chunk, out);
    const std::uint64_t rows = expect_chunk(place_of(chunk), streams(), out);
    std::vector<SequenceInfo> table;
    sequences(chunk, table);
    expect_table(place_of(chunk), table, rows);
  }
  const RowReader* row_reader(std::uint32_t chunk) const override { return rows_of(chunk) == nullptr ? nullptr : this; }

 private:
  const RowReader* rows_of(std::uint32_t chunk) const { return SharedSource::row_reader(chunk); }
  static std::string place_of(std::uint32_t chunk) { return "chunk " + std::to_string(chunk); }
  static std::string place_of(std::uint32_t chunk, RowRange rows) {
    return place_of(chunk) + ", rows [" + std::to_string(rows.first) + ", " + std::to_string(rows.last) + ")";
  }

  void sequences(std::uint32_t chunk, RowRange rows, std::vector<SequenceInfo>& out) const override {
    rows_of(chunk)->sequences(chunk, rows, out);
    expect_table(place_of(chunk, rows), out, rows.last - rows.first);
  }
  void read(std::uint32_t chunk, RowRange rows, Chunk& out) const override {
    rows_of(chunk)->read(chunk, rows, out);
    const std::uint64_t got = expect_chunk(place_of(chunk, rows), streams(), out);
    if (got < rows.last - rows.first)
      refuse("source.chunk", place_of(chunk, rows) + ": " + counted(got, "row") + ", expected " +
                                 std::to_string(rows.last - rows.first));
  }
  bool may_be_narrow(std::uint32_t chunk, std::size_t stream) const override {
    return rows_of(chunk)->may_be_narrow(chunk, stream);
  }
  RowMemory row_memory(std::uint32_t chunk) const override { return rows_of(chunk)->row_memory(chunk); }
};

}  // namespace

std::shared_ptr<const Source> checked(std::shared_ptr<const Source> source) {
  if (source == nullptr) return source;
  return std::make_shared<const Checked>(std::move(source));
}

}  // namespace batchfeed
