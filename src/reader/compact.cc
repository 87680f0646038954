// SPDX-License-Identifier: MIT
#include "reader/compact.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "model/read_chunk.h"
#include "model/stream_faults.h"
#include "pack/narrow.h"
#include "pack/pack.h"

namespace batchfeed::reader {
namespace {

// Bytes of the file: of a part that is read at once, and of the smallest chunk that is read in parts.
constexpr std::uint64_t kPart = 1 << 19, kLeast = 4 << 20;
constexpr std::uint64_t kLeastDim = 16;

// Room for `whole` times the first part of a column.
void reserve(Column& column, const Column& part, double whole, bool narrow) {
  const auto of = [&](std::size_t n) { return static_cast<std::size_t>(static_cast<double>(n) * whole * 1.05) + 1; };
  column.first_sample.reserve(of(part.first_sample.size()));
  column.begin.reserve(of(part.begin.size()));
  if (!narrow) column.first_value.reserve(of(part.first_value.size()));
  column.indices.reserve(of(part.indices.size()));
}

void append_offsets(const Buffer<std::uint32_t>& from, Buffer<std::uint32_t>& to) {
  const std::uint32_t before = to.back();
  if (!from.empty()) expect_offset(std::uint64_t{before} + from.back());
  for (std::size_t i = 1; i < from.size(); ++i) to.push_back(before + from[i]);
}

void widen(Column& column) {
  Buffer<std::byte> values;
  values.resize(column.values.size() * sizeof(float));
  pack::widen(reinterpret_cast<const std::uint8_t*>(column.values.data()), column.values.size(),
              reinterpret_cast<float*>(values.data()));
  column.values = std::move(values);
}

// Appends the values of a part. If one of them does not fit into a byte, all of a narrow column become floats.
void append_values(const Column& part, Column& to, double whole, bool& narrow) {
  const std::size_t before = to.values.size();
  if (narrow) {
    const std::size_t n = part.values.size() / sizeof(float);
    if (before == 0) to.values.reserve(static_cast<std::size_t>(static_cast<double>(n) * whole * 1.05));
    to.values.resize(before + n);
    narrow = pack::narrow(part.as<float>(), n, reinterpret_cast<std::uint8_t*>(to.values.data()) + before);
    if (narrow) return;
    to.values.resize(before);
    widen(to);
  }
  if (to.values.empty())
    to.values.reserve(static_cast<std::size_t>(static_cast<double>(part.values.size()) * whole * 1.05));
  to.values.append(part.values.data(), part.values.size());
}

template <class Bits>
bool all_are(const Buffer<std::byte>& values, Bits wanted) noexcept {
  constexpr std::size_t kBlock = 512;
  const std::size_t count = values.size() / sizeof(Bits);
  for (std::size_t n = 0; n < count; n += kBlock) {
    Bits differ = 0;
    for (std::size_t i = n; i < std::min(n + kBlock, count); ++i) {
      Bits bits;
      std::memcpy(&bits, values.data() + i * sizeof bits, sizeof bits);
      differ |= bits ^ wanted;
    }
    if (differ != 0) return false;
  }
  return true;
}

bool all_ones(const Column& column) noexcept {
  return column.element == Element::f32 ? all_are(column.values, std::bit_cast<std::uint32_t>(1.0F))
                                        : all_are(column.values, std::bit_cast<std::uint64_t>(1.0));
}

// Writes out the `values` and `first_value` that a narrow sparse column leaves out.
void write_ones(Column& column) {
  const std::size_t samples = column.indices.size();
  column.first_value.resize(samples + 1);
  std::iota(column.first_value.begin(), column.first_value.end(), 0U);
  column.values.resize(samples * size_of(column.element));
  if (column.element == Element::f32) {
    std::fill_n(column.as<float>(), samples, 1.0F);
  } else {
    std::fill_n(column.as<double>(), samples, 1.0);
  }
}

void append(const Column& part, Column& to, double whole, bool& narrow) {
  if (narrow && part.storage == Storage::sparse) {
    narrow = pack::plain_of(part).values && all_ones(part);
    if (!narrow) write_ones(to);
  }
  if (to.first_sample.size() == 1) reserve(to, part, whole, narrow);
  append_offsets(part.first_sample, to.first_sample);
  if (!narrow || part.storage == Storage::dense) {
    append_offsets(part.first_value, to.first_value);
    const std::uint64_t before = to.values.size() / (narrow ? 1 : size_of(to.element));
    for (const std::uint64_t begin : part.begin) to.begin.push_back(before + begin);
    append_values(part, to, whole, narrow);
  }
  to.indices.append(part.indices.data(), part.indices.size());
}

bool is_sparse(const StreamInfo& stream) noexcept { return stream.storage == Storage::sparse; }

}  // namespace

Compactor::Compactor(const Source& source, bool reuse) : source_(source), reuse_(reuse) {
  for (const StreamInfo& stream : source.streams()) lends_.push_back(is_sparse(stream));
}

std::vector<Compactor::Loan> Compactor::lend(Chunk& chunk) {
  std::vector<Loan> out;
  {
    const std::lock_guard lock(mutex_);
    if (!loans_.empty()) {
      out = std::move(loans_.back());
      loans_.pop_back();
    }
    out.resize(lends_.size());
    for (std::size_t s = 0; s < out.size(); ++s) out[s].lent = lends_[s];
  }
  chunk.columns.resize(out.size());
  for (std::size_t s = 0; s < out.size(); ++s) {
    if (out[s].lent) out[s].swap(chunk.columns[s]);
  }
  return out;
}

void Compactor::take_back(Chunk& chunk, std::vector<pack::Plain>& known, std::vector<Loan> loans) {
  for (std::size_t s = 0; s < loans.size(); ++s) {
    Column& column = chunk.columns[s];
    if (column.storage != Storage::sparse) continue;
    known[s].narrow = known[s].values && all_ones(column);
    if (loans[s].lent && known[s].narrow) loans[s].swap(column);
  }
  if (!reuse_) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t s = 0; s < loans.size(); ++s) {
    if (!loans[s].lent || known[s].narrow) continue;
    lends_[s] = false;
    loans[s] = {};
  }
  loans_.push_back(std::move(loans));
}

