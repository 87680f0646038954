// SPDX-License-Identifier: MIT
#include "formats/ctf/parse.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/cpu.h"
#include "base/saturate.h"
#include "formats/ctf/scan.h"
#include "formats/ctf/short_samples.h"

namespace batchfeed::ctf {
namespace {

// Samples of fewer values are read faster one by one.
constexpr std::uint64_t kShort = 4;
// Bytes of lines, on average, below which it pays to look for marks first.
constexpr std::uint64_t kShortLine = 128;

bool ends_line(const char* p) noexcept { return *p == '\n' || (*p == '\r' && p[1] == '\n'); }

}  // namespace

template <class T>
Parser<T>::Parser(const Schema& schema, bool text_ids, FaultLog& log, const Limits& limits,
                  std::vector<Column>& columns)
    : schema_(schema),
      text_ids_(text_ids),
      log_(log),
      kernels_(kernels<T>()),
      marks_(list_marks(forced_tier()), find_one_hots(forced_tier()), OneHotNames(schema)),
      max_values_(std::min<std::uint64_t>(limits.chunk_values, 0xFFFFFFFFu)),
      max_implied_(limits.implied_samples) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const StreamInfo& info = schema.streams()[i];
    StreamState state;
    state.column = &columns[i];
    state.dim = info.dim;
    state.name_length = static_cast<std::uint32_t>(schema.alias(i).size());
    state.sparse = info.storage == Storage::sparse;
    state.vector = info.dim >= kShort;
    state.most = max_values_;
    attach(state);
    streams_.push_back(state);
  }
}

// A value takes a digit and what ends it. Rows that are too short are filled up, and a
// few bytes of them could claim any amount of memory, in each of a thousand streams. So could
// sequences that lack a stream: each takes 12 bytes of every column.
template <class T>
void Parser<T>::text(std::uint64_t bytes) {
  lost_ = filled_ = rows_of_room_ = 0;
  max_filled_ = add_sat(bytes / 2, max_implied_);
  max_lost_ = add_sat(bytes / 4, max_implied_ / 4);
  more_values_ = std::clamp<std::uint64_t>(bytes / 16, 16, kMoreValues);
  for (StreamState& s : streams_) {
    if (s.sparse) continue;
    s.most = std::min(max_values_, max_filled_);
    attach(s);
  }
}

template <class T>
void Parser<T>::begin(std::uint64_t key, std::uint64_t offset) {
  if (new_rows_ != 0) enter_rows();
  log_.sequence(key, offset);
  rows_ = counted_ = rows_of_room_ = 0;
  damaged_ = false;
  repeat_.seen = false;
  for (StreamState& s : streams_) {
    s.samples = 0;
    s.begin_stored = s.stored;
    s.begin_values = s.values;
  }
}

template <class T>
void Parser<T>::lines(const char* p, const char* const end) {
  const auto bytes = static_cast<std::uint64_t>(end - p);
  const std::uint64_t rows_before = rows_;
  if (!groups_.empty() && !log_.curious()) p = known_lines(p, end);
  if (short_ && p < end) {
    short_lines(p, end);
  } else {
    while (p < end) p = line(p);
  }
  short_ = bytes < (rows_ - rows_before) * kShortLine;
}

// As line() reads them, from mark to mark.
template <class T>
void Parser<T>::short_lines(const char* p, const char* const end) {
  marks_.go_to(p);
  while (p < end) {
    Row row;
    const char* mark = marks_.now();
    if (begins_like_the_last(p, mark)) {
      if (const char* const next = alike_lines(p, end); next != p) {
        p = next;
        continue;
      }
    } else {
      const LineFront line_front = front(p);
      row.at_front = !line_front.has_id();
      if (!line_front.has_id() || !is_blank(*line_front.end) || line_front.end + 1 != mark) {
        p = rest(line_front.end, row);
        if (p < end) marks_.go_to(p);
        continue;
      }
      remember_id(p,
                  line_front.begin == p ? static_cast<std::size_t>(mark - p) : 0);  // front() must see every margin
    }
    for (;;) {
      const OneHot found = marks_.found();
      marks_.next();
      if (*mark == '\n') {
        if (row.samples > streams_.size()) log_.crowded_row(row.samples, mark);
        p = mark + 1;
        break;
      }
      if (found.note >= 0 && append(found, mark + 1, row)) {
        mark = marks_.now();
        continue;
      }
      const char* const behind = named(mark + 1, row);
      if (behind != nullptr && *behind != '|' && !ends_line(behind)) [[unlikely]] {
        p = rest(behind, row);
        if (p < end) marks_.go_to(p);
        break;
      }
      // A pipe that is no mark begins a comment, which ends at the mark.
      mark = marks_.now();
    }
  }
}

