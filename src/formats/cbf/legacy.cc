// SPDX-License-Identifier: MIT
#include "formats/cbf/legacy.h"

#include "base/counted.h"

namespace batchfeed::cbf {
namespace {

std::string who(std::size_t chunk, const FileStream& stream) {
  return "chunk " + std::to_string(chunk) + ", stream '" + printable(stream.name) + "'";
}

[[noreturn]] void truncated(std::size_t chunk, const FileStream& stream, const Feed& feed, const Faults& faults,
                            const std::string& what, std::uint64_t bytes) {
  faults.fail("cbf.sequence-truncated", feed.at(),
              who(chunk, stream) + ": " + counted(bytes, "byte") + " needed for " + what + ", " +
                  std::to_string(feed.left()) + " left in the chunk",
              {}, stream.name);
}

// Row numbers of one stream become samples and indices.
class Unfold {
 public:
  Unfold(const Decoder& decoder, std::size_t chunk, std::size_t stream, const LegacyBlock& block, Chunk& out)
      : d_(decoder),
        chunk_(chunk),
        stream_(decoder.header.streams[stream]),
        block_(block),
        out_(out),
        column_(out.columns[stream]) {}

  // column_.indices holds the row numbers; `columns` the first entry of each sequence.
  void run(const Buffer<std::uint32_t>& columns) {
    const auto sequences = static_cast<std::uint32_t>(columns.size() - 1);
    for (std::uint32_t s = 0; s < sequences; ++s) {
      const std::size_t first = column_.first_value.size() - 1;
      std::uint32_t samples = 0;  // begun so far; the last one is open
      for (std::uint32_t i = columns[s]; i < columns[s + 1]; ++i) {
        const std::uint32_t sample = unfold(s, i, samples);
        if (sample + 1 <= samples) continue;
        // Those passed over are samples without entries.
        bound(std::uint64_t{sample} + 1 - samples, sequences);
        for (std::uint32_t ends = samples == 0 ? sample : sample + 1 - samples; ends > 0; --ends)
          column_.first_value.push_back(i);
        samples = sample + 1;
      }
      if (samples > 0) column_.first_value.push_back(columns[s + 1]);
      column_.first_sample[s + 1] = column_.first_sample[s] + samples;
      warn_order(s, first, samples);
    }
  }

 private:
  // Entry i: its row becomes its index; returns its sample.
  std::uint32_t unfold(std::uint32_t s, std::uint32_t i, std::uint32_t samples) {
    const std::int32_t row = column_.indices[i];
    const std::uint32_t open = samples == 0 ? 0 : samples - 1;
    if (row < 0) {
      damaged(s, "cbf.bad-legacy-row", i, "row " + std::to_string(row) + ", expected 0 or more");
      column_.indices[i] = 0;
      return open;
    }
    const std::uint32_t sample = static_cast<std::uint32_t>(row) / stream_.dim;
    column_.indices[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row) % stream_.dim);
    if (sample >= open) return sample;
    damaged(s, "cbf.bad-legacy-row", i,
            "row " + std::to_string(row) + " is of sample " + std::to_string(sample) + ", behind one of sample " +
                std::to_string(open));
    return open;
  }

  void damaged(std::uint32_t s, const char* id, std::uint32_t entry, const std::string& what) const {
    d_.damaged(
        out_, s,
        d_.faults.make(id, block_.rows_at + std::uint64_t{entry} * 4,
                       who(chunk_, stream_) + ", sequence " + std::to_string(s) + ": " + what, {}, stream_.name));
  }

  // Samples take no room in the file, so a few bytes could claim millions of them.
  void bound(std::uint64_t more, std::uint64_t sequences) const {
    const std::uint64_t samples = column_.first_value.size() - 1 + more;
    const std::uint64_t most = d_.limits.implied_samples + 16 * (block_.nnz + sequences);
    if (samples <= most) return;
    d_.faults.over_limit("limit.implied-samples", block_.rows_at,
                         who(chunk_, stream_) + ": samples that its row numbers imply", samples, most,
                         "implied_samples");
  }

  void warn_order(std::uint32_t s, std::size_t first, std::size_t added) const {
    for (std::size_t k = 0; k < added; ++k) {
      for (std::uint32_t i = column_.first_value[first + k] + 1; i < column_.first_value[first + k + 1]; ++i) {
        const std::int32_t now = column_.indices[i];
        const std::int32_t before = column_.indices[i - 1];
        if (now > before) continue;
        d_.sink.warning(d_.faults.make(
            now == before ? "cbf.duplicate-index" : "cbf.unsorted-indices", block_.rows_at + std::uint64_t{i} * 4,
            who(chunk_, stream_) + ", sequence " + std::to_string(s) + ", sample " + std::to_string(k) + ": index " +
                std::to_string(now) + (now == before ? " stands twice" : " stands behind " + std::to_string(before)),
            "the values are delivered as they are stored", stream_.name));
        break;
      }
    }
  }

  const Decoder& d_;
  std::size_t chunk_;
  const FileStream& stream_;
  const LegacyBlock& block_;
  Chunk& out_;
  Column& column_;
};

}  // namespace

