// SPDX-License-Identifier: MIT
#include "formats/cbf/decode.h"

#include <algorithm>

#include "base/counted.h"
#include "formats/cbf/legacy.h"
#include "formats/cbf/stream_job.h"

namespace batchfeed::cbf {
namespace {

// The lengths announced in front of the chunk steer scheduling only and may
// differ from what the streams hold; a check says so.
void compare_lengths(const Decoder& decoder, std::size_t chunk, const Lengths& lengths, const Chunk& out) {
  const FileChunk& stored = decoder.header.chunks[chunk];
  for (std::uint32_t s = 0; s < stored.sequences; ++s) {
    std::uint32_t longest = 0;
    for (const Column& column : out.columns) longest = std::max(longest, column.samples(s));
    if (lengths[s] == longest) continue;
    decoder.sink.warning(decoder.faults.make("cbf.sample-count-differs", stored.begin + std::uint64_t{s} * 4,
                                             "chunk " + std::to_string(chunk) + ", sequence " + std::to_string(s) +
                                                 ": its length is given as " + std::to_string(lengths[s]) +
                                                 ", its longest stream has " + counted(longest, "sample"),
                                             "minibatches are counted with the given length"));
  }
}

void decode_modern(const Decoder& decoder, std::size_t chunk, const Lengths& lengths, Feed& feed, Chunk& out) {
  const FileChunk& stored = decoder.header.chunks[chunk];
  feed.seek(stored.begin + std::uint64_t{stored.sequences} * 4);
  for (std::size_t i = 0; i < out.columns.size(); ++i) {
    const FileStream& stream = decoder.header.streams[i];
    const StreamJob job{decoder, chunk, stored, stream, lengths, feed, out, out.columns[i], 0};
    stream.storage == Storage::dense ? decode_dense(job) : decode_sparse(job);
  }
}

}  // namespace

void Decoder::damaged(Chunk& out, std::uint32_t row, Fault fault) const {
  if (!check) throw Error(std::move(fault));
  sink.error(std::move(fault));
  if (out.invalid.empty())
    out.invalid.resize(out.columns.empty() ? 0 : out.columns[0].first_sample.size() - 1, Chunk::kValid);
  if (row < out.invalid.size()) out.invalid[row] = Chunk::kPaid;
}

std::string StreamJob::who(std::uint32_t sequence) const {
  return "chunk " + std::to_string(chunk) + ", stream '" + printable(stream.name) + "', sequence " +
         std::to_string(first + sequence);
}

void StreamJob::truncated(std::uint32_t sequence, std::uint64_t at, std::uint32_t samples, std::uint64_t bytes) const {
  decoder.faults.fail("cbf.sequence-truncated", at,
                      who(sequence) + ": " + counted(bytes, "byte") + " needed for " + counted(samples, "sample") +
                          ", " + std::to_string(feed.left()) + " left in the chunk",
                      {}, stream.name);
}

void StreamJob::too_many_values(std::uint64_t at, std::uint64_t n) const {
  decoder.faults.over_limit("limit.chunk-values", at,
                            "stream '" + printable(stream.name) + "': values in chunk " + std::to_string(chunk), n,
                            most_values(decoder.limits), "chunk_values");
}

void StreamJob::too_long(std::uint64_t at, std::uint32_t n) const {
  decoder.faults.over_limit("limit.sequence-samples", at,
                            "stream '" + printable(stream.name) + "': samples of one sequence", n,
                            decoder.limits.sequence_samples, "sequence_samples");
}

void decode(const Decoder& decoder, std::size_t chunk, const Lengths& lengths, Feed& feed, Chunk& out) {
  out.reset(decoder.streams);
  const bool legacy = decoder.header.layout == Layout::legacy;
  legacy ? decode_legacy(decoder, chunk, feed, out) : decode_modern(decoder, chunk, lengths, feed, out);
  if (feed.left() > 0) {
    decoder.sink.warning(decoder.faults.make(
        "cbf.trailing-bytes-in-chunk", feed.at(),
        "chunk " + std::to_string(chunk) + ": " + counted(feed.left(), "byte") + " left behind its last stream"));
  }
  if (decoder.check && !legacy) compare_lengths(decoder, chunk, lengths, out);
}

}  // namespace batchfeed::cbf
