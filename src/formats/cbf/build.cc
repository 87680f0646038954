// SPDX-License-Identifier: MIT
#include "formats/cbf/build.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/counted.h"
#include "formats/cbf/decode.h"
#include "formats/cbf/faults.h"

namespace batchfeed::cbf {
namespace {

[[noreturn]] void refuse(const char* id, const std::string& path, std::string what, std::string hint = {},
                         const std::string& stream = {}) {
  throw Error(Fault{.kind = FaultKind::usage,
                    .id = id,
                    .at = {.file = path},
                    .what = std::move(what),
                    .hint = std::move(hint),
                    .stream = stream});
}

constexpr std::uint64_t kMaxI32 = 0x7FFFFFFF;

template <class T>
void put(Buffer<std::byte>& to, T value) {
  const T stored = as_stored(value);
  const std::size_t old = to.size();
  to.resize(old + sizeof(T));
  std::memcpy(to.data() + old, &stored, sizeof(T));
}

template <class T>
void put_all(Buffer<std::byte>& to, const T* from, std::size_t n) {
  if constexpr (std::endian::native == std::endian::little) {
    const std::size_t old = to.size();
    to.resize(old + n * sizeof(T));
    if (n != 0) std::memcpy(to.data() + old, from, n * sizeof(T));
  } else {
    for (std::size_t i = 0; i < n; ++i) put(to, from[i]);
  }
}

template <class From, class To>
void put_converted(Buffer<std::byte>& to, const std::byte* from, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    put(to, static_cast<To>(value));
  }
}

std::uint64_t piece_bytes(const StreamInfo& info, const Piece& piece, Layout layout) {
  const std::uint64_t width = size_of(info.element);
  if (info.storage == Storage::dense) return piece.samples * info.dim * width + (layout == Layout::modern ? 4 : 0);
  return piece.nnz * (width + 4) + (layout == Layout::modern ? 8 + std::uint64_t{piece.samples} * 4 : 4);
}

std::string in_stream(const WrittenSequence& who, const StreamInfo& stream) {
  return who.text() + ", stream '" + printable(stream.name) + "': ";
}

}  // namespace

void check_streams(const std::vector<StreamInfo>& streams, const std::string& path) {
  if (streams.empty()) refuse("cbf.write-no-streams", path, "no streams to write, at least one is needed");
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const StreamInfo& s = streams[i];
    const std::string who = "stream " + std::to_string(i) + " ('" + printable(s.name) + "')";
    if (s.name.empty() || s.name.find('\0') != std::string::npos || !is_utf8(s.name) ||
        s.name.size() > Limits().name_bytes) {
      refuse("cbf.write-bad-name", path,
             who + ": a name is 1 to " + counted(Limits().name_bytes, "byte") + " of UTF-8 without NUL", "rename it",
             s.name);
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (streams[k].name == s.name)
        refuse("cbf.write-same-name", path, who + ": stream " + std::to_string(k) + " has the same name",
               "rename one of them", s.name);
    }
    if (s.dim == 0 || s.dim > kMaxI32) {
      refuse("cbf.write-bad-dimension", path,
             who + ": dimension " + std::to_string(s.dim) + ", expected 1 to " + std::to_string(kMaxI32), {}, s.name);
    }
  }
}

ChunkBuilder::ChunkBuilder(const std::vector<StreamInfo>& streams, Layout layout, std::uint64_t most)
    : layout_(layout), most_(most) {
  for (const StreamInfo& info : streams) streams_.emplace_back().info = info;
}

std::uint64_t ChunkBuilder::size() const {
  std::uint64_t bytes = layout_ == Layout::modern ? lengths_.size() * 4 : 0;
  for (const Stream& s : streams_) {
    bytes += s.data.size();
    if (layout_ == Layout::legacy && s.info.storage == Storage::sparse)
      bytes += 4 + s.rows.size() * 4 + s.columns.size() * 4;
  }
  return bytes;
}

void ChunkBuilder::expect(std::uint64_t times) {
  for (Stream& s : streams_) s.data.reserve(s.data.size() * static_cast<std::size_t>(times));
}

std::uint64_t ChunkBuilder::size_with(const std::vector<Piece>& sequence) const {
  std::uint64_t bytes = size() + (layout_ == Layout::modern ? 4 : 0);
  for (std::size_t i = 0; i < streams_.size(); ++i) bytes += piece_bytes(streams_[i].info, sequence[i], layout_);
  return bytes;
}

