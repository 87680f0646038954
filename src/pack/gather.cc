// SPDX-License-Identifier: MIT
#include "pack/gather.h"

#include <algorithm>
#include <cstring>

#include "base/saturate.h"
#include "pack/narrow.h"

namespace batchfeed::pack {
namespace {

constexpr std::size_t kLine = 64;
// Prefetched ahead of a copy, in bytes and runs: enough to hide the latency of memory, and no more than
// the first-level cache has room for beside the copy.
constexpr std::size_t kAheadBytes = 8 << 10;
constexpr std::size_t kMostAhead = 16;
// Bytes prefetched of one run; the CPU fetches what follows by itself.
constexpr std::size_t kMostOfRun = 2 << 10;

template <bool far>
void prefetch(const void* from, std::size_t bytes) noexcept {
#ifdef __GNUC__
  const char* const begin = static_cast<const char*>(from);
  const char* const end = begin + std::min(bytes, kMostOfRun);
  for (const char* line = begin; line < end; line += kLine) __builtin_prefetch(line, 0, far ? 2 : 3);
#endif
}

std::size_t runs_ahead(std::size_t bytes, std::size_t runs) noexcept {
  return std::clamp<std::size_t>(kAheadBytes * runs / std::max<std::size_t>(bytes, 1), 1, kMostAhead);
}

const std::byte* place(const Run& run, std::size_t each) noexcept {
  return run.column->values.data() + run.first * (run.narrow ? 1 : each);
}

// How many bytes are stored for so many bytes of floats.
std::size_t stored(std::size_t bytes, bool narrow) noexcept { return narrow ? bytes / sizeof(float) : bytes; }

void copy(const std::byte* from, std::size_t bytes, bool narrow, std::byte* to) noexcept {
  if (narrow) {
    widen(reinterpret_cast<const std::uint8_t*>(from), bytes / sizeof(float), reinterpret_cast<float*>(to));
  } else {
    std::memcpy(to, from, bytes);
  }
}

// Copies the samples of a dense run one after the other; in the column they may overlap. Returns the end.
template <bool narrow>
std::byte* copy_samples(const Run& run, std::size_t each, std::size_t sample, std::byte* to) noexcept {
  const Column& column = *run.column;
  if (run.samples == 0) return to;
  const std::byte* from = place(run, each);
  if (column.step == column.dim || run.samples == 1) {
    copy(from, sample * run.samples, narrow, to);
    return to + sample * run.samples;
  }
  for (std::uint32_t i = 0; i < run.samples; ++i, to += sample, from += column.step * (narrow ? 1 : each))
    copy(from, sample, narrow, to);
  return to;
}

template <bool far>
void copy_dense(std::span<const Run> runs, std::size_t sample, StreamBatch& out) noexcept {
  const std::size_t each = size_of(out.element);
  const std::size_t ahead = runs_ahead(out.values.size(), runs.size());
  std::byte* to = out.values.data();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i + ahead < runs.size()) {
      const Run& later = runs[i + ahead];
      prefetch<far>(place(later, each), stored(sample * later.samples, later.narrow));
    }
    to =
        runs[i].narrow ? copy_samples<true>(runs[i], each, sample, to) : copy_samples<false>(runs[i], each, sample, to);
  }
}

// A label has one value, for which a call of memcpy() takes longer than the copy.
template <class T>
T* copy_values(const T* from, std::uint32_t count, T* to) noexcept {
  if (count == 1) {
    *to = *from;
  } else if (count != 0) {
    std::memcpy(to, from, count * sizeof(T));
  }
  return to + count;
}

// Finds the place of each sample once, when it is prefetched.
template <bool far, bool narrow>
bool copy_each(std::size_t s, std::span<const Slice> slices, std::size_t sample, std::byte* to) noexcept {
  static_assert((kMostAhead & (kMostAhead - 1)) == 0);
  const std::byte* places[kMostAhead] = {};
  const std::size_t size = stored(sample, narrow);
  const std::size_t ahead = std::min(runs_ahead(sample, 1), slices.size());
  for (std::size_t i = 0; i < slices.size() + ahead; ++i) {
    const std::byte* const ready = places[(i - ahead) % kMostAhead];
    if (i < slices.size()) {
      const Slice& slice = slices[i];
      if (!slice.is_sample_of(s) || slice.plain[s].narrow != narrow) return false;
      const Column& column = slice.chunk->columns[s];
      if (column.storage != Storage::dense) return false;
      const std::byte* const place = column.values.data() + std::size_t{slice.row} * size;
      places[i % kMostAhead] = place;
      prefetch<far>(place, size);
    }
    if (i < ahead) continue;
    copy(ready, sample, narrow, to);
    to += sample;
  }
  return true;
}

template <class T>
void copy_sparse(std::span<const Run> runs, std::size_t ahead, StreamBatch& out) noexcept {
  T* values = reinterpret_cast<T*>(out.values.data());
  std::int32_t* indices = out.indices.data();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i + ahead < runs.size()) {
      const Run& later = runs[i + ahead];
      if (!later.narrow) prefetch<false>(later.column->as<T>() + later.first, later.values * sizeof(T));
      prefetch<false>(later.column->indices.data() + later.first, later.values * sizeof(std::int32_t));
    }
    const Run& run = runs[i];
    values = run.narrow ? std::fill_n(values, run.values, T{1})
                        : copy_values(run.column->as<T>() + run.first, run.values, values);
    indices = copy_values(run.column->indices.data() + run.first, run.values, indices);
  }
}

// Where the values of the n-th sample of a run begin.
std::uint64_t value_begin(const Run& run, std::uint32_t n) noexcept {
  return run.narrow ? run.first + n : run.column->first_value[run.first + n];
}