// The id and the blank behind it, which the next lines most likely begin with, too.
template <class T>
void Parser<T>::remember_id(const char* p, std::size_t length) noexcept {
  id_length_ = length;
  length != 0 && length <= 16 ? id_.take(p, length) : id_.forget();
}

template <class T>
inline LineFront Parser<T>::front(const char* p) {
  const LineFront out = front_at(p, text_ids_);
  if (out.begin != p) [[unlikely]] {
    if (const char* const nul = out.hole(p); nul != nullptr) log_.hole(nul);
  }
  return out;
}

template <class T>
const char* Parser<T>::line(const char* p) {
  const LineFront line_front = front(p);
  Row row{.at_front = !line_front.has_id()};
  return rest(line_front.end, row);
}

// From anywhere in a line to its end.
template <class T>
const char* Parser<T>::rest(const char* p, Row& row) {
  for (;;) {
    switch (class_of(*p)) {
      case Byte::newline:
        if (row.samples > streams_.size()) log_.crowded_row(row.samples, p);
        return p + 1;
      case Byte::control:
        if (*p == 0) [[unlikely]] {
          log_.hole(p);
          while (p[1] == 0) ++p;
        }
        [[fallthrough]];
      case Byte::blank: ++p; continue;
      case Byte::printable:
        log_.garbage(p, row.at_front);
        damaged_ = true;
        p = find_pipe_or_newline(p);
        continue;
      case Byte::pipe: break;
    }
    row.at_front = false;
    ++p;
    const char* const behind = *p == '#' ? nullptr : named(p, row);
    p = behind == nullptr ? find_pipe_or_newline(p) : behind;
  }
}

// Reads what a pipe stands in front of, which is no comment. Returns the byte behind it, or nullptr: go on at the next
// pipe.
template <class T>
inline const char* Parser<T>::named(const char* name, Row& row) {
  if (ends_name(*name)) [[unlikely]] {
    log_.empty_name(name - 1);
    damaged_ = true;
    return nullptr;
  }
  const int found = schema_.match(name, likely_);
  if (found == Schema::kNone) {
    if (log_.curious()) log_.unknown(name);
    return nullptr;
  }
  likely_ = schema_.after(found);
  count(static_cast<std::size_t>(found), row);
  return sample(name, static_cast<std::size_t>(found));
}

template <class T>
inline void Parser<T>::count(std::size_t stream, Row& row) noexcept {
  if (!row.declared) {
    row.declared = true;
    ++rows_;
  }
  const int main = schema_.main();
  if (!row.counted && (main == Schema::kNone || static_cast<std::size_t>(main) == stream)) {
    row.counted = true;
    ++counted_;
  }
  ++row.samples;
}

// Appends a sample of one pair that was read ahead. False: its index is not below dim, or there is no room.
template <class T>
inline bool Parser<T>::append(const OneHot& found, const char* name, Row& row) {
  const auto stream = static_cast<std::size_t>(found.kind());
  StreamState& s = streams_[stream];
  if (static_cast<std::uint64_t>(found.index) >= s.dim || s.values == s.capacity || s.stored + 2 > s.first_capacity)
    return false;
  likely_ = schema_.after(found.kind());
  count(stream, row);
  s.out[s.values] = static_cast<T>(found.value());
  s.indices[s.values] = found.index;
  s.first_value[s.stored + 1] = static_cast<std::uint32_t>(++s.values);
  added(s, stream, name);
  return true;
}

template <class T>
const char* Parser<T>::sample(const char* name, std::size_t stream) {
  StreamState& s = streams_[stream];
  return s.sparse ? sparse(name, s, stream) : dense(name, s, stream);
}

template <class T>
inline void Parser<T>::added(StreamState& s, std::size_t stream, const char* name) {
  ++s.samples;
  if (++s.stored >= 0xFFFFFFFFu) [[unlikely]]
    log_.too_much(stream, 0xFFFFFFFEu);
  if (s.samples > counted_) [[unlikely]]
    note_repeat(stream, name);
}

