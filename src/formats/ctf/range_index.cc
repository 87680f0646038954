// SPDX-License-Identifier: MIT
#include "formats/ctf/range_index.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

#include "base/counted.h"
#include "base/cpu.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/line_map.h"

namespace batchfeed::ctf {
namespace {

// How often the stream is named that is named most.
std::uint64_t longest(const Open& open) {
  return open.tokens.empty() ? 0 : *std::max_element(open.tokens.begin(), open.tokens.end());
}

std::uint64_t low_bits(unsigned n) noexcept { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

}  // namespace

RangeIndexer::RangeIndexer(const io::File& file, const Start& start, const Schema& schema, const OpenContext& context,
                           bool every_line)
    : file_(file),
      start_(start),
      schema_(schema),
      context_(context),
      every_line_(every_line),
      text_(context.keys->mode() != KeyMode::numeric && !start.line_mode),
      names_(schema),
      find_(names_.usable() ? find_names(forced_tier()) : nullptr),
      begins_(line_begins(forced_tier())),
      room_(io::room_for_index(file, context.limits).bytes) {
  if (schema.main() == Schema::kNone) current_.tokens.assign(schema.size(), 0);
}

bool RangeIndexer::close(const Open& open, std::uint64_t end, std::uint64_t key, IndexNotes& notes, IndexEntries& out) {
  if (!text_ && !open.text.empty() && notes.above++ == 0) {
    notes.first_above = open.begin;
    notes.above_id = open.text;
  }
  const std::uint64_t length = schema_.length_of(open.rows, longest(open), open.damaged);
  if (length == 0) {
    if (notes.left_out++ == 0) notes.first_left_out = open.begin;
    return false;
  }
  if (length > most_samples()) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.sequence",
                      .at = {.file = file_.path(), .byte = open.begin, .has_byte = true},
                      .what = "a sequence of " + counted(length, "sample") + " starts here, the limit is " +
                              std::to_string(most_samples()),
                      .hint = "raise limits.sequence_samples, or check the sequence ids"});
  }
  list({.key = key, .begin = open.begin, .bytes = end - open.begin, .samples = static_cast<std::uint32_t>(length)},
       text_ ? io::IndexRoom::kKey + 2 * open.text.size() : 0, out);
  return true;
}

void RangeIndexer::too_large(std::uint64_t begin) const {
  throw Error(io::large_index(file_, {.file = file_.path(), .byte = begin, .has_byte = true}, context_.limits));
}

void RangeIndexer::merge(Open& into, const Open& from) const {
  into.rows += from.rows;
  into.damaged |= from.damaged;
  for (std::size_t s = 0; s < into.tokens.size(); ++s) into.tokens[s] += from.tokens[s];
}

void RangeIndexer::clear(std::uint64_t begin) {
  current_.begin = begin;
  current_.rows = 0;
  std::fill(current_.tokens.begin(), current_.tokens.end(), 0);
  current_.damaged = false;
}

// A line with an id: the running sequence ends here unless it has the same.
void RangeIndexer::switch_to(Part& part, const LineFront& front, std::uint64_t at) {
  if (front.overflow && !context_.lists_all)
    throw Error(id_range(file_.path(), front.text(), at, LineMap(file_).line_of(at)));
  if (text_ && front.text().size() > context_.limits.key_bytes)
    throw Error(long_key(file_.path(), context_.limits.key_bytes, at, LineMap(file_).line_of(at)));
  if (current_.has_id_of(front, text_)) return;
  if (!current_.has_id) {
    part.head = current_;
  } else if (inside_ && !part.first) {
    part.first = current_;
    part.second_begin = at;
  } else if (close(current_, at, text_ ? part.texts.size() : current_.id, part.notes, part.middle) && text_) {
    part.texts.add(current_.text);
  }
  clear(at);
  current_.has_id = true;
  current_.id = front.id;
  if (text_ || front.overflow) {
    current_.text = front.text();
  } else {
    current_.text.clear();
  }
}

// A line of a corpus with ids begins at `line`: another id begins another sequence.
void RangeIndexer::enter(Part& part, const char* line, std::uint64_t at) {
  const LineFront front = front_at(line, text_);
  if (!front.has_id()) return;
  switch_to(part, front, std::max(at, start_.begin));
  const auto bytes = static_cast<std::size_t>(front.end - line) + 1;
  if (front.begin == line && bytes <= kLongestId) {
    id_.take(line, bytes);
  } else {
    id_.forget();
  }
}

