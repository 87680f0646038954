// SPDX-License-Identifier: MIT
//
// Sequences of one line that look alike, as corpora of rows have them: each stream stands in the line once, always in
// the same order. What is not so is left to parse.cc.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "formats/ctf/parse.h"
#include "formats/ctf/scan.h"
#include "formats/ctf/short_samples.h"

namespace batchfeed::ctf {
namespace {

constexpr unsigned kLongestWait = 255;  // sequences
constexpr std::size_t kMostParts = 64;
constexpr std::uint64_t kMostSamples = 0xFFFFFFF0u;  // of a stream in a chunk; the parser tells of too many
constexpr std::size_t kAtOnce = 4;                   // values copied; fewer than RowNumbers has behind its last

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
  if (*mark != '\n' || samples != streams_.size() || damaged_) return;
  shape_.parts = std::move(parts);
  learn_forms();
}

template <class T>
void Parser<T>::learn_forms() {
  std::array<typename RowForms<T>::Part, kRowSamples> parts;
  row_samples_ = 0;
  rows_of_room_ = 0;
  const auto is_sample = [](const typename Shape::Part& part) { return part.stream != Schema::kNone; };
  const bool plain =
      shape_.parts.size() <= kRowSamples && std::all_of(shape_.parts.begin(), shape_.parts.end(), is_sample);
  for (const typename Shape::Part& part : shape_.parts) {
    if (!plain) break;
    StreamState& s = streams_[static_cast<std::size_t>(part.stream)];
    parts[row_samples_] = {.name = part.length, .dim = s.dim, .sparse = s.sparse};
    row_streams_[row_samples_++] = &s;
  }
  forms_.start(std::span(parts).first(row_samples_));
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

// A line of a form that is known, behind its id, for which there is room.
template <class T>
bool Parser<T>::by_form(const char* p, std::size_t bytes) {
  const RowForm<T>* const form = forms_.read(p, bytes, numbers_);
  if (form == nullptr) return false;
  if (rows_of_room_ == 0 && (rows_of_room_ = rows_of_room()) == 0) return false;
  --rows_of_room_;
  const auto copy = [](const auto* from, std::size_t count, auto* to) {
    for (std::size_t i = 0; i < count; i += kAtOnce) std::memcpy(to + i, from + i, kAtOnce * sizeof *to);
  };
  const typename RowForm<T>::Sample* sample = form->samples.data();
  for (StreamState* const stream : row_streams()) {
    StreamState& s = *stream;
    const std::size_t count = sample->count, first = sample++->first;
    ++s.stored;
    copy(numbers_.values.data() + first + (s.sparse ? count : 0), count, s.out + s.values);
    if (s.sparse) copy(numbers_.indices.data() + first, count, s.indices + s.values);
    s.values += count;
    if (s.sparse) s.first_value[s.stored] = static_cast<std::uint32_t>(s.values);
  }
  ++new_rows_;
  return true;
}

// Their columns learn where the samples of the rows begin that by_form() has read: each row has one.
template <class T>
void Parser<T>::enter_rows() {
  for (const StreamState* const s : row_streams()) {
    const auto behind = [&](auto& list) {
      list.resize(list.size() + new_rows_);
      return list.data() + list.size() - new_rows_;
    };
    auto* const first = behind(s->column->first_sample);
    const auto stored = static_cast<std::uint32_t>(s->stored - new_rows_);
    for (std::uint32_t i = 0; i < new_rows_; ++i) first[i] = stored + 1 + i;
    if (s->sparse) continue;
    auto* const begin = behind(s->column->begin);
    const std::uint64_t values = s->values - new_rows_ * s->dim;
    for (std::uint64_t i = 0; i < new_rows_; ++i) begin[i] = values + i * s->dim;
  }
  new_rows_ = 0;
}

// Lines for which all columns have room, whatever their forms.
template <class T>
std::uint64_t Parser<T>::rows_of_room() const {
  std::uint64_t rows = ~0ull;
  for (const StreamState* s : row_streams()) {
    const std::uint64_t samples = std::min(s->sparse ? s->first_capacity : kMostSamples, kMostSamples);
    rows = std::min(
        {rows, (s->capacity - s->values) / (kRowNumbers + kAtOnce), samples - std::min(samples, s->stored + 2)});
  }
  return row_samples_ == 0 ? 0 : rows;
}

template <class T>
bool Parser<T>::like_the_last(const char* p, const char* const end) {
  const auto behind = [&]() -> const char* {
    if (!shape_.id) return p;
    const char* const blank = behind_id(p, text_ids_);
    return is_blank(*blank) ? blank + 1 : nullptr;
  };
  const auto read = [&](const char* at) {
    if (at == nullptr) return false;
    for (const typename Shape::Part& part : shape_.parts) {
      if (!part.name.same(at)) return false;
      at = part.stream == Schema::kNone ? find_pipe_or_newline(at + 1)
                                        : values(at + part.length, streams_[static_cast<std::size_t>(part.stream)]);
      if (at == nullptr) return false;
    }
    return *at == '\n' ? at + 1 == end : *at == '\r' && at[1] == '\n' && at + 2 == end;
  };
  p = behind();
  const bool brief = p != nullptr && end - p <= static_cast<std::ptrdiff_t>(kRowBytes) && forms_.use();
  if (brief && by_form(p, static_cast<std::size_t>(end - p))) {
    shape_.misses /= 2;
    return true;
  }
  if (new_rows_ != 0) enter_rows();
  rows_of_room_ = 0;
  if (!read(p)) {
    shape_.parts.clear();
    return false;
  }
  if (brief) forms_.learn(p, static_cast<std::size_t>(end - p));
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
template bool Parser<float>::by_form(const char*, std::size_t);
template bool Parser<float>::like_the_last(const char*, const char*);
template void Parser<float>::learn_forms();
template void Parser<float>::enter_rows();
template std::uint64_t Parser<float>::rows_of_room() const;
template void Parser<float>::look_at(const char*);
template const char* Parser<double>::values(const char*, StreamState&);
template bool Parser<double>::by_form(const char*, std::size_t);
template bool Parser<double>::like_the_last(const char*, const char*);
template void Parser<double>::learn_forms();
template void Parser<double>::enter_rows();
template std::uint64_t Parser<double>::rows_of_room() const;
template void Parser<double>::look_at(const char*);

}  // namespace batchfeed::ctf
