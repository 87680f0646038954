// SPDX-License-Identifier: MIT
#include "formats/ctf/parse.h"

#include <algorithm>
#include <cstring>

#include "formats/ctf/line.h"
#include "formats/ctf/scan.h"

namespace batchfeed::ctf {

template <class T>
Parser<T>::Parser(const Schema& schema, bool text_ids, FaultLog& log, const Limits& limits,
                  std::vector<Column>& columns)
    : schema_(schema),
      text_ids_(text_ids),
      log_(log),
      max_values_(std::min<std::uint64_t>(limits.chunk_values, 0xFFFFFFFFu)) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const StreamInfo& info = schema.streams()[i];
    StreamState state;
    state.column = &columns[i];
    state.dim = info.dim;
    state.name_length = static_cast<std::uint32_t>(schema.alias(i).size());
    state.sparse = info.storage == Storage::sparse;
    streams_.push_back(state);
  }
}

template <class T>
void Parser<T>::begin(std::uint64_t key, std::uint64_t offset) {
  log_.sequence(key, offset);
  rows_ = counted_ = 0;
  damaged_ = false;
  repeat_.seen = false;
  for (StreamState& s : streams_) {
    s.samples = 0;
    s.begin_stored = s.stored;
    s.begin_values = s.values;
  }
}

template <class T>
void Parser<T>::lines(const char* p, const char* end) {
  while (p < end) p = line(p);
}

template <class T>
const char* Parser<T>::line(const char* p) {
  const LineFront front = text_ids_ ? text_front(p) : numeric_front(p);
  p = front.end;
  bool row = false, counted = false, at_front = !front.has_id();
  std::uint64_t samples = 0;
  const int main = schema_.main();
  for (;;) {
    switch (class_of(*p)) {
      case Byte::newline:
        if (samples > streams_.size()) log_.crowded_row(samples, p);
        return p + 1;
      case Byte::blank:
      case Byte::control: ++p; continue;
      case Byte::printable:
        log_.garbage(p, at_front);
        damaged_ = true;
        p = find_pipe_or_newline(p);
        continue;
      case Byte::pipe: break;
    }
    at_front = false;
    ++p;
    if (*p == '#') {
      p = find_pipe_or_newline(p);
      continue;
    }
    if (ends_name(*p)) {
      log_.empty_name(p - 1);
      damaged_ = true;
      p = find_pipe_or_newline(p);
      continue;
    }
    const int found = schema_.match(p, likely_);
    if (found == Schema::kNone) {
      if (log_.curious()) log_.unknown(p);
      p = find_pipe_or_newline(p);
      continue;
    }
    likely_ = schema_.after(found);
    if (!row) {
      row = true;
      ++rows_;
    }
    if (!counted && (main == Schema::kNone || main == found)) {
      counted = true;
      ++counted_;
    }
    ++samples;
    p = sample(p, static_cast<std::size_t>(found));
  }
}

template <class T>
const char* Parser<T>::sample(const char* name, std::size_t stream) {
  StreamState& s = streams_[stream];
  return s.sparse ? sparse(name, s, stream) : dense(name, s, stream);
}

template <class T>
const char* Parser<T>::dense(const char* name, StreamState& s, std::size_t stream) {
  if (s.dim > max_values_ - s.values) log_.too_much(stream, max_values_);
  Column& column = *s.column;
  column.values.resize(static_cast<std::size_t>(s.values + s.dim) * sizeof(T));
  T* const out = column.as<T>() + s.values;
  DenseRoom room{.dim = s.dim};
  const ScanEnd end = scan_dense(name + s.name_length, out, room);
  if (end.code != ScanCode::ok) [[unlikely]] {
    column.values.resize(static_cast<std::size_t>(s.values) * sizeof(T));
    log_.bad_sample(end.code, stream, name, end.at);
    damaged_ = true;
    return find_pipe_or_newline(end.at);
  }
  if (room.count < s.dim) [[unlikely]] {
    std::fill(out + room.count, out + s.dim, T{0});
    log_.too_short(stream, room.count, name);
  }
  if (room.overflow) [[unlikely]]
    log_.overflow(stream, name);
  s.values += s.dim;
  added(s, stream, name);
  return end.at;
}

