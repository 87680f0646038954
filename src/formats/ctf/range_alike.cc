// SPDX-License-Identifier: MIT
//
// The length of a sequence is the number of samples of the stream that occurs most often in it, but at most the number
// of its lines with a name (ctf.md 7.4). So where one stream occurs in every line it is the number of lines, and only
// newlines and the first bytes of lines have to be looked at.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "formats/ctf/range_index.h"
#include "text/number.h"

namespace batchfeed::ctf {

namespace {
constexpr std::uint64_t kFew = 8;  // lines of a short sequence, behind which others are supposed to be short, too
}

bool RangeIndexer::take_front(const char* line, const char* id, const char* name) {
  if (*name != '|' || name[1] == '#' || ends_name(name[1])) return false;
  const int stream = schema_.match(name + 1, likely_);
  if (stream == Schema::kNone || (schema_.main() != Schema::kNone && stream != schema_.main())) return false;
  front_stream_ = static_cast<std::size_t>(stream);
  const auto bytes = static_cast<std::size_t>(name - line) + 1 + schema_.alias(front_stream_).size() + 1;
  if (bytes > kLongestFront) return false;
  front_.take(line, bytes);
  name_.forget();
  name_length_ = bytes - static_cast<std::size_t>(id - line);
  if (name_length_ <= kLongestName) name_.take(id, name_length_);
  return true;
}

bool RangeIndexer::enter_alike(Part& part, const LineBlocks& blocks, const char* p) {
  const LineFront front = front_at(p, text_);
  if (!front.has_id() || front.begin != p || front.overflow) return false;
  if (current_.has_id_of(front, text_)) return false;
  if (!take_front(p, front.end, is_blank(*front.end) ? front.end + 1 : front.end)) return false;
  switch_to(part, front, std::max(blocks.offset_of(p), start_.begin));
  return true;
}

// Reads an id of up to 16 digits at p, if the name behind it is that of front_; else false.
inline bool RangeIndexer::take_number(const char* p, Number& out) const {
  text::Digits digits = text::leading_digits(p);
  if (digits.count == 0) return false;
  out.id = text::spell(digits);
  out.digits = digits.count;
  if (digits.count == 8) {
    digits = text::leading_digits(p + 8);
    if (digits.count != 0) out.id = out.id * text::kPower[digits.count] + text::spell(digits);
    out.digits += digits.count;
  }
  return name_.same(p + out.digits) && out.digits + name_length_ <= kLongestFront;
}

bool RangeIndexer::go_on_text(Part& part, const LineBlocks& blocks, const char* p, std::uint64_t rows) {
  const std::string_view next(p, static_cast<std::size_t>(find_end_of_name(p) - p));
  if (rows > most_samples() || next.empty() || next.size() + name_length_ > kLongestFront ||
      !name_.same(p + next.size()) || next.size() > context_.limits.key_bytes)
    return false;
  // It is another id than the running one: the name is the same, and the line does not begin as front_ does.
  const std::uint64_t at = blocks.offset_of(p);
  list({.key = part.texts.size(),
        .begin = current_.begin,
        .bytes = at - current_.begin,
        .samples = static_cast<std::uint32_t>(rows)},
       io::IndexRoom::kKey + 2 * current_.text.size(), part.middle);
  part.texts.add(current_.text);
  current_.text = next;
  current_.begin = at;
  front_.take(p, next.size() + name_length_);
  return true;
}

bool RangeIndexer::go_on_alike(Part& part, const LineBlocks& blocks, const char* p, std::uint64_t rows) {
  if (text_) return go_on_text(part, blocks, p, rows);
  Number next;
  if (rows > most_samples() || !take_number(p, next) || next.id == current_.id) return false;
  const std::uint64_t at = blocks.offset_of(p);
  list({.key = current_.id,
        .begin = current_.begin,
        .bytes = at - current_.begin,
        .samples = static_cast<std::uint32_t>(rows)},
       0, part.middle);
  current_.id = next.id;
  current_.begin = at;
  front_.take(p, next.digits + name_length_);
  last_digit_ = next.digits - 1;
  return true;
}

RangeIndexer::Running RangeIndexer::count_on(Part& part, const LineBlocks& blocks, Lines lines) {
  const std::span<IndexEntry> places = part.middle.places();
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(places.size(), room_ / sizeof(IndexEntry)));
  const std::uint64_t most = most_samples(), offset = blocks.offset_of(lines.from);
  Prefix<kLongestFront> front = front_;
  std::size_t last_digit = last_digit_;
  IndexEntry* entry = places.data();
  const IndexEntry* const full = entry + room;
  const std::uint32_t* line = lines.first;
  std::uint64_t id = current_.id, begin = current_.begin, rows = 0;
  for (const char* before = lines.from + *line; line + 1 != lines.last && entry != full && rows < most;) {
    const std::uint64_t at = offset + line[1];
    const char* const now = lines.from + line[1];
    const unsigned no_digit = now[last_digit] > '9' ? 1 : 0;
    const unsigned other = front.differs(before, now), next = front.differs_by_one(before, now, last_digit) | no_digit;
    *entry = {.key = id, .begin = begin, .bytes = at - begin, .samples = static_cast<std::uint32_t>(rows + 1)};
    // One branch for both, as no CPU can predict where a sequence ends.
    if (other * next != 0) {
      Number number;
      if (!take_number(now, number) || number.id == id) break;
      ++entry;
      id = number.id;
      begin = at;
      rows = 0;
      front.take(now, number.digits + name_length_);
      last_digit = number.digits - 1;
    } else {
      const unsigned counts_up = next == 0 ? 1 : 0;
      entry += counts_up;
      id += counts_up;
      begin = next == 0 ? at : begin;
      rows = (rows + 1) & (counts_up - std::uint64_t{1});
    }
    before = now;
    ++line;
  }
  const auto taken = static_cast<std::size_t>(entry - places.data());
  part.middle.took(taken);
  room_ -= taken * sizeof(IndexEntry);
  current_.id = id;
  current_.begin = begin;
  front.move_to(lines.from + *line);
  front_ = front;
  last_digit_ = last_digit;
  return {.line = line, .begin = lines.from + (begin - offset), .rows = rows};
}

