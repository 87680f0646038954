// SPDX-License-Identifier: MIT
//
// How lines look that come again and again, and sequences of one such line, as corpora of rows have them: each stream
// stands in it once, always in the same order. What is not so is left to parse.cc.
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

}  // namespace

// Describes what a pipe stands in front of, up to the next mark. False where its name cannot be compared at once.
template <class T>
bool Parser<T>::take_part(const char* pipe, typename Shape::Part& part) const {
  const bool comment = pipe[1] == '#';
  part.length = 1;
  while (!comment && !ends_name(pipe[part.length])) ++part.length;
  if (part.length >= kLongestName || (!comment && pipe[part.length] != ' ')) return false;
  part.name.take(pipe, part.length + 1);
  const char* const next = find_pipe_or_newline(pipe + 1);
  part.bytes = static_cast<std::size_t>(next - pipe);
  if (comment) return true;
  part.stream = schema_.match(pipe + 1, likely_);
  if (part.left_out()) return true;
  const StreamState& s = streams_[static_cast<std::size_t>(part.stream)];
  part.numbers = s.sparse ? 2 * static_cast<std::size_t>(std::count(pipe, next, ':')) : s.dim;
  return true;
}

template <class T>
void Parser<T>::look_at(const char* p) {
  shape_.wait = shape_.misses = std::min(2 * shape_.misses + 1, kLongestWait);
  if (damaged_ || closely_ || log_.curious()) return;
  const bool alone = std::all_of(streams_.begin(), streams_.end(), [](const StreamState& s) { return s.samples == 1; });
  if (!alone) {  // the second line is like more of them than the first, which may have what is said once
    if (rows_ < 2) return;
    while (*p != '\n') p = find_pipe_or_newline(p + 1);
    ++p;
  }
  const char* mark = behind_id(p, text_ids_);
  shape_.id = mark != p;
  if (shape_.id && !is_blank(*mark++)) return;
  if (!take_shape(mark, alone)) return forget_shape();
  shape_.alone = alone;
  shape_.credit = Shape::kMostCredit;
  cut_into_groups();
}

// The parts of a line, from its first mark on. `alone`: all streams must be there.
template <class T>
bool Parser<T>::take_shape(const char* mark, bool alone) {
  const int main = schema_.main();
  std::size_t samples = 0;
  bool counts = main == Schema::kNone;
  for (; *mark == '|'; mark += shape_.parts.back().bytes) {
    typename Shape::Part part;
    if (shape_.parts.size() == kMostParts || !take_part(mark, part)) return false;
    const auto same = [&](const typename Shape::Part& other) { return other.stream == part.stream; };
    if (!part.left_out()) {
      if (std::any_of(shape_.parts.begin(), shape_.parts.end(), same)) return false;
      counts = counts || part.stream == main;
      ++samples;
    }
    shape_.parts.push_back(part);
  }
  return *mark == '\n' && (alone ? samples == streams_.size() : samples != 0 && counts);
}

// Reads the values of a sample into the memory behind its column; returns the byte behind them, or nullptr where there
// is anything to report, or no room.
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

// Reads a row, from behind its id, by its shape. `look`: its form was looked for, and is not known. False: it is of
// another shape.
template <class T>
bool Parser<T>::like_the_last(const char* const p, const char* const end, bool look) {
  if (new_rows_ != 0) enter_rows();
  rows_of_room_ = 0;
  const auto read = [&](const char* at) {
    if (at == nullptr) return false;
    for (const typename Shape::Part& part : shape_.parts) {
      if (!part.name.same(at)) return false;
      at = part.left_out() ? find_pipe_or_newline(at + 1)
                           : values(at + part.length, streams_[static_cast<std::size_t>(part.stream)]);
      if (at == nullptr) return false;
    }
    return *at == '\n' ? at + 1 == end : *at == '\r' && at[1] == '\n' && at + 2 == end;
  };
  if (!read(p)) {
    forget_shape();
    return false;
  }
  if (look) learn_forms(p);
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
  return true;
}

template const char* Parser<float>::values(const char*, StreamState&);
template bool Parser<float>::like_the_last(const char*, const char*, bool);
template bool Parser<float>::take_shape(const char*, bool);
template bool Parser<float>::take_part(const char*, Shape::Part&) const;
template void Parser<float>::look_at(const char*);
template const char* Parser<double>::values(const char*, StreamState&);
template bool Parser<double>::like_the_last(const char*, const char*, bool);
template bool Parser<double>::take_shape(const char*, bool);
template bool Parser<double>::take_part(const char*, Shape::Part&) const;
template void Parser<double>::look_at(const char*);

}  // namespace batchfeed::ctf
