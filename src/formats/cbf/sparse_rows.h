// SPDX-License-Identifier: MIT
//
// Copies sequences of a sparse stream that lie whole in memory to the column, and checks them on
// the way, with vector code for the CPU at hand. Tiers differ in time alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/cursor.h"

namespace batchfeed::cbf {

struct SparseRows {
  const std::byte* at;      // the next sequence, as in decode.h; 64 readable bytes before it
  const std::byte* end;     // of the bytes at hand; 64 readable ones behind it
  const std::byte* before;  // begin of the last sequence taken
  std::uint32_t sequence;   // number of the next one
  std::uint32_t sequences;  // of the chunk
  std::uint32_t samples;    // of all sequences before the next one
  std::size_t room;         // samples for which first_value has space
  std::size_t width;        // bytes of a value
  std::uint64_t longest;    // samples that a sequence may have
  std::uint64_t dim;
  // Where the next sequence goes, with space for all bytes at hand and for 64 more.
  std::byte* values;
  std::byte* indices;
  std::uint32_t* first_value;   // element of the next sample: the number of its first entry
  std::uint32_t* first_sample;  // of sequence 0
};

// Takes sequences until one reaches beyond the end, is too long, has no room, or its counts disagree; that one is not
// taken, and is the next. Returns false right after it has taken a sequence whose indices are not sound.
using TakeRows = bool (*)(SparseRows& rows) noexcept;
TakeRows take_rows(std::string_view tier) noexcept;

// Writes where the entries of each of n samples begin, from first[0] on, to first[1..n]; false if the counts do not
// add up to `count`, the entries of the sequence, or one is negative.
inline bool add_counts(const std::byte* counts, std::uint32_t n, std::uint64_t count, std::uint32_t* first) noexcept {
  const std::uint32_t before = first[0];
  std::uint64_t sum = 0;
  std::int32_t signs = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto size = load<std::int32_t>(counts + std::size_t{i} * 4);
    signs |= size;
    sum += static_cast<std::uint32_t>(size);
    first[i + 1] = static_cast<std::uint32_t>(before + sum);
  }
  return signs >= 0 && sum == count;
}

// In how many places an index is not larger than the one before it.
inline std::size_t count_falls(const std::byte* indices, std::size_t count) noexcept {
  const auto x = [indices](std::size_t i) { return load<std::int32_t>(indices + i * 4); };
  std::int32_t falls = 0;
  for (std::size_t i = 1; i < count; ++i) falls += x(i) > x(i - 1) ? 0 : 1;
  return static_cast<std::size_t>(falls);
}

// Whether indices are inside the dimension and ascend in each of the n samples, whose entries begin at first[0..n].
// `falls` is what count_falls() returned: they ascend if each fall is at the begin of a sample, and then the first and
// the last index of a sample bound those between.
inline bool sound(const std::byte* indices, std::size_t falls, const std::uint32_t* first, std::uint32_t n,
                  std::uint64_t dim) noexcept {
  const auto x = [indices](std::size_t i) { return load<std::int32_t>(indices + i * 4); };
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::size_t begin = first[k] - first[0], end = first[k + 1] - first[0];
    if (begin == end) continue;
    if (x(begin) < 0 || static_cast<std::uint32_t>(x(end - 1)) >= dim) return false;
    if (begin != 0 && x(begin) <= x(begin - 1)) --falls;
  }
  return falls == 0;
}

}  // namespace batchfeed::cbf
