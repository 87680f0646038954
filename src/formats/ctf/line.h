// SPDX-License-Identifier: MIT
//
// The front of a line, and a line as the index sees it: an id, names, and
// whether there is damage that must not vanish unnoticed.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "formats/ctf/schema.h"
#include "text/number.h"

namespace batchfeed::ctf {

// What stands in front of the first sample.
struct LineFront {
  const char* begin;  // behind blanks: the id, the first pipe, garbage or the newline
  const char* end;    // behind the id; = begin where there is none
  std::uint64_t id = 0;
  bool overflow = false;  // an id above 2^64 - 1

  bool has_id() const noexcept { return end != begin; }
  // The first NUL byte of the margin that begins at `line`: a page that was never written leaves them. Or nullptr.
  const char* hole(const char* line) const noexcept {
    return static_cast<const char*>(std::memchr(line, 0, static_cast<std::size_t>(begin - line)));
  }
  std::string_view text() const noexcept { return {begin, static_cast<std::size_t>(end - begin)}; }
};

inline LineFront numeric_front(const char* p) noexcept {
  p = skip_margin(p);
  LineFront front{.begin = p, .end = p};
  const text::UnsignedEnd digits = text::read_unsigned(p, front.id);
  front.end = digits.at;
  front.overflow = digits.overflow;
  return front;
}

// Behind an id that begins at p; p if there is none.
inline const char* behind_id(const char* p, bool text) noexcept {
  if (text) return find_end_of_name(p);
  for (;;) {
    const unsigned digits = text::leading_digits(p).count;
    p += digits;
    if (digits < 8) return p;
  }
}

// Ids of text run to the next blank, byte below 20 or pipe.
inline LineFront text_front(const char* p) noexcept {
  p = skip_margin(p);
  return {.begin = p, .end = find_end_of_name(p)};
}

inline LineFront front_at(const char* p, bool text) noexcept { return text ? text_front(p) : numeric_front(p); }

// Names and damage of the rest of a line.
struct LineRest {
  const char* next;      // the next line
  bool damaged = false;  // something that is no sample in front of the first pipe, or a pipe without a name
  bool blank = true;     // nothing in it
  bool comment = true;   // only comments
};

// `p` behind the id, `marks` those of the line from p on. Calls token(stream) for
// each name of a declared stream.
template <class Token>
inline LineRest walk_names(const char* p, Marks& marks, const Schema& schema, int& likely, Token&& token) noexcept {
  LineRest rest{.next = p};
  const char* mark = marks.next();
  for (; p != mark; ++p) {
    if (class_of(*p) == Byte::printable) {
      rest.damaged = true;
      break;
    }
    if (static_cast<unsigned char>(*p) >= 0x80) rest.comment = rest.blank = false;
  }
  for (; *mark == '|'; mark = marks.next()) {
    rest.blank = false;
    const char* const name = mark + 1;
    if (*name == '#') continue;
    rest.comment = false;
    if (ends_name(*name)) {
      rest.damaged = true;
    } else if (const int stream = schema.match(name, likely); stream != Schema::kNone) {
      likely = schema.after(stream);
      token(stream);
    }
  }
  if (rest.damaged) rest.comment = rest.blank = false;
  rest.next = mark + 1;
  return rest;
}

template <class Token>
inline LineRest walk_names(const char* p, const Schema& schema, int& likely, Token&& token) noexcept {
  Marks marks(p);
  return walk_names(p, marks, schema, likely, token);
}

}  // namespace batchfeed::ctf
