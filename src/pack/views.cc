// SPDX-License-Identifier: MIT
//
// The other forms of a packed stream: padded, and CNTK's columns.
#include <batchfeed/error.h>
#include <batchfeed/minibatch.h>

#include <algorithm>
#include <cstring>

#include "base/saturate.h"

namespace batchfeed {
namespace {

// Sizes that no memory has throw std::bad_alloc.
void zero(Buffer<std::byte>& bytes, std::uint64_t size) {
  bytes.resize(static_cast<std::size_t>(size));
  if (size != 0) std::memset(bytes.data(), 0, bytes.size());
}

// Writes sample n of the stream as `dim` dense values to zeroed memory.
void put_sample(const StreamBatch& stream, std::size_t n, std::byte* to) {
  const std::size_t each = size_of(stream.element);
  if (stream.storage == Storage::dense) {
    std::memcpy(to, stream.values.data() + n * stream.dim * each, static_cast<std::size_t>(stream.dim) * each);
    return;
  }
  for (auto k = static_cast<std::size_t>(stream.sample_begin[n]);
       k < static_cast<std::size_t>(stream.sample_begin[n + 1]); ++k) {
    std::memcpy(to + static_cast<std::size_t>(stream.indices[k]) * each, stream.values.data() + k * each, each);
  }
}

// Packed sample that stands in each column, or -1 for a gap.
Buffer<std::int64_t> sample_of_column(const StreamBatch& stream) {
  const Layout& layout = stream.layout;
  Buffer<std::int64_t> out;
  out.resize(static_cast<std::size_t>(mul_sat(layout.rows, layout.steps)));
  std::fill(out.begin(), out.end(), -1);
  for (std::size_t e = 0; e < layout.sequences; ++e) {
    const LayoutEntry& entry = layout.entries[e];
    auto column = static_cast<std::size_t>(std::max<std::int64_t>(entry.begin, 0)) * layout.rows + entry.row;
    for (std::int64_t n = stream.offsets[e]; n < stream.offsets[e + 1]; ++n, column += layout.rows) out[column] = n;
  }
  return out;
}

}  // namespace

PaddedView StreamBatch::padded() const {
  PaddedView view;
  view.sequences = layout.sequences;
  view.dim = dim;
  for (std::size_t e = 0; e < layout.sequences; ++e) {
    view.steps = std::max(view.steps, static_cast<std::uint64_t>(offsets[e + 1] - offsets[e]));
  }
  const std::uint64_t cells = mul_sat(view.sequences, view.steps);
  const auto sample = static_cast<std::size_t>(mul_sat(dim, size_of(element)));
  zero(view.values, mul_sat(cells, sample));
  view.mask.resize(static_cast<std::size_t>(cells));
  std::fill(view.mask.begin(), view.mask.end(), std::uint8_t{0});
  for (std::size_t e = 0; e < layout.sequences; ++e) {
    std::size_t cell = e * static_cast<std::size_t>(view.steps);
    for (std::int64_t n = offsets[e]; n < offsets[e + 1]; ++n, ++cell) {
      put_sample(*this, static_cast<std::size_t>(n), view.values.data() + cell * sample);
      view.mask[cell] = 1;
    }
  }
  return view;
}

CntkDenseView StreamBatch::cntk_dense() const {
  CntkDenseView view;
  view.dim = dim;
  const Buffer<std::int64_t> at = sample_of_column(*this);
  view.columns = at.size();
  const auto sample = static_cast<std::size_t>(mul_sat(dim, size_of(element)));
  zero(view.values, mul_sat(at.size(), sample));
  for (std::size_t c = 0; c < at.size(); ++c) {
    if (at[c] >= 0) put_sample(*this, static_cast<std::size_t>(at[c]), view.values.data() + c * sample);
  }
  return view;
}

CntkSparseView StreamBatch::cntk_sparse() const {
  CntkSparseView view;
  if (storage != Storage::sparse) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "pack.not-sparse",
                      .what = "stream '" + name + "' is dense, it has no sparse columns",
                      .hint = "use cntk_dense()",
                      .stream = name});
  }
  const std::size_t each = size_of(element);
  const Buffer<std::int64_t> at = sample_of_column(*this);
  view.values.reserve(values.size());
  view.indices.reserve(indices.size());
  view.columns.reserve(at.size() + 1);
  view.columns.push_back(0);
  for (const std::int64_t n : at) {
    if (n >= 0) {
      const auto from = static_cast<std::size_t>(sample_begin[static_cast<std::size_t>(n)]);
      const auto count = static_cast<std::size_t>(sample_begin[static_cast<std::size_t>(n) + 1]) - from;
      view.values.append(values.data() + from * each, count * each);
      view.indices.append(indices.data() + from, count);
    }
    view.columns.push_back(static_cast<std::int64_t>(view.indices.size()));
  }
  return view;
}

const StreamBatch* Minibatch::find(std::string_view name) const noexcept {
  const auto found = std::find_if(streams.begin(), streams.end(), [&](const StreamBatch& s) { return s.name == name; });
  return found == streams.end() ? nullptr : &*found;
}

const StreamBatch& Minibatch::operator[](std::string_view name) const {
  if (const StreamBatch* stream = find(name)) return *stream;
  std::string known;
  for (const StreamBatch& s : streams) known += (known.empty() ? "" : ", ") + s.name;
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = "minibatch.no-stream",
                    .what = "no stream '" + std::string(name) + "' in this minibatch",
                    .hint = known.empty() ? "it has no data" : "it has " + known});
}

}  // namespace batchfeed
