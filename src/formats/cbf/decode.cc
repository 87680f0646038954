// SPDX-License-Identifier: MIT
#include "formats/cbf/decode.h"

#include <algorithm>
#include <bit>

#include "base/saturate.h"
#include "formats/cbf/legacy.h"

namespace batchfeed::cbf {
namespace {

// One stream of one chunk.
class StreamDecoder {
 public:
  StreamDecoder(const Decoder& decoder, std::size_t chunk, std::size_t stream, const Lengths& lengths, Feed& feed,
                Chunk& out)
      : d_(decoder),
        chunk_(chunk),
        row_(decoder.header.rows[chunk]),
        stream_(decoder.header.streams[stream]),
        lengths_(lengths),
        feed_(feed),
        out_(out),
        column_(out.columns[stream]),
        last_(stream + 1 == decoder.header.streams.size()) {}

  void dense() {
    column_.first_sample.resize(std::size_t{row_.sequences} + 1);
    column_.begin.resize(row_.sequences);
    if (dense_in_place()) return;
    const std::uint64_t dim = stream_.dim;
    const std::uint64_t width = size_of(stream_.element);
    std::uint64_t samples = 0;
    column_.values.clear();
    for (std::uint32_t s = 0; s < row_.sequences; ++s) {
      const std::uint64_t at = feed_.at();
      const std::uint32_t n = dense_head(s);
      if (n > feed_.left() / width / dim) truncated(s, at, n, mul_sat(mul_sat(n, dim), width));
      if (n > d_.limits.sequence_samples) too_long(at, n);
      column_.begin[s] = column_.values.size() / size_of(column_.element);
      samples += n;
      limit_values(at, samples);
      limit_values(at, samples * dim);
      column_.first_sample[s + 1] = static_cast<std::uint32_t>(samples);
      append_values(feed_, n * dim, stream_.element, column_);
    }
  }

  void sparse() {
    const std::uint64_t width = size_of(stream_.element);
    column_.first_sample.resize(std::size_t{row_.sequences} + 1);
    if (last_) reserve_rest(width);
    std::uint64_t samples = 0;
    for (std::uint32_t s = 0; s < row_.sequences; ++s) {
      const std::uint64_t at = feed_.at();
      if (feed_.left() < 8) truncated(s, at, 0, 8);
      const std::byte* head = feed_.next(8);
      const auto n = load<std::uint32_t>(head);
      const auto nnz = load<std::int32_t>(head + 4);
      if (nnz < 0) bad_nnz(s, at + 4, nnz);
      const std::uint64_t count = static_cast<std::uint32_t>(nnz);
      const std::uint64_t bytes = count * (width + 4) + std::uint64_t{n} * 4;
      if (bytes > feed_.left()) truncated(s, at, n, bytes);
      if (n > d_.limits.sequence_samples) too_long(at, n);
      samples += n;
      limit_values(at, samples);
      const std::size_t before = column_.indices.size();
      limit_values(at, before + count);
      column_.first_sample[s + 1] = static_cast<std::uint32_t>(samples);
      if (bytes <= Feed::kPiece) {
        const std::byte* p = feed_.next(static_cast<std::size_t>(bytes));
        small(p, count, width);
        sizes(s, p + count * (width + 4), n, count, at);
      } else {
        large(s, n, count, at);
      }
      check_indices(s, n, before, at);
    }
  }