const char* RangeIndexer::alike(Part& part, const LineBlocks& blocks, const char* const from, const char* const stop) {
  // The first sequence may have begun in the range before: then its names must be counted.
  if ((inside_ && !part.first && !current_.has_id) || !enter_alike(part, blocks, from)) return from;
  std::array<std::uint32_t, kAtOnce * kLineStep + 16> begins;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const char* sequence = from;
  std::uint64_t rows = 0;  // of it, before those of `begins`
  for (const char* p = from; p < stop && p - sequence <= kLongest;) {
    const std::size_t steps = std::clamp<std::size_t>(static_cast<std::size_t>(stop - p) / kLineStep, 1, kAtOnce);
    const std::uint32_t* line = begins.data();
    const std::uint32_t* end = line + begins_(p, steps, begins.data());
    while (end != line && p + end[-1] >= stop) --end;
    const std::uint32_t* first = line;
    for (; line != end; ++line) {
      const char* const next = p + *line;
      if (front_.same(next)) [[likely]]
        continue;
      rows += static_cast<std::uint64_t>(line + 1 - first);
      if (go_on_alike(part, blocks, next, rows)) {
        if (rows <= kFew && !text_) {
          const Running running = count_on(part, blocks, {.from = p, .first = line, .last = end});
          line = running.line;
          first = line + 1;
          rows = running.rows;
          sequence = running.begin;
          continue;
        }
      } else {
        current_.rows = rows;
        if (!current_.tokens.empty()) current_.tokens[front_stream_] = rows;
        if (!enter_alike(part, blocks, next)) {
          clear(current_.begin);
          return sequence;
        }
      }
      first = line + 1;
      rows = 0;
      sequence = next;
    }
    rows += static_cast<std::uint64_t>(end - first);
    p += steps * kLineStep;
  }
  return sequence;
}

const char* RangeIndexer::alike_lines(Part& part, const LineBlocks& blocks, const char* const from,
                                      const char* const stop) {
  if (!take_front(from, from, from)) return from;
  std::array<std::uint32_t, kAtOnce * kLineStep + 16> begins;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::uint64_t open = std::max(blocks.offset_of(from), start_.begin);  // where the line begins that ends next
  const std::uint64_t file_end = file_.size();
  const char* behind = from;
  for (const char* p = from; p < stop;) {
    const std::size_t steps = std::clamp<std::size_t>(static_cast<std::size_t>(stop - p) / kLineStep, 1, kAtOnce);
    const std::uint32_t* next = begins.data();
    const std::uint32_t* const end = next + begins_(p, steps, begins.data());
    while (next != end) {
      const std::span<IndexEntry> places = part.middle.places();
      const std::uint64_t room = std::min<std::uint64_t>(places.size(), room_ / sizeof(IndexEntry));
      if (room == 0) too_large(open);
      const std::uint32_t* const last = next + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(room), end - next);
      const std::uint64_t lines = part.lines;
      bool alike = true;
      IndexEntry* entry = places.data();
      while (next != last && alike) {
        behind = p + *next++;
        const std::uint64_t line_end = std::min(blocks.offset_of(behind), file_end);
        *entry = {.key = lines + static_cast<std::uint64_t>(entry - places.data()),
                  .begin = open,
                  .bytes = line_end - open,
                  .samples = 1};
        ++entry;
        open = line_end;
        alike = behind < stop && front_.same(behind);
      }
      const auto taken = static_cast<std::size_t>(entry - places.data());
      part.middle.took(taken);
      part.lines += taken;
      room_ -= taken * sizeof(IndexEntry);
      if (!alike) return behind;
    }
    p += steps * kLineStep;
  }
  return behind;
}

const char* RangeIndexer::behind(const char* p, const char* const stop) const {
  const auto next = [&](const char* line) {
    return static_cast<const char*>(std::memchr(line, '\n', static_cast<std::size_t>(stop - line))) + 1;
  };
  if (start_.line_mode) return next(p);
  const LineFront front = front_at(p, text_);
  const auto bytes = static_cast<std::size_t>(front.end - p) + 1;
  if (front.begin != p || bytes > LineBlocks::kFront) return next(p);
  for (const char* line = next(p); line != stop; line = next(line)) {
    if (line - p > kLongest) return stop;
    if (*line != '|' && std::memcmp(line, p, bytes) != 0) return line;
  }
  return stop;
}

}  // namespace batchfeed::ctf