void ChunkBuilder::append(const std::vector<Piece>& sequence, const WrittenSequence& who) {
  check(sequence, who);
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    longest = std::max(longest, sequence[i].samples);
    streams_[i].info.storage == Storage::dense ? add_dense(streams_[i], sequence[i])
                                               : add_sparse(streams_[i], sequence[i]);
  }
  if (layout_ == Layout::legacy) longest = std::max(longest, 1u);
  samples_ += longest;
  lengths_.push_back(as_stored(longest));
}

void ChunkBuilder::check(const std::vector<Piece>& sequence, const WrittenSequence& who) const {
  std::uint64_t longest = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    const Piece& piece = sequence[i];
    longest = std::max<std::uint64_t>(longest, piece.samples);
    if (piece.samples > kMaxI32)
      refuse("cbf.write-too-long", who.path,
             in_stream(who, stream.info) + counted(piece.samples, "sample") + ", at most 2^31-1 fit", {},
             stream.info.name);
    check_pointers(stream, piece, who);
    if (stream.info.storage == Storage::sparse) check_indices(stream, piece, who);
    if (layout_ == Layout::legacy) check_legacy(stream, piece, who);
  }
  if (longest == 0)
    refuse("cbf.write-empty-sequence", who.path, who.text() + ": no stream has a sample",
           "leave it out; no reader could deliver it");
  if (lengths_.size() >= kMaxI32 || samples_ + longest > most_)
    refuse("cbf.write-chunk-full", who.path, who.text() + ": the chunk's counts exceed 32 bits",
           "choose smaller chunks");
}

void ChunkBuilder::check_pointers(const Stream& stream, const Piece& piece, const WrittenSequence& who) const {
  const auto expect = [&](bool there, const char* what) {
    if (there) return;
    refuse("cbf.write-no-data", who.path,
           in_stream(who, stream.info) + counted(piece.samples, "sample") + " without " + what,
           "a dense stream has values, a sparse one values, indices and entries", stream.info.name);
  };
  if (piece.samples == 0) return;
  const bool sparse = stream.info.storage == Storage::sparse;
  expect(!sparse || piece.entries.size() == piece.samples, "entries");
  expect(piece.values != nullptr || (sparse && piece.nnz == 0), "values");
  expect(!sparse || piece.indices != nullptr || piece.nnz == 0, "indices");
}

// The first loop has no branch: an index outside sets the sign bit of itself or of `top - index`. The second finds it.
void ChunkBuilder::check_indices(const Stream& stream, const Piece& piece, const WrittenSequence& who) const {
  if (piece.nnz > kMaxI32)
    refuse("cbf.write-too-many-entries", who.path,
           in_stream(who, stream.info) + counted(piece.nnz, "entry") + ", at most 2^31-1 fit", "split the sequence",
           stream.info.name);
  const auto top = static_cast<std::uint32_t>(stream.info.dim - 1);
  std::uint32_t outside = 0;
  for (std::uint64_t k = 0; k < piece.nnz; ++k) {
    const auto index = static_cast<std::uint32_t>(piece.indices[k]);
    outside |= index | (top - index);
  }
  if (static_cast<std::int32_t>(outside) >= 0) return;
  for (std::uint64_t k = 0; k < piece.nnz; ++k) {
    if (static_cast<std::uint32_t>(piece.indices[k]) <= top) continue;
    refuse("cbf.write-bad-index", who.path,
           in_stream(who, stream.info) + "index " + std::to_string(piece.indices[k]) + ", expected 0 to " +
               std::to_string(top),
           {}, stream.info.name);
  }
}

void ChunkBuilder::check_legacy(const Stream& stream, const Piece& piece, const WrittenSequence& who) const {
  const char* const hint = "write the modern layout";
  if (stream.info.storage == Storage::dense) {
    if (piece.samples != 1) {
      refuse("cbf.write-legacy-dense", who.path,
             in_stream(who, stream.info) + counted(piece.samples, "sample") +
                 ", the legacy layout holds exactly one of a dense stream",
             hint, stream.info.name);
    }
    return;
  }
  if (piece.samples > 0 && piece.entries.back() == 0) {
    refuse("cbf.write-legacy-empty-sample", who.path,
           in_stream(who, stream.info) + "its last sample is empty, which the legacy layout cannot tell from no sample",
           hint, stream.info.name);
  }
  if (piece.samples * stream.info.dim > kMaxI32 + 1 || stream.rows.size() + piece.nnz > kMaxI32) {
    refuse("cbf.write-legacy-too-large", who.path,
           in_stream(who, stream.info) + counted(piece.samples, "sample") + " of dimension " +
               std::to_string(stream.info.dim) + " exceed the legacy layout's 31 bits",
           hint, stream.info.name);
  }
}

