// SPDX-License-Identifier: MIT
//
// Lines that have a sample of one pair for the same streams in the same order, once each, as far as
// they were found ahead (one_hots.h): all samples of a stream at a time.
#include <algorithm>

#include "formats/ctf/parse.h"

namespace batchfeed::ctf {
namespace {

// Of a stream in a chunk; one by one, the parser tells of too many.
constexpr std::uint64_t kMostSamples = 0xFFFFFFFFu;

// The marks of the first line, its newline the last, if it has one sample for each of some streams, the
// main one among them; else none.
std::span<const OneHot> first_line(std::span<const OneHot> marks, int main) noexcept {
  std::uint64_t seen = 0;
  for (std::size_t n = 0; n < marks.size(); ++n) {
    if (marks[n].note < 0) {
      const bool counts = main == Schema::kNone || (main < 64 && (seen >> main & 1) != 0);
      return marks.first(n != 0 && counts && marks[n].kind() == OneHot::kNewline ? n + 1 : 0);
    }
    const std::uint64_t bit = std::uint64_t{1} << marks[n].kind();
    if ((seen & bit) != 0) break;
    seen |= bit;
  }
  return {};
}

bool same_kinds(std::span<const OneHot> line, const OneHot* other) noexcept {
  bool same = true;
  for (std::size_t i = 0; i < line.size(); ++i) same &= line[i].kind() == other[i].kind();
  return same;
}

// How many samples of one value a column has room for.
template <class Stream>
std::uint64_t room(const Stream& s) noexcept {
  const std::uint64_t samples = std::min(s.first_capacity, kMostSamples);
  return s.stored + 2 > samples ? 0 : std::min(s.capacity - s.values, samples - s.stored - 2);
}

// Writes the samples of one stream behind its column, of which they are no part yet; they stand `width`
// marks apart. False: one has an index that the stream does not.
template <class T, class Stream>
bool write_alike(const Stream& s, const OneHot* mark, std::size_t width, std::size_t lines) noexcept {
  bool fits = true;
  for (std::size_t n = 0; n < lines; ++n, mark += width) {
    fits &= static_cast<std::uint64_t>(mark->index) < s.dim;
    s.out[s.values + n] = static_cast<T>(mark->value());
    s.indices[s.values + n] = mark->index;
    s.first_value[s.stored + 1 + n] = static_cast<std::uint32_t>(s.values + 1 + n);
  }
  return fits;
}

}  // namespace

// Gives the line behind them, or p if it cannot read any.
template <class T>
const char* Parser<T>::alike_lines(const char* p, const char* const end) {
  const std::span<const OneHot> marks = marks_.ahead(), line = first_line(marks, schema_.main());
  if (line.empty()) return p;
  const std::size_t width = line.size();
  const std::span<const OneHot> samples = line.first(width - 1);
  const auto stream = [&](const OneHot& mark) -> StreamState& {
    return streams_[static_cast<std::size_t>(mark.kind())];
  };
  std::uint64_t most = marks.size() / width;
  for (const OneHot& mark : samples) most = std::min(most, room(stream(mark)));
  std::size_t lines = 0;
  for (const char* next = p; lines < most && next < end && begins_like_the_last(next, marks_.ahead(lines * width)) &&
                             same_kinds(line, &marks[lines * width]);
       ++lines)
    next = marks_.ahead(lines * width + width - 1) + 1;
  if (lines == 0) return p;
  for (const OneHot& mark : samples) {
    if (!write_alike<T>(stream(mark), &mark, width, lines)) return p;
  }
  for (const OneHot& mark : samples) {
    StreamState& s = stream(mark);
    s.values += lines;
    s.stored += lines;
    s.samples += lines;
  }
  rows_ += lines;
  counted_ += lines;
  p = marks_.ahead(lines * width - 1) + 1;
  marks_.skip(lines * width);
  return p;
}

template const char* Parser<float>::alike_lines(const char*, const char*);
template const char* Parser<double>::alike_lines(const char*, const char*);

}  // namespace batchfeed::ctf