void check_legacy_room(const Header& header, std::size_t chunk, const Faults& faults) {
  const FileChunk& stored = header.chunks[chunk];
  std::uint64_t each = 0;  // bytes a sequence takes at least
  std::uint64_t fixed = 0;
  for (const FileStream& stream : header.streams) {
    each += stream.storage == Storage::dense ? stream.dim * size_of(stream.element) : 4;
    fixed += stream.storage == Storage::dense ? 0 : 8;
  }
  const std::uint64_t size = stored.end - stored.begin;
  if (stored.sequences == 0 || (size >= fixed && stored.sequences <= (size - fixed) / each)) return;
  faults.fail("cbf.chunk-too-small", stored.at + 8,
              "chunk " + std::to_string(chunk) + ": at least " + counted(each, "byte") + " each needed for " +
                  counted(stored.sequences, "sequence") + ", the chunk has " + counted(size, "byte"));
}

LegacyBlock legacy_block(const Header& header, std::size_t chunk, const FileStream& stream, Feed& feed,
                         const Faults& faults) {
  const FileChunk& stored = header.chunks[chunk];
  const std::uint64_t width = size_of(stream.element);
  if (stream.storage == Storage::dense) {
    const std::uint64_t values = std::uint64_t{stored.sequences} * stream.dim;
    if (values > feed.left() / width)
      truncated(chunk, stream, feed, faults, counted(stored.sequences, "sequence"), values * width);
    return {.values_at = feed.at(), .end = feed.at() + values * width};
  }
  if (feed.left() < 4) truncated(chunk, stream, feed, faults, "its entries' number would", 4);
  const std::uint64_t at = feed.at();
  const auto nnz = feed.get<std::int32_t>();
  if (nnz < 0)
    faults.fail("cbf.bad-nnz", at,
                who(chunk, stream) + ": number of entries " + std::to_string(nnz) + ", expected 0 or more", {},
                stream.name);
  const std::uint64_t count = static_cast<std::uint32_t>(nnz);
  const std::uint64_t bytes = count * (width + 4) + (std::uint64_t{stored.sequences} + 1) * 4;
  if (bytes > feed.left())
    truncated(chunk, stream, feed, faults,
              counted(count, "entry") + " and " + counted(stored.sequences + 1ull, "column"), bytes);
  const std::uint64_t values_at = at + 4;
  return {.values_at = values_at,
          .rows_at = values_at + count * width,
          .columns_at = values_at + count * (width + 4),
          .end = values_at + bytes,
          .nnz = static_cast<std::uint32_t>(count)};
}

void read_columns(const LegacyBlock& block, std::uint32_t sequences, const FileStream& stream, Feed& feed,
                  const Faults& faults, Buffer<std::uint32_t>& columns) {
  columns.resize(std::size_t{sequences} + 1);
  feed.seek(block.columns_at);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto value = feed.get<std::uint32_t>();
    const bool fits = i == 0 ? value == 0 : value >= before && value <= block.nnz;
    if (!fits || (i + 1 == columns.size() && value != block.nnz)) {
      const std::uint32_t least = i + 1 == columns.size() ? block.nnz : before;
      const std::uint32_t most = i == 0 ? 0 : block.nnz;
      faults.fail("cbf.bad-legacy-columns", block.columns_at + i * 4,
                  "stream '" + printable(stream.name) + "': column " + std::to_string(i) + " begins at entry " +
                      std::to_string(static_cast<std::int32_t>(value)) + ", expected " + std::to_string(least) +
                      " to " + std::to_string(most),
                  {}, stream.name);
    }
    columns[i] = before = value;
  }
}

void decode_legacy(const Decoder& decoder, std::size_t chunk, Feed& feed, Chunk& out) {
  const FileChunk& stored = decoder.header.chunks[chunk];
  check_legacy_room(decoder.header, chunk, decoder.faults);
  Buffer<std::uint32_t> columns;
  feed.seek(stored.begin);
  for (Column& column : out.columns) {
    column.first_sample.resize(std::size_t{stored.sequences} + 1);
  }
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    const FileStream& stream = decoder.header.streams[i];
    Column& column = out.columns[i];
    const LegacyBlock block = legacy_block(decoder.header, chunk, stream, feed, decoder.faults);
    const std::uint64_t values =
        stream.storage == Storage::dense ? std::uint64_t{stored.sequences} * stream.dim : block.nnz;
    const std::uint64_t most = most_values(decoder.limits);
    if (values > most)
      decoder.faults.over_limit("limit.chunk-values", block.values_at, who(chunk, stream) + ": values", values, most,
                                "chunk_values");
    feed.seek(block.values_at);
    append_values(feed, values, stream.element, column);
    if (stream.storage == Storage::dense) {
      column.begin.resize(stored.sequences);
      for (std::uint32_t s = 0; s < stored.sequences; ++s) {
        column.begin[s] = std::uint64_t{s} * stream.dim;
        column.first_sample[s + 1] = s + 1;
      }
    } else {
      read_columns(block, stored.sequences, stream, feed, decoder.faults, columns);
      column.indices.resize(block.nnz);
      feed.seek(block.rows_at);
      for (std::int32_t& index : column.indices) index = feed.get<std::int32_t>();
      Unfold(decoder, chunk, i, block, out).run(columns);
    }
    feed.seek(block.end);
  }
}

}  // namespace batchfeed::cbf
