// SPDX-License-Identifier: MIT
#include <algorithm>

#include "formats/ctf/parse.h"

namespace batchfeed::ctf {

// Of a stream in a chunk; one by one, the parser tells of too many.
constexpr std::uint64_t kMostSamples = 0xFFFFFFFFu;

// Lines that have a sample of one pair for the same streams in the same order, once each, as far as they
// were found ahead (one_hots.h): all samples of a stream at a time. Gives the line behind them.
template <class T>
const char* Parser<T>::alike_lines(const char* p, const char* const end) {
  const std::span<const OneHot> hots = marks_.ahead();
  std::size_t width = 0;  // of a line, in marks
  std::uint64_t seen = 0;
  for (; width < hots.size() && hots[width].note >= 0; ++width) {
    const std::uint64_t bit = std::uint64_t{1} << hots[width].kind();
    if ((seen & bit) != 0) return p;
    seen |= bit;
  }
  if (width == 0 || width == hots.size() || hots[width].kind() != OneHot::kNewline) return p;
  ++width;
  if (const int main = schema_.main(); main != Schema::kNone && (main >= 64 || (seen >> main & 1) == 0)) return p;
  std::size_t most = hots.size() / width;
  for (std::size_t i = 0; i + 1 < width; ++i) {
    const StreamState& s = streams_[static_cast<std::size_t>(hots[i].kind())];
    if (s.stored + 2 > std::min(s.first_capacity, kMostSamples)) return p;
    most =
        std::min<std::uint64_t>({most, s.capacity - s.values, std::min(s.first_capacity, kMostSamples) - s.stored - 2});
  }
  std::size_t lines = 0;
  for (const char* next = p; lines < most && next < end && begins_like_the_last(next, marks_.ahead(lines * width));
       ++lines) {
    const OneHot* const line = hots.data() + lines * width;
    bool alike = true;
    for (std::size_t i = 0; i < width; ++i) alike &= line[i].kind() == hots[i].kind();
    if (!alike) break;
    next = marks_.ahead(lines * width + width - 1) + 1;
  }
  if (lines == 0) return p;
  for (std::size_t i = 0; i + 1 < width; ++i) {
    const StreamState& s = streams_[static_cast<std::size_t>(hots[i].kind())];
    const OneHot* hot = hots.data() + i;
    bool fits = true;
    for (std::size_t n = 0; n < lines; ++n, hot += width) {
      fits &= static_cast<std::uint64_t>(hot->index) < s.dim;
      s.out[s.values + n] = static_cast<T>(hot->value());
      s.indices[s.values + n] = hot->index;
      s.first_value[s.stored + 1 + n] = static_cast<std::uint32_t>(s.values + 1 + n);
    }
    if (!fits) return p;
  }
  for (std::size_t i = 0; i + 1 < width; ++i) {
    StreamState& s = streams_[static_cast<std::size_t>(hots[i].kind())];
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