bool Compactor::look(std::uint32_t id, const RowReader& rows, std::vector<pack::Plain>& known) const {
  bool any = false;
  for (std::size_t s = 0; s < known.size(); ++s) {
    const StreamInfo& info = source_.streams()[s];
    if (!is_sparse(info) && (info.element != Element::f32 || info.dim < kLeastDim)) continue;
    known[s].narrow = rows.may_be_narrow(id, s);
    any = any || known[s].narrow;
  }
  return any;
}

void Compactor::read(std::uint32_t id, std::uint32_t rows, Chunk& out, std::vector<pack::Plain>& known) {
  known.assign(source_.streams().size(), {});
  const ChunkInfo& info = source_.chunks()[id];
  const bool large = info.bytes >= kLeast && info.samples < std::numeric_limits<std::uint32_t>::max();
  const bool one_each = info.sequences == rows;  // the table leaves no row out
  const RowReader* const reader = large && one_each ? source_.row_reader(id) : nullptr;
  std::vector<Loan> loans = lend(out);
  bool done = false;
  if (reader != nullptr && look(id, *reader, known))
    read_chunk(source_, id, [&] { done = read_parts(id, *reader, out, known); });
  if (!done) {
    for (pack::Plain& plain : known) plain.narrow = false;
    read_chunk(source_, id, out);
  }
  for (std::size_t s = 0; s < known.size(); ++s) {
    const bool narrow = known[s].narrow;
    known[s] = pack::plain_of(out.columns[s]);
    known[s].narrow = narrow;
  }
  take_back(out, known, std::move(loans));
}

// False if a part has further rows behind those asked for, between which the rows of the next part would be lost.
bool Compactor::read_parts(std::uint32_t id, const RowReader& rows, Chunk& out, std::vector<pack::Plain>& known) {
  Chunk part;
  {
    const std::lock_guard lock(mutex_);
    if (!parts_.empty()) {
      part = std::move(parts_.back());
      parts_.pop_back();
    }
  }
  out.reset(source_.streams());
  const ChunkInfo& info = source_.chunks()[id];
  const auto all = static_cast<std::uint32_t>(info.sequences);
  const auto each = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(all * kPart / info.bytes, 1, all));
  for (std::uint32_t first = 0; first < all; first += each) {
    const RowRange range{first, first + std::min(each, all - first)};
    rows.read(id, range, part);
    if (part.columns.front().first_sample.size() - 1 != range.last - range.first) return false;
    const double whole = static_cast<double>(all) / (range.last - range.first);
    for (std::size_t s = 0; s < known.size(); ++s) append(part.columns[s], out.columns[s], whole, known[s].narrow);
    if (part.invalid.empty() && out.invalid.empty()) continue;
    out.invalid.resize(first, Chunk::kValid);
    part.invalid.resize(range.last - range.first, Chunk::kValid);
    out.invalid.insert(out.invalid.end(), part.invalid.begin(), part.invalid.end());
  }
  const std::lock_guard lock(mutex_);
  parts_.push_back(std::move(part));
  return true;
}

}  // namespace batchfeed::reader