 private:
  // Dense streams of 4-byte values are read as they stand, lengths included: a
  // sequence begins one element behind its length. It takes lengths that are as
  // announced, so that the end of the stream is known before it is read.
  bool dense_in_place() {
    if (stream_.element != Element::f32 || column_.element != Element::f32) return false;
    if constexpr (std::endian::native != std::endian::little) return false;
    const std::uint64_t samples = lengths_.sum();
    const std::uint64_t dim = stream_.dim;
    const std::uint64_t elements = add_sat(row_.sequences, mul_sat(samples, dim));
    if (elements > feed_.left() / 4 || elements > std::min<std::uint64_t>(d_.limits.chunk_values, 0xFFFFFFFFu))
      return false;
    const std::uint64_t start = feed_.at();
    const auto total = static_cast<std::size_t>(elements) * 4;
    column_.values.resize(total);
    std::byte* const values = column_.values.data();
    std::uint64_t head = 0;  // of the next sequence, in elements
    std::uint32_t s = 0;
    std::uint32_t first = 0;
    for (std::size_t done = 0; done < total;) {
      const std::size_t part = std::min(total - done, Feed::kPiece);
      feed_.copy(values + done, part);
      done += part;
      for (; s < row_.sequences && head * 4 < done; ++s) {
        const std::uint32_t n = lengths_[s];
        if (load<std::uint32_t>(values + head * 4) != n || n > d_.limits.sequence_samples) {
          feed_.seek(start);
          column_.values.clear();
          return false;
        }
        column_.begin[s] = head + 1;
        column_.first_sample[s + 1] = first += n;
        head += 1 + n * dim;
      }
    }
    return true;
  }

  std::uint32_t dense_head(std::uint32_t s) {
    const std::uint64_t at = feed_.at();
    if (feed_.left() < 4) truncated(s, at, 0, 4);
    return feed_.get<std::uint32_t>();
  }

  // All that is left belongs to this stream: so many entries at most.
  void reserve_rest(std::uint64_t width) {
    const std::uint64_t entries = feed_.left() / (width + 4);
    column_.values.reserve(static_cast<std::size_t>(entries) * size_of(column_.element));
    column_.indices.reserve(static_cast<std::size_t>(entries));
  }

  void small(const std::byte* p, std::uint64_t count, std::uint64_t width) {
    const auto n = static_cast<std::size_t>(count);
    const std::size_t old = column_.values.size();
    column_.values.resize(old + n * size_of(column_.element));
    convert_values(p, stream_.element, column_.values.data() + old, column_.element, n);
    append_indices(p + count * width, n);
  }

  void append_indices(const std::byte* p, std::size_t n) {
    const std::size_t old = column_.indices.size();
    column_.indices.resize(old + n);
    std::int32_t* const to = column_.indices.data() + old;
    if constexpr (std::endian::native == std::endian::little) {
      if (n != 0) std::memcpy(to, p, n * 4);
    } else {
      for (std::size_t i = 0; i < n; ++i) to[i] = load<std::int32_t>(p + i * 4);
    }
  }

  void large(std::uint32_t s, std::uint32_t n, std::uint64_t count, std::uint64_t at) {
    append_values(feed_, count, stream_.element, column_);
    for (std::uint64_t rest = count; rest > 0;) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(rest, Feed::kPiece / 4));
      append_indices(feed_.next(part * 4), part);
      rest -= part;
    }
    Buffer<std::byte> counts;
    counts.resize(std::size_t{n} * 4);
    feed_.copy(counts.data(), counts.size());
    sizes(s, counts.data(), n, count, at);
  }

  // The entries of each sample; they must add up to the sequence's.
  void sizes(std::uint32_t s, const std::byte* p, std::uint32_t n, std::uint64_t nnz, std::uint64_t at) {
    const std::uint64_t before = column_.first_value.back();
    const std::size_t old = column_.first_value.size();
    column_.first_value.resize(old + n);
    std::uint32_t* const to = column_.first_value.data() + old;
    std::uint64_t sum = 0;
    bool negative = false;
    for (std::uint32_t i = 0; i < n; ++i) {
      const auto size = load<std::int32_t>(p + std::size_t{i} * 4);
      negative |= size < 0;
      sum += static_cast<std::uint32_t>(size);
      to[i] = static_cast<std::uint32_t>(before + sum);
    }
    if (!negative && sum == nnz) return;
    const std::uint64_t sizes_at = at + 8 + nnz * (size_of(stream_.element) + 4);
    std::string what = who(s) + ": ";
    if (negative) {
      what += "a sample has a negative number of entries";
    } else {
      what += "its samples have " + std::to_string(sum) + " entries together, the sequence has " + std::to_string(nnz);
    }
    d_.damaged(out_, s, d_.faults.make("cbf.bad-sample-sizes", sizes_at, std::move(what), {}, stream_.name));
    // Only when checking: the entries are given to the first sample, so that the offsets stay whole.
    for (std::uint32_t i = 0; i < n; ++i) to[i] = static_cast<std::uint32_t>(before + nnz);
    if (n == 0) lost_entries(nnz);
  }
  void lost_entries(std::uint64_t nnz) {
    column_.values.resize(column_.values.size() - static_cast<std::size_t>(nnz) * size_of(column_.element));
    column_.indices.resize(column_.indices.size() - static_cast<std::size_t>(nnz));
  }