template <class T>
const char* Parser<T>::dense(const char* name, StreamState& s, std::size_t stream) {
  if (!s.vector) {
    const char* const end =
        s.values + s.dim > s.capacity ? nullptr : read_few(name + s.name_length, s.dim, s.out + s.values);
    if (end != nullptr) [[likely]] {
      s.values += s.dim;
      added(s, stream, name);
      return end;
    }
  }
  if (s.values + s.dim > s.capacity) [[unlikely]]
    make_room(s, stream, s.values + s.dim);
  T* const out = s.out + s.values;
  DenseRoom room{.dim = s.dim, .memory = s.memory};
  const ScanEnd end = read_dense(s.vector ? kernels_.dense : nullptr, name + s.name_length, out, room);
  if (end.code != ScanCode::ok) [[unlikely]] {
    log_.bad_sample(end.code, stream, name, end.at);
    damaged_ = true;
    return find_pipe_or_newline(end.at);
  }
  if (room.count < s.dim) [[unlikely]] {
    std::fill(out + room.count, out + s.dim, T{0});
    log_.too_short(stream, room.count, name);
    if ((filled_ += s.dim - room.count) > max_filled_) log_.too_short_rows(stream, max_implied_);
  }
  if (room.overflow) [[unlikely]]
    log_.overflow(stream, name);
  s.values += s.dim;
  added(s, stream, name);
  return end.at;
}

template <class T>
const char* Parser<T>::sparse(const char* name, StreamState& s, std::size_t stream) {
  if (!s.vector && s.values != s.capacity && s.stored + 2 <= s.first_capacity) {
    const char* const end = read_one_hot(name + s.name_length, s.dim, s.out[s.values], s.indices[s.values]);
    if (end != nullptr) [[likely]] {
      s.first_value[s.stored + 1] = static_cast<std::uint32_t>(++s.values);
      added(s, stream, name);
      return end;
    }
  }
  SparseRoom<T> room = room_of(s);
  const SparseKernel<T> kernel = s.vector ? kernels_.sparse : nullptr;
  ScanEnd end = read_sparse(kernel, name + s.name_length, room);
  while (end.code == ScanCode::full) {
    // The pairs of this sample so far must survive the move.
    const std::uint64_t before = s.values;
    s.values = room.count;
    make_room(s, stream, room.count < max_values_ ? std::min(room.count + more_values_, max_values_) : room.count + 1);
    s.values = before;
    room.values = s.out;
    room.indices = s.indices;
    room.capacity = s.capacity;
    end = read_sparse(kernel, end.at, room);
  }
  if (end.code != ScanCode::ok) [[unlikely]] {
    log_.bad_sample(end.code, stream, name, end.at);
    damaged_ = true;
    return find_pipe_or_newline(end.at);
  }
  if (room.overflow) [[unlikely]]
    log_.overflow(stream, name);
  if (closely_) [[unlikely]]
    tell_duplicate({s.indices + s.values, static_cast<std::size_t>(room.count - s.values)}, stream, name);
  s.vector = many_pairs(room.count - s.values);
  s.values = room.count;
  if (s.stored + 2 > s.first_capacity) [[unlikely]]
    make_room(s, stream, s.values);
  s.first_value[s.stored + 1] = static_cast<std::uint32_t>(s.values);
  added(s, stream, name);
  return end.at;
}

template <class T>
void Parser<T>::tell_duplicate(std::span<const std::int32_t> indices, std::size_t stream, const char* name) {
  if (std::adjacent_find(indices.begin(), indices.end(), std::greater_equal()) == indices.end()) return;
  std::vector<std::int32_t> sorted(indices.begin(), indices.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) log_.duplicate_index(stream, *twice, name);
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
  if (!whole && (lost_ += streams_.size()) > max_lost_) log_.too_many_lost(max_lost_);
  for (StreamState& s : streams_) {
    if (!whole && !closely_) {
      s.stored = s.begin_stored;
      s.values = s.begin_values;
    }
    s.column->first_sample.push_back(static_cast<std::uint32_t>(s.stored));
    if (!s.sparse) s.column->begin.push_back(s.begin_values);
  }
  return whole;
}

template <class T>
bool Parser<T>::lasts(std::uint64_t samples) const noexcept {
  if (damaged_) return true;
  if (schema_.main() != Schema::kNone) return streams_[static_cast<std::size_t>(schema_.main())].samples == samples;
  return std::ranges::max(streams_, {}, &StreamState::samples).samples == samples;
}

template class Parser<float>;
template class Parser<double>;

}  // namespace batchfeed::ctf