void RangeIndexer::lines(Part& part, const LineBlocks& blocks, const char* p, const char* stop) {
  const int main = schema_.main();
  for (Marks marks(p); p != stop;) {
    const std::uint64_t at = std::max(blocks.offset_of(p), start_.begin);
    const LineFront front = front_at(p, text_);
    if (start_.line_mode) {
      clear(at);
    } else if (front.has_id()) {
      switch_to(part, front, at);
    }
    bool row = false;
    const LineRest rest = walk_names(front.end, marks, schema_, likely_, [&](int stream) {
      if (main == Schema::kNone) ++current_.tokens[static_cast<std::size_t>(stream)];
      row |= main == Schema::kNone || stream == main;
    });
    current_.rows += row ? 1 : 0;
    current_.damaged |= rest.damaged;
    p = rest.next;
    if (start_.line_mode && (front.has_id() || !(rest.blank || rest.comment)))
      close(current_, std::min(blocks.offset_of(p), file_.size()), part.lines, part.notes, part.middle);
    ++part.lines;
  }
}

// Adds what stands in these bytes of a piece to the running sequence.
void RangeIndexer::add(const Piece& piece, std::uint64_t bytes) {
  current_.rows += ones(piece.rows & bytes);
  if (current_.tokens.empty()) return;
  for (std::size_t n = 0; n < names_.size(); ++n) current_.tokens[names_.stream(n)] += ones(piece.names[n] & bytes);
}

// Adds whole pieces up to the one with the byte before `p`, and returns that one.
const Piece* RangeIndexer::add_up_to(const Piece* piece, const Piece* last, const char* p) {
  const Piece* to = std::min(piece + (p - 1 - piece->at) / static_cast<std::ptrdiff_t>(Piece::kBytes), last);
  while (to->at >= p) --to;  // some may have been left out
  current_.rows += to->lines - piece->lines;
  if (current_.tokens.empty()) return to;
  for (std::size_t n = 0; n < names_.size(); ++n) current_.tokens[names_.stream(n)] += to->counts[n] - piece->counts[n];
  return to;
}

// A line of a corpus with ids begins at p, in a piece: what is before it belongs to the sequence that may end here.
// `added`: the bytes of the piece that belonged to one before.
void RangeIndexer::enter(Part& part, const LineBlocks& blocks, const Piece& piece, const char* p,
                         std::uint64_t& added) {
  const std::uint64_t before = low_bits(static_cast<unsigned>(p - piece.at)) & ~added;
  add(piece, before);
  added |= before;
  enter(part, p, blocks.offset_of(p));
}

// Pieces with lines that hold no name; or in which every line is a sequence.
void RangeIndexer::line_by_line(Part& part, const LineBlocks& blocks, std::span<const Piece> pieces, const char* line,
                                const char* stop) {
  for (const Piece& piece : pieces) {
    std::uint64_t added = 0;
    for (std::uint64_t ends = piece.newlines; ends != 0; ends &= ends - 1) {
      const auto at = static_cast<unsigned>(std::countr_zero(ends));
      const char* const next = piece.at + at + 1;
      if ((piece.rows >> at & 1) == 0) {
        // With ids it matters only whether there is damage, in a sequence that has nothing else.
        if (start_.line_mode || (current_.rows == 0 && schema_.main() == Schema::kNone))
          lines(part, blocks, line, next);
      } else if (start_.line_mode) {
        // One sample, however often a name stands there.
        const std::uint64_t begin = std::max(blocks.offset_of(line), start_.begin);
        const std::uint64_t end = std::min(blocks.offset_of(next), file_.size());
        list({.key = part.lines++, .begin = begin, .bytes = end - begin, .samples = 1}, 0, part.middle);
      }
      line = next;
      if (!start_.line_mode && next != stop && !id_.same(next)) enter(part, blocks, piece, next, added);
    }
    if (!start_.line_mode) add(piece, ~added);
  }
}