  // Sign bits tell: x | (dim - 1 - x) is negative for an index outside, and
  // x - before - 1 for one that does not ascend; so the loop has no branch.
  void check_indices(std::uint32_t s, std::uint32_t n, std::uint64_t from, std::uint64_t at) {
    const std::int32_t* const all = column_.indices.data();
    const std::uint32_t* const first = column_.first_value.data() + (column_.first_value.size() - n - 1);
    const std::uint32_t top = stream_.dim - 1;
    std::uint32_t bad = 0;
    for (std::uint32_t k = 0; k < n; ++k) {
      const std::int32_t* const index = all + first[k];
      const std::size_t count = first[k + 1] - first[k];
      if (count == 0) continue;
      const auto x = [index](std::size_t i) { return static_cast<std::uint32_t>(index[i]); };
      bad |= x(0) | (top - x(0));
      for (std::size_t i = 1; i < count; ++i) bad |= x(i) | (top - x(i)) | (x(i) - x(i - 1) - 1);
    }
    if (static_cast<std::int32_t>(bad) < 0) explain_indices(s, n, from, at);
  }

  [[gnu::cold]] void explain_indices(std::uint32_t s, std::uint32_t n, std::uint64_t from, std::uint64_t at) {
    const std::int32_t* const index = column_.indices.data();
    const std::uint32_t* const first = column_.first_value.data() + (column_.first_value.size() - n - 1);
    const std::uint64_t nnz = column_.indices.size() - from;
    const auto place = [&](std::size_t i) { return at + 8 + nnz * size_of(stream_.element) + (i - from) * 4; };
    for (std::size_t i = from; i < column_.indices.size(); ++i) {
      if (static_cast<std::uint32_t>(index[i]) < stream_.dim) continue;
      d_.damaged(out_, s,
                 d_.faults.make("cbf.index-out-of-range", place(i),
                                who(s) + ": index " + std::to_string(index[i]) + ", expected 0 to " +
                                    std::to_string(stream_.dim - 1),
                                "the header says dimension " + std::to_string(stream_.dim), stream_.name));
    }
    for (std::uint32_t k = 0; k < n; ++k) {
      for (std::size_t i = std::size_t{first[k]} + 1; i < first[k + 1]; ++i) {
        if (index[i] > index[i - 1]) continue;
        const bool twice = index[i] == index[i - 1];
        d_.sink.warning(d_.faults.make(twice ? "cbf.duplicate-index" : "cbf.unsorted-indices", place(i),
                                       who(s) + ", sample " + std::to_string(k) + ": index " +
                                           std::to_string(index[i]) +
                                           (twice ? " stands twice" : " stands behind " + std::to_string(index[i - 1])),
                                       "the values are delivered as they are stored", stream_.name));
        break;
      }
    }
  }

