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

constexpr std::size_t kAtOnce = 4;  // values copied; fewer than RowNumbers has behind its last
// Bytes of a group in the line by which groups are cut: in others it may be a little longer.
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

// Cuts the shape into groups; none if some sample does not fit into one, or where they would gain nothing.
template <class T>
void Parser<T>::cut_into_groups() {
  groups_ = {};
  rows_of_room_ = 0;
  std::array<typename RowForms<T>::Part, kRowSamples> parts;
  std::array<typename RowForms<T>::Gap, kRowGaps> gaps;
  std::size_t samples = 0, in_gaps = 0, bytes = 0, numbers = 0, all_gaps = 0, all_numbers = 0;
  bool pairs = true;
  const auto close = [&](bool to_end) {
    groups_.back().forms.start(std::span(parts).first(samples), std::span(gaps).first(in_gaps), to_end);
    samples = in_gaps = bytes = numbers = 0;
  };
  for (const typename Shape::Part& part : shape_.parts) {
    if (samples + in_gaps == 0) add_group();
    if (part.left_out()) {
      if (in_gaps == kRowGaps) return leave_groups();
      gaps[in_gaps++] = {.samples = samples, .name = part.name};
      ++all_gaps;
      continue;
    }
    if (part.bytes >= kRowBytes || part.numbers > kRowNumbers) return leave_groups();
    if (samples == kRowSamples || bytes + part.bytes > kMostBytes || numbers + part.numbers > kRowNumbers) {
      close(false);
      add_group();
    }
    StreamState& s = streams_[static_cast<std::size_t>(part.stream)];
    parts[samples++] = {.name = part.length, .dim = s.dim, .sparse = s.sparse};
    Group& group = groups_.back();
    group.streams[group.samples++] = &s;
    bytes += part.bytes;
    numbers += part.numbers;
    all_numbers += part.numbers;
    pairs = pairs && s.sparse && part.numbers == 2;
  }
  if (groups_.empty()) return;
  close(true);
  // Cutting out a comment takes longer than reading a number by itself; and lines of one pair a sample are found
  // together (alike_lines.cc).
  if ((all_gaps != 0 && all_numbers < 2 * groups_.size()) || (pairs && !shape_.alone)) leave_groups();
}

// Reads all numbers of a line from p, behind its id; returns the next line, or nullptr if not all forms are known.
template <class T>
inline const char* Parser<T>::groups(const char* p) {
  for (Group& group : groups_) {
    group.form = group.forms.read(p, group.numbers);
    if (group.form == nullptr) return nullptr;
    p += group.numbers.bytes;
  }
  return p;
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
    const typename RowForm<T>::Sample* sample = group.form->samples.data();
    for (StreamState* const stream : group.all()) {
      StreamState& s = *stream;
      const std::size_t count = sample->count, first = sample++->first;
      const std::uint64_t values = s.values, stored = s.stored + 1;
      s.values = values + count;
      s.stored = stored;
      if (s.sparse) {
        s.first_value[stored] = static_cast<std::uint32_t>(values + count);
        std::int32_t* const indices = s.indices + values;
        copy(group.numbers.values.data() + first + count, count, s.out + values);
        copy(group.numbers.indices.data() + first, count, indices);
      } else {
        copy(group.numbers.values.data() + first, count, s.out + values);
      }
    }
  }
  return true;
}

// Learns the forms of a line that groups() could not read, from behind its id. False: it is of another shape.
template <class T>
bool Parser<T>::learn_forms(const char* p) {
  auto part = shape_.parts.begin();
  for (Group& group : groups_) {
    std::array<char, kRowBytes + 1> text{};  // without the gaps; one byte more is too many
    std::size_t bytes = 0;
    const auto add = [&](const char* from, std::size_t count) {
      count = std::min(count, text.size() - bytes);
      std::memcpy(text.data() + bytes, from, count);
      bytes += count;
    };
    const char* mark = p;
    for (std::size_t n = group.samples + group.forms.gaps().size(); n != 0; --n, ++part) {
      const char* const begin = mark;
      if (!part->name.same(begin)) return false;
      mark = find_pipe_or_newline(begin + 1);
      if (!part->left_out()) add(begin, static_cast<std::size_t>(mark - begin));
    }
    if ((*mark == '\n') != (&group == &groups_.back())) return false;
    add(mark, 1);
    if (group.forms.read(p, group.numbers) == nullptr) group.forms.learn(text.data(), bytes);
    p = mark;
  }
  return true;
}

// Reads lines of a sequence for as long as it pays to look at their forms; returns the first that is left.
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

// Reads a line that is a sequence, from behind its id, if all forms are known.
template <class T>
inline bool Parser<T>::known_row(const char* p, const char* const end) {
  const auto bytes = static_cast<std::size_t>(end - p);
  if (Group& only = groups_.front(); groups_.size() == 1 && only.forms.gaps().empty()) {
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

template <class T>
std::size_t Parser<T>::read_rows(const char* p, std::span<const IndexEntry> sequences, std::uint64_t stop) {
  std::size_t n = 0;
  for (const IndexEntry& e : sequences) {
    if (e.begin + e.bytes > stop) break;
    const char* const line = p + (e.begin - sequences.front().begin);
    const char *at = line, *const end = line + e.bytes;
    if (shape_.id) {
      at = behind_id(at, text_ids_);
      at = is_blank(*at) ? at + 1 : nullptr;
    }
    const bool look = at != nullptr && worth_a_look();
    if (!(look && known_row(at, end)) && !like_the_last(at, end, look)) break;
    shape_.misses /= 2;
    ++n;
  }
  return n;
}

// Enters the last new_rows_ sequences, which have one sample of each stream, into the columns' offsets.
template <class T>
void Parser<T>::enter_rows() {
  const std::uint32_t rows = new_rows_;
  for (const Group& group : groups_) {
    for (const StreamState* const s : group.all()) {
      const auto behind = [&](auto& list) {
        list.resize(list.size() + rows);
        return list.data() + list.size() - rows;
      };
      auto* const first = behind(s->column->first_sample);
      const auto stored = static_cast<std::uint32_t>(s->stored - rows);
      for (std::uint32_t i = 0; i < rows; ++i) first[i] = stored + 1 + i;
      if (s->sparse) continue;
      auto* const begin = behind(s->column->begin);
      const std::uint64_t values = s->values - rows * s->dim;
      for (std::uint64_t i = 0; i < rows; ++i) begin[i] = values + i * s->dim;
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
template bool Parser<float>::known_row(const char*, const char*);
template std::size_t Parser<float>::read_rows(const char*, std::span<const IndexEntry>, std::uint64_t);
template void Parser<float>::enter_rows();
template std::uint64_t Parser<float>::rows_of_room() const;
template Parser<double>::Group& Parser<double>::add_group();
template void Parser<double>::cut_into_groups();
template const char* Parser<double>::groups(const char*);
template bool Parser<double>::append_groups();
template bool Parser<double>::learn_forms(const char*);
template const char* Parser<double>::known_lines(const char*, const char*);
template bool Parser<double>::known_row(const char*, const char*);
template std::size_t Parser<double>::read_rows(const char*, std::span<const IndexEntry>, std::uint64_t);
template void Parser<double>::enter_rows();
template std::uint64_t Parser<double>::rows_of_room() const;

}  // namespace batchfeed::ctf