template <class T>
const char* Parser<T>::sparse(const char* name, StreamState& s, std::size_t stream) {
  Column& column = *s.column;
  const char* p = name + s.name_length;
  SparseRoom<T> room{.values = nullptr, .indices = nullptr, .capacity = 0, .dim = s.dim, .count = s.values};
  ScanEnd end{p, ScanCode::full};
  for (;;) {
    room.capacity =
        std::min<std::uint64_t>({column.indices.capacity(), column.values.capacity() / sizeof(T), max_values_});
    room.values = column.as<T>();
    room.indices = column.indices.data();
    end = scan_sparse(end.at, room);
    if (end.code != ScanCode::full) break;
    if (room.count >= max_values_) log_.too_much(stream, max_values_);
    const auto n = static_cast<std::size_t>(room.count);
    column.indices.resize(n);
    column.values.resize(n * sizeof(T));
    column.indices.reserve(n + n / 2 + 1024);
    column.values.reserve((n + n / 2 + 1024) * sizeof(T));
  }
  if (end.code != ScanCode::ok) [[unlikely]] {
    log_.bad_sample(end.code, stream, name, end.at);
    damaged_ = true;
    return find_pipe_or_newline(end.at);
  }
  if (room.overflow) [[unlikely]]
    log_.overflow(stream, name);
  s.values = room.count;
  column.indices.resize(static_cast<std::size_t>(s.values));
  column.values.resize(static_cast<std::size_t>(s.values) * sizeof(T));
  column.first_value.push_back(static_cast<std::uint32_t>(s.values));
  added(s, stream, name);
  return end.at;
}

template <class T>
void Parser<T>::added(StreamState& s, std::size_t stream, const char* name) {
  ++s.samples;
  if (++s.stored >= 0xFFFFFFFFu) log_.too_much(stream, 0xFFFFFFFEu);
  if (s.samples > counted_) [[unlikely]]
    note_repeat(stream, name);
}

// The first place where a stream ran ahead of its rows; end() decides whether it is a fault.
template <class T>
void Parser<T>::note_repeat(std::size_t stream, const char* name) {
  const int main = schema_.main();
  if (repeat_.seen || (main != Schema::kNone && static_cast<std::size_t>(main) != stream)) return;
  repeat_ = {.seen = true,
             .stream = stream,
             .byte = log_.offset_of(name - 1),
             .line = log_.line_now(),
             .column = log_.column_of(name - 1)};
}

template <class T>
bool Parser<T>::end() {
  if (log_.curious()) log_.loaded(rows_);
  const int main = schema_.main();
  if (repeat_.seen) {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (streams_[i].samples <= counted_ || (main != Schema::kNone && static_cast<std::size_t>(main) != i)) continue;
      if (i == repeat_.stream || streams_[repeat_.stream].samples <= counted_) {
        log_.repeated(i, streams_[i].samples, counted_, repeat_.byte, repeat_.line, repeat_.column);
        damaged_ = true;
        break;
      }
    }
  }
  bool whole = true;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].samples != 0) continue;
    if (!damaged_) log_.missing(i);
    damaged_ = true;
    whole = false;
  }
  for (StreamState& s : streams_) {
    Column& column = *s.column;
    if (!whole) {
      s.stored = s.begin_stored;
      s.values = s.begin_values;
      if (s.sparse) {
        column.first_value.resize(static_cast<std::size_t>(s.stored) + 1);
        column.indices.resize(static_cast<std::size_t>(s.values));
      }
      column.values.resize(static_cast<std::size_t>(s.values) * sizeof(T));
    }
    column.first_sample.push_back(static_cast<std::uint32_t>(s.stored));
    if (!s.sparse) column.begin.push_back(s.begin_values);
  }
  return whole;
}

template <class T>
void Parser<T>::discard_values() {
  for (StreamState& s : streams_) {
    s.stored = s.values = s.begin_stored = s.begin_values = 0;
    s.column->first_sample.resize(1);
    s.column->begin.clear();
    s.column->values.clear();
    if (s.sparse) {
      s.column->first_value.resize(1);
      s.column->indices.clear();
    }
  }
}

template class Parser<float>;
template class Parser<double>;

}  // namespace batchfeed::ctf