// Pieces of a corpus with ids, each of whose lines holds a name.
void RangeIndexer::sequence_by_sequence(Part& part, const LineBlocks& blocks, std::span<const Piece> pieces,
                                        const char* stop) {
  // Where lines begin; gathered first, as most of them only go on with the sequence.
  std::array<std::uint32_t, kAtOnce * Piece::kBytes + 4> begins;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const char* const base = pieces.front().at;
  for (const Piece& piece : pieces) {
    std::uint32_t* const out = begins.data() + piece.lines;
    const auto at = static_cast<std::uint32_t>(piece.at - base) + 1;
    std::uint64_t ends = piece.newlines;
    // Four without a branch, which could not be foreseen; what is too many is overwritten.
    constexpr std::uint64_t kSome = std::uint64_t{1} << 63;
    for (unsigned i = 0; i < 4; ++i, ends &= ends - 1) {
      out[i] = at + static_cast<unsigned>(std::countr_zero(ends | kSome));
      asm("" : "+m"(out[i]));  // one by one: it takes longer to get four into a vector
    }
    for (unsigned i = 4; ends != 0; ++i, ends &= ends - 1) out[i] = at + static_cast<unsigned>(std::countr_zero(ends));
  }
  const std::uint32_t* end = begins.data() + pieces.back().lines + ones(pieces.back().newlines);
  if (end != begins.data() && base + end[-1] == stop) --end;
  const Piece* piece = pieces.data();
  std::uint64_t added = 0;  // bytes of *piece
  const auto go_to = [&](const char* p) {
    if (added != 0 && p - piece->at > static_cast<std::ptrdiff_t>(Piece::kBytes)) {
      add(*piece++, ~added);
      added = 0;
    }
    if (added == 0) piece = add_up_to(piece, &pieces.back(), p);
  };
  Prefix<kLongestId> id = id_;
  for (const std::uint32_t* line = begins.data(); line != end; ++line) {
    const char* const p = base + *line;
    if (id.same(p) || *p == '|') [[likely]]
      continue;
    go_to(p);
    enter(part, blocks, *piece, p, added);
    id = id_;
  }
  const Piece& last = pieces.back();
  go_to(last.at + Piece::kBytes);
  add(last, ~added);
}

void RangeIndexer::pieces(Part& part, const LineBlocks& blocks, const char* p, const char* const stop) {
  std::array<Piece, kAtOnce> found;  // NOLINT(cppcoreguidelines-pro-type-member-init): find_ fills it
  std::array<char, Piece::kBytes + Names::kBytes + 1> tail{};
  const char* line = p;  // the open one,
  bool named = false;    // and whether it holds a name so far
  if (!start_.line_mode) enter(part, p, blocks.offset_of(p));
  while (p != stop) {
    const auto left = static_cast<std::size_t>(stop - p);
    const std::size_t whole = std::min(left / Piece::kBytes, kAtOnce);
    Found names{};
    if (whole != 0) {
      names = find_(p, whole, names_, named, found.data());
      p += whole * Piece::kBytes;
    } else {
      std::memcpy(tail.data(), p, left);
      names = find_(tail.data(), 1, names_, named, found.data());
      found[0].at = p;
      p = stop;
    }
    if (names.pieces == 0) continue;
    const auto pieces = std::span(found).first(names.pieces);
    const char* next = line;
    for (auto piece = pieces.rbegin(); piece != pieces.rend() && next == line; ++piece) {
      if (piece->newlines != 0) next = piece->at + std::bit_width(piece->newlines);
    }
    if (names.rows && !start_.line_mode) {
      sequence_by_sequence(part, blocks, pieces, stop);
    } else {
      line_by_line(part, blocks, pieces, line, stop);
    }
    line = next;
  }
}

void RangeIndexer::block(Part& part, const LineBlocks& blocks, const char* p, const char* const stop) {
  if (every_line_) return lines(part, blocks, p, stop);
  const auto any = [&](const char* to) {
    if (p == to) return;
    find_ != nullptr ? pieces(part, blocks, p, to) : lines(part, blocks, p, to);
    p = to;
  };
  for (int odd = 0; p != stop && odd < kMostOdd; ++odd) {
    p = start_.line_mode ? alike_lines(part, blocks, p, stop) : alike(part, blocks, p, stop);
    if (p != stop) any(behind(p, stop));
  }
  any(stop);
}

Part RangeIndexer::run(std::uint64_t begin, std::uint64_t end, const std::function<void(std::uint64_t)>& passed) {
  Part part;
  current_.begin = begin;
  SpareBlock buffer;
  // Behind the first range, the byte before it tells whether a line starts at `begin`.
  inside_ = begin > start_.line_begin;
  const std::uint64_t from = inside_ ? begin - 1 : begin;
  file_.will_read(from, end);
  LineBlocks blocks(fill_from(file_, from, file_.size()), from, *buffer, file_.path(),
                    io::room_for_line(file_, context_.limits), 256 << 10);
  // A line that began before is not kept: there may be many ranges in it.
  const bool any = !inside_ || blocks.skip_line(end);
  while (any && blocks.next()) {
    const auto behind_newline = [&](const char* p) {
      return static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(blocks.end() - p))) + 1;
    };
    const bool last = blocks.offset_of(blocks.end()) >= end;
    const char* const stop = last ? behind_newline(blocks.begin() + (end - 1 - blocks.offset())) : blocks.end();
    block(part, blocks, blocks.begin(), stop);
    passed(blocks.offset_of(stop));
    if (last) break;
  }
  if (start_.line_mode) return part;
  if (!current_.has_id) {
    part.head = std::move(current_);
  } else if (!part.first) {
    part.first = std::move(current_);
  } else {
    part.last = std::move(current_);
  }
  return part;
}

}  // namespace batchfeed::ctf
