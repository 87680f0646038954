// SPDX-License-Identifier: MIT
//
// A summary of a corpus, from its metadata alone.
#include <batchfeed/tools.h>

#include <algorithm>
#include <map>

namespace batchfeed {

namespace {

// Exact counts of lengths; memory grows only with the number of different lengths.
class LengthCounts {
 public:
  void add(std::uint64_t length) {
    if (length < kSmall) {
      ++small_[length];
    } else {
      ++large_[length];
    }
    ++total_;
    sum_ += static_cast<double>(length);
  }

  Description::Lengths summary() const {
    Description::Lengths out;
    if (total_ == 0) return out;
    out.mean = sum_ / static_cast<double>(total_);
    const auto rank = [&](std::uint64_t percent) { return (total_ * percent + 99) / 100; };
    std::uint64_t seen = 0;
    const auto visit = [&](std::uint64_t length, std::uint64_t count) {
      if (count == 0) return;
      if (seen == 0) out.min = length;
      const std::uint64_t upto = seen + count;
      if (seen < rank(50) && upto >= rank(50)) out.p50 = length;
      if (seen < rank(90) && upto >= rank(90)) out.p90 = length;
      if (seen < rank(99) && upto >= rank(99)) out.p99 = length;
      out.max = length;
      seen = upto;
    };
    for (std::size_t length = 0; length < kSmall; ++length) visit(length, small_[length]);
    for (const auto& [length, count] : large_) visit(length, count);
    return out;
  }

  std::vector<Description::Step> steps() const {
    std::vector<Description::Step> out = {{.most = 1}};
    const auto visit = [&](std::uint64_t length, std::uint64_t count) {
      if (count == 0) return;
      while (out.back().most < length) out.push_back({.most = next_step(out.back().most)});
      out.back().sequences += count;
    };
    for (std::size_t length = 0; length < kSmall; ++length) visit(length, small_[length]);
    for (const auto& [length, count] : large_) visit(length, count);
    const auto first = std::find_if(out.begin(), out.end(), [](const auto& s) { return s.sequences != 0; });
    out.erase(out.begin(), first);
    return out;
  }

 private:
  // The next larger of 1, 2, 5, 10, 20, 50 ...
  static std::uint64_t next_step(std::uint64_t step) {
    std::uint64_t digit = step;
    while (digit >= 10) digit /= 10;
    return digit == 2 ? step / 2 * 5 : step * 2;
  }

  static constexpr std::size_t kSmall = 4096;
  std::vector<std::uint64_t> small_ = std::vector<std::uint64_t>(kSmall);
  std::map<std::uint64_t, std::uint64_t> large_;
  std::uint64_t total_ = 0;
  double sum_ = 0;
};

}  // namespace

Description describe(const Source& source) {
  Description out;
  out.streams = source.streams();
  out.notices = source.notices();
  LengthCounts lengths;
  std::vector<SequenceInfo> table;
  const std::vector<ChunkInfo>& chunks = source.chunks();
  out.chunks = chunks.size();
  for (std::uint32_t c = 0; c < chunks.size(); ++c) {
    out.sequences += chunks[c].sequences;
    out.samples += chunks[c].samples;
    out.bytes += chunks[c].bytes;
    out.largest_chunk_bytes = std::max(out.largest_chunk_bytes, chunks[c].bytes);
    out.smallest_chunk_bytes = c == 0 ? chunks[c].bytes : std::min(out.smallest_chunk_bytes, chunks[c].bytes);
    source.sequences(c, table);
    for (const SequenceInfo& sequence : table) lengths.add(sequence.samples);
  }
  out.lengths = lengths.summary();
  out.steps = lengths.steps();
  return out;
}

}  // namespace batchfeed