  std::string who(std::uint32_t s) const {
    return "chunk " + std::to_string(chunk_) + ", stream '" + printable(stream_.name) + "', sequence " +
           std::to_string(s);
  }
  [[noreturn, gnu::cold]] void truncated(std::uint32_t s, std::uint64_t at, std::uint32_t n,
                                         std::uint64_t bytes) const {
    d_.faults.fail("cbf.sequence-truncated", at,
                   who(s) + ": " + std::to_string(n) + " samples need " + std::to_string(bytes) + " bytes, " +
                       std::to_string(feed_.left()) + " are left in the chunk",
                   {}, stream_.name);
  }
  [[noreturn, gnu::cold]] void bad_nnz(std::uint32_t s, std::uint64_t at, std::int32_t nnz) const {
    d_.faults.fail("cbf.bad-nnz", at, who(s) + ": number of entries " + std::to_string(nnz) + ", expected 0 or more",
                   {}, stream_.name);
  }
  [[noreturn, gnu::cold]] void too_long(std::uint64_t at, std::uint32_t n) const {
    d_.faults.over_limit("limit.sequence-samples", at,
                         "stream '" + printable(stream_.name) + "': samples of one sequence", n,
                         d_.limits.sequence_samples, "sequence_samples");
  }
  void limit_values(std::uint64_t at, std::uint64_t n) const {
    const std::uint64_t most = std::min<std::uint64_t>(d_.limits.chunk_values, 0xFFFFFFFFu);
    if (n > most)
      d_.faults.over_limit("limit.chunk-values", at,
                           "stream '" + printable(stream_.name) + "': values in chunk " + std::to_string(chunk_), n,
                           most, "chunk_values");
  }

  const Decoder& d_;
  std::size_t chunk_;
  const ChunkRow& row_;
  const FileStream& stream_;
  const Lengths& lengths_;
  Feed& feed_;
  Chunk& out_;
  Column& column_;
  bool last_;
};

// The lengths announced in front of the chunk steer scheduling only and may
// differ from what the streams hold; a check says so.
void compare_lengths(const Decoder& decoder, std::size_t chunk, const Lengths& lengths, const Chunk& out) {
  const ChunkRow& row = decoder.header.rows[chunk];
  for (std::uint32_t s = 0; s < row.sequences; ++s) {
    std::uint32_t longest = 0;
    for (const Column& column : out.columns) longest = std::max(longest, column.samples(s));
    if (lengths[s] == longest) continue;
    decoder.sink.warning(decoder.faults.make("cbf.sample-count-differs", row.begin + std::uint64_t{s} * 4,
                                             "chunk " + std::to_string(chunk) + ", sequence " + std::to_string(s) +
                                                 ": its length is given as " + std::to_string(lengths[s]) +
                                                 ", its longest stream has " + std::to_string(longest) + " samples",
                                             "minibatches are counted with the given length"));
  }
}

}  // namespace

void Decoder::damaged(Chunk& out, std::uint32_t row, Fault fault) const {
  if (!check) throw Error(std::move(fault));
  sink.error(std::move(fault));
  if (out.invalid.empty()) out.invalid.resize(out.columns.empty() ? 0 : out.columns[0].first_sample.size() - 1);
  if (row < out.invalid.size()) out.invalid[row] = 1;
}

void decode(const Decoder& decoder, std::size_t chunk, const Lengths& lengths, Feed& feed, Chunk& out) {
  out.reset(decoder.streams);
  if (decoder.header.layout == Layout::legacy) {
    decode_legacy(decoder, chunk, feed, out);
    return;
  }
  const ChunkRow& row = decoder.header.rows[chunk];
  feed.seek(row.begin + std::uint64_t{row.sequences} * 4);
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    StreamDecoder stream(decoder, chunk, i, lengths, feed, out);
    decoder.header.streams[i].storage == Storage::dense ? stream.dense() : stream.sparse();
  }
  if (feed.left() > 0) {
    decoder.sink.warning(decoder.faults.make("cbf.trailing-bytes-in-chunk", feed.at(),
                                             "chunk " + std::to_string(chunk) + ": " + std::to_string(feed.left()) +
                                                 " bytes are left behind its last stream"));
  }
  if (decoder.check) compare_lengths(decoder, chunk, lengths, out);
}

}  // namespace batchfeed::cbf