void ChunkBuilder::add_values(Stream& stream, const Piece& piece, const std::byte* from, std::size_t n) {
  if (piece.element == Element::f32) {
    stream.info.element == Element::f32 ? put_converted<float, float>(stream.data, from, n)
                                        : put_converted<float, double>(stream.data, from, n);
  } else {
    stream.info.element == Element::f32 ? put_converted<double, float>(stream.data, from, n)
                                        : put_converted<double, double>(stream.data, from, n);
  }
}

void ChunkBuilder::add_dense(Stream& stream, const Piece& piece) {
  if (layout_ == Layout::modern) put(stream.data, piece.samples);
  const std::size_t width = size_of(piece.element);
  const auto dim = static_cast<std::size_t>(stream.info.dim);
  const bool as_it_is = piece.element == stream.info.element && std::endian::native == std::endian::little;
  if (as_it_is && (piece.step == dim || piece.samples == 1)) {
    put_all(stream.data, piece.values, piece.samples * dim * width);
    return;
  }
  for (std::uint32_t i = 0; i < piece.samples; ++i) {
    const std::byte* const from = piece.values + i * piece.step * width;
    as_it_is ? put_all(stream.data, from, dim * width) : add_values(stream, piece, from, dim);
  }
}

// The entries of each sample by index, equal ones as they came.
void ChunkBuilder::sort_entries(const Piece& piece) {
  const auto n = static_cast<std::size_t>(piece.nnz);
  const std::size_t width = size_of(piece.element);
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0u);
  std::size_t at = 0;
  for (const std::uint32_t entries : piece.entries) {
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(at);
    std::stable_sort(first, first + entries,
                     [&](std::uint32_t a, std::uint32_t b) { return piece.indices[a] < piece.indices[b]; });
    at += entries;
  }
  sorted_values_.resize(n * width);
  sorted_indices_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(sorted_values_.data() + i * width, piece.values + order_[i] * width, width);
    sorted_indices_[i] = piece.indices[order_[i]];
  }
}

void ChunkBuilder::add_sparse(Stream& stream, const Piece& piece) {
  const auto n = static_cast<std::size_t>(piece.nnz);
  const std::byte* values = piece.values;
  const std::int32_t* indices = piece.indices;
  bool sorted = true;
  std::size_t at = 0;
  for (const std::uint32_t entries : piece.entries) {
    for (std::size_t i = at + 1; i < at + entries; ++i) sorted &= indices[i] >= indices[i - 1];
    at += entries;
  }
  if (!sorted) {
    sort_entries(piece);
    values = sorted_values_.data();
    indices = sorted_indices_.data();
  }
  if (layout_ == Layout::modern) {
    put(stream.data, piece.samples);
    put(stream.data, static_cast<std::int32_t>(n));
  }
  if (piece.element == stream.info.element && std::endian::native == std::endian::little) {
    put_all(stream.data, values, n * size_of(piece.element));
  } else {
    add_values(stream, piece, values, n);
  }
  if (layout_ == Layout::modern) {
    put_all(stream.data, indices, n);
    put_all(stream.data, piece.entries.data(), piece.entries.size());
    return;
  }
  std::size_t i = 0;
  for (std::uint32_t sample = 0; sample < piece.samples; ++sample) {
    for (const std::size_t end = i + piece.entries[sample]; i < end; ++i) {
      stream.rows.push_back(static_cast<std::int32_t>(sample * stream.info.dim) + indices[i]);
    }
  }
  stream.columns.push_back(static_cast<std::int32_t>(stream.rows.size()));
}

// The older layout's sparse block: number of entries, values, rows, columns.
void ChunkBuilder::finish(Stream& stream) {
  if (layout_ == Layout::modern || stream.info.storage == Storage::dense) return;
  Buffer<std::byte> block;
  block.reserve(stream.data.size() + (stream.rows.size() + stream.columns.size() + 1) * 4);
  put(block, static_cast<std::int32_t>(stream.rows.size()));
  block.append(stream.data.data(), stream.data.size());
  put_all(block, stream.rows.data(), stream.rows.size());
  put_all(block, stream.columns.data(), stream.columns.size());
  stream.data.swap(block);
}

void ChunkBuilder::clear() {
  for (Stream& stream : streams_) {
    stream.data.clear();
    stream.rows.clear();
    stream.columns.assign(1, 0);
  }
  lengths_.clear();
  samples_ = 0;
}

}  // namespace batchfeed::cbf
