// SPDX-License-Identifier: MIT
//
// Sequences of one line that look alike, as corpora of rows have them: each stream stands in the line once, always in
// the same order. What is not so is left to parse.cc.
#include <algorithm>

#include "formats/ctf/parse.h"
#include "formats/ctf/scan.h"
#include "formats/ctf/short_samples.h"

namespace batchfeed::ctf {
namespace {

constexpr unsigned kLongestWait = 255;  // sequences
constexpr std::size_t kMostParts = 64;
constexpr std::uint64_t kMostSamples = 0xFFFFFFF0u;  // of a stream in a chunk; the parser tells of too many

// Behind an id that begins at p; p if there is none.
const char* behind_id(const char* p, bool text) noexcept {
  if (text) {
    while (!ends_name(*p)) ++p;
    return p;
  }
  for (;;) {
    const unsigned digits = text::leading_digits(p).count;
    p += digits;
    if (digits < 8) return p;
  }
}

}  // namespace

template <class T>
void Parser<T>::look_at(const char* p) {
  shape_.wait = shape_.misses = std::min(2 * shape_.misses + 1, kLongestWait);
  const auto once = [](const StreamState& s) { return s.samples == 1; };
  if (!std::all_of(streams_.begin(), streams_.end(), once) || closely_ || log_.curious()) return;
  const char* mark = behind_id(p, text_ids_);
  shape_.id = mark != p;
  if (shape_.id && !is_blank(*mark++)) return;
  std::vector<typename Shape::Part> parts;
  std::size_t samples = 0;
  for (; *mark == '|'; mark = find_pipe_or_newline(mark + 1)) {
    typename Shape::Part part;
    const bool comment = mark[1] == '#';
    part.length = 1;
    while (!comment && !ends_name(mark[part.length])) ++part.length;
    const std::size_t bytes = part.length + 1;
    if (parts.size() == kMostParts || bytes > Shape::kLongestName || (!comment && mark[part.length] != ' ')) return;
    if (!comment) part.stream = schema_.match(mark + 1, likely_);
    samples += part.stream == Schema::kNone ? 0 : 1;
    part.name.take(mark, bytes);
    parts.push_back(part);
  }
  // Each stream has one sample, so all are here, whatever other lines the sequence may have.
  if (*mark == '\n' && samples == streams_.size() && !damaged_) shape_.parts = std::move(parts);
}

// The values of a sample behind what its column holds, of which they are no part yet; gives the byte behind them, or
// nullptr where there is anything to be told, or no room.
template <class T>
inline const char* Parser<T>::values(const char* p, StreamState& s) {
  if (s.stored >= kMostSamples) return nullptr;
  if (!s.sparse) {
    if (s.values + s.dim > s.capacity) return nullptr;
    T* const out = s.out + s.values;
    if (!s.vector) {
      if (const char* const end = read_few(p, s.dim, out); end != nullptr) return end;
    }
    DenseRoom room{.dim = s.dim, .memory = s.memory};
    const ScanEnd end = read_dense(s.vector ? kernels_.dense : nullptr, p, out, room);
    return end.code == ScanCode::ok && room.count == s.dim && !room.overflow ? end.at : nullptr;
  }
  if (s.values == s.capacity || s.stored + 2 > s.first_capacity) return nullptr;
  std::uint32_t& next = s.first_value[s.stored + 1];
  if (!s.vector) {
    if (const char* const end = read_one_hot(p, s.dim, s.out[s.values], s.indices[s.values]); end != nullptr) {
      next = static_cast<std::uint32_t>(s.values + 1);
      return end;
    }
  }
  SparseRoom<T> room = room_of(s);
  const ScanEnd end = read_sparse(s.vector ? kernels_.sparse : nullptr, p, room);
  if (end.code != ScanCode::ok || room.overflow) return nullptr;
  s.vector = many_pairs(room.count - s.values);
  next = static_cast<std::uint32_t>(room.count);
  return end.at;
}

template <class T>
bool Parser<T>::like_the_last(const char* p, const char* const end) {
  const auto read = [&] {
    if (shape_.id) {
      p = behind_id(p, text_ids_);
      if (!is_blank(*p++)) return false;
    }
    for (const typename Shape::Part& part : shape_.parts) {
      if (!part.name.same(p)) return false;
      p = part.stream == Schema::kNone ? find_pipe_or_newline(p + 1)
                                       : values(p + part.length, streams_[static_cast<std::size_t>(part.stream)]);
      if (p == nullptr) return false;
    }
    return *p == '\n' ? p + 1 == end : *p == '\r' && p[1] == '\n' && p + 2 == end;
  };
  if (!read()) {
    shape_.parts.clear();
    return false;
  }
  for (StreamState& s : streams_) {
    ++s.stored;
    if (s.sparse) {
      s.values = s.first_value[s.stored];
    } else {
      s.column->begin.push_back(s.values);
      s.values += s.dim;
    }
    s.column->first_sample.push_back(static_cast<std::uint32_t>(s.stored));
  }
  shape_.misses /= 2;
  return true;
}

template const char* Parser<float>::values(const char*, StreamState&);
template bool Parser<float>::like_the_last(const char*, const char*);
template void Parser<float>::look_at(const char*);
template const char* Parser<double>::values(const char*, StreamState&);
template bool Parser<double>::like_the_last(const char*, const char*);
template void Parser<double>::look_at(const char*);

}  // namespace batchfeed::ctf
