// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "base/saturate.h"
#include "formats/cbf/stream_job.h"

namespace batchfeed::cbf {
namespace {

// Reads a stream of 4-byte values as it stands, lengths included: the values of a sequence
// begin one element behind its length. The lengths have to be those announced, so that the end
// of the stream is known before it is read. False, and nothing taken from the feed: not possible.
bool in_place(const StreamJob& job) {
  Column& column = job.column;
  if (job.stream.element != Element::f32 || column.element != Element::f32) return false;
  if constexpr (std::endian::native != std::endian::little) return false;
  const std::uint64_t dim = job.stream.dim;
  const std::uint64_t elements = add_sat(job.stored.sequences, mul_sat(job.lengths.sum(), dim));
  if (elements > job.feed.left() / 4 || elements > most_values(job.decoder.limits)) return false;
  const std::uint64_t start = job.feed.at();
  const auto total = static_cast<std::size_t>(elements) * 4;
  column.values.resize(total);
  std::byte* const values = column.values.data();
  std::uint64_t head = 0;  // of the next sequence, in elements
  std::uint32_t s = 0;
  std::uint32_t first = 0;
  for (std::size_t done = 0; done < total;) {
    const std::size_t part = std::min(total - done, Feed::kPiece);
    job.feed.copy(values + done, part);
    done += part;
    for (; s < job.stored.sequences && head * 4 < done; ++s) {
      const std::uint32_t n = job.lengths[s];
      if (load<std::uint32_t>(values + head * 4) != n || n > job.decoder.limits.sequence_samples) {
        job.feed.seek(start);
        column.values.clear();
        return false;
      }
      column.begin[s] = head + 1;
      column.first_sample[s + 1] = first += n;
      head += 1 + n * dim;
    }
  }
  return true;
}

}  // namespace

void decode_dense(const StreamJob& job) {
  Column& column = job.column;
  column.first_sample.resize(std::size_t{job.stored.sequences} + 1);
  column.begin.resize(job.stored.sequences);
  if (in_place(job)) return;
  const std::uint64_t dim = job.stream.dim;
  const std::uint64_t width = size_of(job.stream.element);
  std::uint64_t samples = 0;
  column.values.clear();
  for (std::uint32_t s = 0; s < job.stored.sequences; ++s) {
    const std::uint64_t at = job.feed.at();
    if (job.feed.left() < 4) job.truncated(s, at, 0, 4);
    const auto n = job.feed.get<std::uint32_t>();
    if (n > job.feed.left() / width / dim) job.truncated(s, at, n, mul_sat(mul_sat(n, dim), width));
    job.limit_samples(at, n);
    column.begin[s] = column.values.size() / size_of(column.element);
    samples += n;
    job.limit_values(at, samples);
    job.limit_values(at, samples * dim);
    column.first_sample[s + 1] = static_cast<std::uint32_t>(samples);
    append_values(job.feed, n * dim, job.stream.element, column);
  }
}

}  // namespace batchfeed::cbf
