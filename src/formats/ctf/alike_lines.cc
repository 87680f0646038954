// SPDX-License-Identifier: MIT
//
// Reads lines that have one sample of one pair for each of the same streams, in the same order, as far as
// they were found ahead (one_hots.h): all samples of a stream at a time.
#include <algorithm>

#include "formats/ctf/parse.h"

namespace batchfeed::ctf {
namespace {

// The notes of the first line, its newline the last, if it has one sample for each of some streams, the
// main one among them; else none.
std::span<const std::int16_t> first_line(std::span<const std::int16_t> notes, int main) noexcept {
  std::uint64_t seen = 0;
  for (std::size_t n = 0; n < notes.size(); ++n) {
    const int kind = OneHot{.note = notes[n]}.kind();
    if (kind < 0) {
      const bool counts = main == Schema::kNone || (main < 64 && (seen >> main & 1) != 0);
      return notes.first(n != 0 && counts && kind == OneHot::kNewline ? n + 1 : 0);
    }
    const std::uint64_t bit = std::uint64_t{1} << kind;
    if ((seen & bit) != 0) break;
    seen |= bit;
  }
  return {};
}

// How many samples of one value a column has room for.
template <class Stream>
std::uint64_t room(const Stream& s) noexcept {
  const std::uint64_t samples = std::min(s.first_capacity, kMostSamples);
  return s.stored + 2 > samples ? 0 : std::min(s.capacity - s.values, samples - s.stored - 2);
}

// The samples of one stream in lines alike, which stand `width` marks apart.
struct Samples {
  const std::int32_t* index;
  const std::int16_t* note;
  std::size_t width, lines;
  bool same_value;
};

// Writes them behind the stream's column, of which they are no part yet. False: an index is not in its dimension.
template <class T, class Stream>
bool write_alike(const Stream& s, const Samples& from) noexcept {
  std::int32_t* const indices = s.indices + s.values;
  std::uint32_t largest = 0;
  for (std::size_t n = 0; n < from.lines; ++n) {
    indices[n] = from.index[n * from.width];
    largest = std::max(largest, static_cast<std::uint32_t>(indices[n]));
  }
  T* const values = s.out + s.values;
  const auto value = [&](std::size_t n) { return static_cast<T>(OneHot{.note = from.note[n * from.width]}.value()); };
  if (from.same_value) {
    std::fill_n(values, from.lines, value(0));
  } else {
    for (std::size_t n = 0; n < from.lines; ++n) values[n] = value(n);
  }
  std::uint32_t* const first = s.first_value + s.stored + 1;
  for (std::size_t n = 0; n < from.lines; ++n) first[n] = static_cast<std::uint32_t>(s.values + 1 + n);
  return largest < s.dim;
}

}  // namespace

// Returns the line behind those it has read, or p if it cannot read any.
template <class T>
const char* Parser<T>::alike_lines(const char* p, const char* const end) {
  const std::span<const std::int16_t> line = first_line(marks_.notes(), schema_.main());
  if (line.empty()) return p;
  const std::size_t width = line.size();
  const MarkList::Alike alike = marks_.alike(width);
  const auto stream = [&](std::size_t sample) -> StreamState& {
    return streams_[static_cast<std::size_t>(OneHot{.note = line[sample]}.kind())];
  };
  std::uint64_t most = alike.marks / width;
  for (std::size_t i = 0; i + 1 < width; ++i) most = std::min(most, room(stream(i)));
  std::size_t lines = 0;
  for (const char* next = p; lines < most && next < end && begins_like_the_last(next, marks_.ahead(lines * width));
       ++lines)
    next = marks_.ahead(lines * width + width - 1) + 1;
  if (lines == 0) return p;
  for (std::size_t i = 0; i + 1 < width; ++i) {
    const Samples samples{.index = marks_.indices() + i,
                          .note = line.data() + i,
                          .width = width,
                          .lines = lines,
                          .same_value = alike.values};
    if (!write_alike<T>(stream(i), samples)) return p;
  }
  for (std::size_t i = 0; i + 1 < width; ++i) {
    StreamState& s = stream(i);
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