// Sparse samples as dense rows. A first pass reads `first_value`, which tells where their values are.
template <class T>
void scatter(std::span<Run> runs, std::size_t sample, StreamBatch& out) noexcept {
  for (Run& run : runs) run.values = static_cast<std::uint32_t>(value_begin(run, run.samples) - value_begin(run, 0));
  std::byte* to = out.values.data();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i + kMostAhead < runs.size()) {
      const Run& later = runs[i + kMostAhead];
      const std::uint64_t begin = value_begin(later, 0);
      if (!later.narrow) prefetch<false>(later.column->as<T>() + begin, later.values * sizeof(T));
      prefetch<false>(later.column->indices.data() + begin, later.values * sizeof(std::int32_t));
    }
    const Run& run = runs[i];
    const Column& column = *run.column;
    std::memset(to, 0, sample * run.samples);
    for (std::uint32_t n = 0; n < run.samples; ++n, to += sample) {
      T* const row = reinterpret_cast<T*>(to);
      for (std::uint64_t k = value_begin(run, n), end = value_begin(run, n + 1); k < end; ++k)
        row[column.indices[k]] = run.narrow ? T{1} : column.as<T>()[k];
    }
  }
}

}  // namespace

bool in_order(std::span<const Slice> slices) noexcept {
  constexpr std::size_t kFew = 4;
  if (slices.size() < kFew) return false;
  for (std::size_t i = 1; i < kFew; ++i) {
    const Slice &slice = slices[i], &before = slices[i - 1];
    if (slice.chunk != before.chunk) return false;
    const bool rows = slice.is_whole() && before.is_whole() && slice.row == before.row + 1;
    const bool parts = slice.row == before.row && slice.first == std::uint64_t{before.first} + before.count;
    if (!rows && !parts) return false;
  }
  return true;
}

std::size_t following(std::span<const Slice> slices) noexcept {
  const Slice& first = slices[0];
  std::size_t n = 1;
  if (first.is_whole()) {
    while (n < slices.size() && slices[n].chunk == first.chunk && slices[n].row == first.row + n &&
           slices[n].is_whole())
      ++n;
  } else if (first.count == 1) {
    while (n < slices.size() && slices[n].chunk == first.chunk && slices[n].row == first.row &&
           slices[n].first == first.first + n && slices[n].count == 1)
      ++n;
  }
  return n;
}

void gather_dense(std::span<Run> runs, bool far, StreamBatch& out) {
  const auto sample = static_cast<std::size_t>(mul_sat(out.dim, size_of(out.element)));
  out.values.resize(static_cast<std::size_t>(mul_sat(sample, out.samples())));
  if (runs.empty() || out.values.empty()) return;
  if (runs[0].column->storage == Storage::sparse) {
    out.element == Element::f32 ? scatter<float>(runs, sample, out) : scatter<double>(runs, sample, out);
    return;
  }
  far ? copy_dense<true>(runs, sample, out) : copy_dense<false>(runs, sample, out);
}

void gather_sparse(std::span<Run> runs, StreamBatch& out) {
  out.sample_begin.resize(static_cast<std::size_t>(out.samples()) + 1);
  std::int64_t* to = out.sample_begin.data();
  *to++ = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    if (i + kMostAhead < runs.size()) {
      const Run& later = runs[i + kMostAhead];
      if (later.values == 0 && !later.narrow)
        prefetch<false>(later.column->first_value.data() + later.first, sizeof(std::uint32_t));
    }
    if (run.values != 0 || run.narrow) {
      for (std::uint32_t n = 0; n < run.samples; ++n) *to++ = ++total;
      continue;
    }
    const std::uint32_t* begin = run.column->first_value.data() + run.first;
    run.first = begin[0];
    for (std::uint32_t n = 1; n <= run.samples; ++n) *to++ = total + (begin[n] - begin[0]);
    run.values = begin[run.samples] - begin[0];
    total += run.values;
  }
  const auto values = static_cast<std::size_t>(total);
  const std::size_t each = size_of(out.element);
  out.values.resize(values * each);
  out.indices.resize(values);
  const std::size_t ahead = runs_ahead(values * (each + sizeof(std::int32_t)), runs.size());
  out.element == Element::f32 ? copy_sparse<float>(runs, ahead, out) : copy_sparse<double>(runs, ahead, out);
}

bool gather_samples(std::size_t s, std::span<const Slice> slices, bool far, StreamBatch& out) {
  const auto sample = static_cast<std::size_t>(mul_sat(out.dim, size_of(out.element)));
  out.values.resize(static_cast<std::size_t>(mul_sat(sample, slices.size())));
  std::byte* const to = out.values.data();
  if (slices[0].plain[s].narrow)
    return far ? copy_each<true, true>(s, slices, sample, to) : copy_each<false, true>(s, slices, sample, to);
  return far ? copy_each<true, false>(s, slices, sample, to) : copy_each<false, false>(s, slices, sample, to);
}

bool gather_together(std::size_t s, std::span<const Slice> slices, StreamBatch& out) {
  const bool narrow = slices[0].plain[s].narrow;
  const auto sample = static_cast<std::size_t>(mul_sat(out.dim, size_of(out.element)));
  const std::size_t size = stored(sample, narrow);
  out.values.resize(static_cast<std::size_t>(mul_sat(sample, slices.size())));
  std::byte* to = out.values.data();
  for (std::size_t n; !slices.empty(); slices = slices.subspan(n)) {
    const Slice& first = slices[0];
    const Column& column = first.chunk->columns[s];
    if (!first.is_sample_of(s) || first.plain[s].narrow != narrow || column.storage != Storage::dense) return false;
    n = following(slices);
    copy(column.values.data() + std::size_t{first.row} * size, sample * n, narrow, to);
    to += sample * n;
  }
  return true;
}

}  // namespace batchfeed::pack
