// SPDX-License-Identifier: MIT
//
// Lines in which no stream stands twice, always in the same order: some neighbouring samples at a time, as far as
// their forms are known (row_forms.h). Between them may be comments and streams that are left out.
#include <algorithm>
#include <cstring>

#include "base/cpu.h"
#include "formats/ctf/parse.h"
#include "formats/ctf/scan.h"

namespace batchfeed::ctf {
namespace {

constexpr std::uint64_t kMostSamples = 0xFFFFFFF0u;  // of a stream in a chunk; the parser tells of too many
constexpr std::size_t kAtOnce = 4;                   // values copied; fewer than RowNumbers has behind its last
// Of a group, in the line that it is cut by: others may be a little longer.
constexpr std::size_t kMostBytes = kRowBytes - 6;

}  // namespace

template <class T>
typename Parser<T>::Group& Parser<T>::add_group() {
  const std::size_t n = groups_.size();
  if (n == group_memory_.size()) group_memory_.push_back({.forms = RowForms<T>(forced_tier())});
  groups_ = std::span(group_memory_).first(n + 1);
  groups_.back().samples = 0;
  return groups_.back();
}

// None if some sample does not fit into a group, or where they would gain nothing.
template <class T>
void Parser<T>::cut_into_groups() {
  groups_ = {};
  rows_of_room_ = 0;
  std::array<typename RowForms<T>::Part, kRowSamples> parts;
  std::size_t in_group = 0, bytes = 0, numbers = 0, all_samples = 0, all_numbers = 0, read = 0;
  bool pairs = true;
  const auto close = [&](bool to_end) {
    if (in_group == 0) return;
    groups_.back().forms.start(std::span(parts).first(in_group), to_end);
    ++read;
    in_group = bytes = numbers = 0;
  };
  for (const typename Shape::Part& part : shape_.parts) {
    if (part.left_out()) {
      close(false);
      add_group().left_out = part.name;
      continue;
    }
    if (part.bytes >= kRowBytes || part.numbers > kRowNumbers) {
      groups_ = {};
      return;
    }
    if (in_group == kRowSamples || bytes + part.bytes > kMostBytes || numbers + part.numbers > kRowNumbers)
      close(false);
    Group& group = in_group == 0 ? add_group() : groups_.back();
    StreamState& s = streams_[static_cast<std::size_t>(part.stream)];
    parts[in_group++] = {.name = part.length, .dim = s.dim, .sparse = s.sparse};
    group.streams[group.samples++] = &s;
    bytes += part.bytes;
    numbers += part.numbers;
    ++all_samples;
    all_numbers += part.numbers;
    pairs = pairs && s.sparse && part.numbers == 2;
  }
  close(true);
  // A group takes as long as two samples or four numbers by themselves; and lines of one pair a sample are found
  // together (alike_lines.cc).
  if ((all_samples < 2 * read && all_numbers < 4 * read) || (pairs && !shape_.alone)) groups_ = {};
}

// All numbers of a line that begins at p, behind its id; gives the next line, or nullptr if not all of it is known.
template <class T>
inline const char* Parser<T>::groups(const char* p) {
  for (Group& group : groups_) {
    if (group.samples == 0) {
      if (!group.left_out.same(p)) return nullptr;
      p = find_pipe_or_newline(p + 1);
      continue;
    }
    group.form = group.forms.read(p, group.numbers);
    if (group.form == nullptr) return nullptr;
    p += group.numbers.bytes;
  }
  if (groups_.back().samples != 0) return p;
  return *p == '\n' ? p + 1 : nullptr;
}

// Appends the numbers that groups() found. False: there is no room.
template <class T>
inline bool Parser<T>::append_groups() {
  if (rows_of_room_ == 0 && (rows_of_room_ = rows_of_room()) == 0) return false;
  --rows_of_room_;
  const auto copy = [](const auto* from, std::size_t count, auto* to) {
    for (std::size_t i = 0; i < count; i += kAtOnce) std::memcpy(to + i, from + i, kAtOnce * sizeof *to);
  };
  for (Group& group : groups_) {
    const typename RowForm<T>::Sample* sample = group.samples == 0 ? nullptr : group.form->samples.data();
    for (StreamState* const stream : group.all()) {
      StreamState& s = *stream;
      const std::size_t count = sample->count, first = sample++->first;
      ++s.stored;
      copy(group.numbers.values.data() + first + (s.sparse ? count : 0), count, s.out + s.values);
      if (s.sparse) copy(group.numbers.indices.data() + first, count, s.indices + s.values);
      s.values += count;
      if (s.sparse) s.first_value[s.stored] = static_cast<std::uint32_t>(s.values);
    }
  }
  return true;
}

// Of a line that groups() could not read, behind its id. False: it is of another shape.
template <class T>
bool Parser<T>::learn_forms(const char* p) {
  auto part = shape_.parts.begin();
  for (Group& group : groups_) {
    const char* mark = p;
    for (std::size_t i = 0; i < std::max<std::size_t>(group.samples, 1); ++i) {
      if (!part++->name.same(mark)) return false;
      mark = find_pipe_or_newline(mark + 1);
    }
    if ((*mark == '\n') != (&group == &groups_.back())) return false;
    if (group.samples != 0 && group.forms.read(p, group.numbers) == nullptr)
      group.forms.learn(p, static_cast<std::size_t>(mark - p) + 1);
    p = mark;
  }
  return true;
}

// Reads lines of a sequence for as long as it pays to look at their forms; gives the first that is left.
template <class T>
const char* Parser<T>::known_lines(const char* p, const char* const end) {
  std::uint64_t lines = 0;
  const auto behind = [this](const char* line) {
    const char* const id = behind_id(line, text_ids_);
    return is_blank(*id) ? id + 1 : id;
  };
  const auto count_lines = [&] {
    for (const Group& group : groups_) {
      for (StreamState* const s : group.all()) s->samples += lines;
    }
    rows_ += lines;
    counted_ += lines;
    shape_.credit = static_cast<int>(
        std::min<std::uint64_t>(Shape::kMostCredit, lines + static_cast<std::uint64_t>(shape_.credit)));
    lines = 0;
  };
  rows_of_room_ = 0;
  while (p < end && worth_a_look()) {
    for (const char* next = p; next < end; p = next, ++lines) {
      next = groups(behind(p));
      if (next == nullptr || next > end || !append_groups()) break;
    }
    if (p == end) break;
    count_lines();
    const char* const other = p;
    p = line(p);
    rows_of_room_ = 0;
    if (learn_forms(behind(other)) || (shape_.credit -= Shape::kPrice) >= 0) continue;
    forget_shape();
  }
  count_lines();
  return p;
}

// A line that is a sequence, behind its id.
template <class T>
bool Parser<T>::known_sequence(const char* p, const char* const end) {
  const auto bytes = static_cast<std::size_t>(end - p);
  if (Group& only = groups_.front(); groups_.size() == 1) {
    if (bytes > kRowBytes) return false;
    only.form = only.forms.read(p, only.numbers, bytes);
    if (only.form == nullptr) return false;
  } else if (groups(p) != end) {
    return false;
  }
  if (!append_groups()) return false;
  ++new_rows_;
  return true;
}

// Columns learn where the samples of sequences begin that have one each.
template <class T>
void Parser<T>::enter_rows() {
  for (const Group& group : groups_) {
    for (const StreamState* const s : group.all()) {
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
  }
  new_rows_ = 0;
}

// Lines for which all columns have room, whatever their forms.
template <class T>
std::uint64_t Parser<T>::rows_of_room() const {
  std::uint64_t rows = ~0ull;
  for (const StreamState& s : streams_) {
    const std::uint64_t samples = std::min(s.sparse ? s.first_capacity : kMostSamples, kMostSamples);
    rows =
        std::min({rows, (s.capacity - s.values) / (kRowNumbers + kAtOnce), samples - std::min(samples, s.stored + 2)});
  }
  return rows;
}

template Parser<float>::Group& Parser<float>::add_group();
template void Parser<float>::cut_into_groups();
template const char* Parser<float>::groups(const char*);
template bool Parser<float>::append_groups();
template bool Parser<float>::learn_forms(const char*);
template const char* Parser<float>::known_lines(const char*, const char*);
template bool Parser<float>::known_sequence(const char*, const char*);
template void Parser<float>::enter_rows();
template std::uint64_t Parser<float>::rows_of_room() const;
template Parser<double>::Group& Parser<double>::add_group();
template void Parser<double>::cut_into_groups();
template const char* Parser<double>::groups(const char*);
template bool Parser<double>::append_groups();
template bool Parser<double>::learn_forms(const char*);
template const char* Parser<double>::known_lines(const char*, const char*);
template bool Parser<double>::known_sequence(const char*, const char*);
template void Parser<double>::enter_rows();
template std::uint64_t Parser<double>::rows_of_room() const;

}  // namespace batchfeed::ctf
