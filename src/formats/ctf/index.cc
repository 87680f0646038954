// SPDX-License-Identifier: MIT
#include "formats/ctf/index.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/byte_order_mark.h"
#include "formats/ctf/blocks.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/range_index.h"
#include "formats/ctf/ranges.h"
#include "model/places.h"

namespace batchfeed::ctf {

Start find_start(const io::File& file, bool skip_sequence_ids, KeyMode keys, const Limits& limits) {
  std::array<char, 4> bytes{};
  const auto head = std::span(bytes).first(static_cast<std::size_t>(std::min<std::uint64_t>(4, file.size())));
  file.read(0, std::as_writable_bytes(head));
  const std::string_view mark(head.data(), head.size());
  if (is_utf16(mark) || is_utf32(mark)) throw Error(not_utf8(file.path()));
  const std::uint64_t begin = utf8_mark_bytes(mark);

  Start start{.begin = begin};
  SpareBlock buffer;
  LineBlocks blocks(fill_from(file, begin, file.size()), begin, *buffer, file.path(), io::room_for_line(file, limits),
                    64 << 10);
  bool leading_white = true;  // only white space so far
  bool comments = false;
  while (blocks.next()) {
    for (const char* p = blocks.begin(); p != blocks.end();) {
      const char* const line = p;
      const char* const content = skip_margin(p);
      const char* white = p;
      while (*white == ' ' || (*white >= 0x09 && *white <= 0x0D && *white != '\n')) ++white;
      const bool is_comment = [&] {
        if (*content != '|') return false;
        for (const char* q = content; *q == '|'; q = find_pipe_or_newline(q + 1)) {
          if (q[1] != '#') return false;
        }
        return true;
      }();
      p = find_pipe_or_newline(content);
      while (*p != '\n') p = find_pipe_or_newline(p + 1);
      ++p;
      if (*content == '\n' || is_comment) {
        leading_white &= *white == '\n';
        comments |= is_comment;
        ++start.lines;
        continue;
      }
      start.line_begin = blocks.offset_of(line);
      start.begin = leading_white ? blocks.offset_of(white) : start.line_begin;
      start.line_mode = skip_sequence_ids || *content == '|';
      const std::uint64_t at = blocks.offset_of(content);
      const std::uint64_t column = at - start.line_begin + 1;
      if (start.line_mode && keys != KeyMode::numeric)
        throw Error(keys_need_ids(file.path(), at, start.lines + 1, column, content));
      if (!start.line_mode && keys == KeyMode::numeric && !is_digit(*content)) {
        throw Error(no_id(file.path(), at, start.lines + 1, column, content));
      }
      return start;
    }
  }
  throw Error(comments ? no_sequence(file.path(), "holds nothing but comments") : empty_file(file.path()));
}

IndexResult index_file(const io::File& file, const Start& start, const Schema& schema, const OpenContext& context,
                       std::uint64_t range_bytes, bool every_line) {
  const Ranges ranges(file, start.line_begin, file.size(), range_bytes, context.threads);
  const auto read = [&](std::uint64_t begin, std::uint64_t end, const auto& passed) {
    return RangeIndexer(file, start, schema, context, every_line).run(begin, end, passed);
  };
  std::vector<Part> parts = read_ranges<Part>(ranges, read, [&](std::uint64_t bytes) {
    if (context.progress) context.progress(bytes, ranges.end - ranges.begin);
  });

  // Stitch: what a range left open goes on in the next one.
  IndexResult result;
  IndexEntries& entries = result.index.entries;
  const bool text = context.keys->mode() != KeyMode::numeric;
  RangeIndexer judge(file, start, schema, context);
  std::optional<Open> running;
  if (text) {
    std::uint64_t texts = 0;
    for (const Part& part : parts) texts += part.texts.size() + 2;  // and those that ranges left open
    context.keys->expect(texts);
  }
  std::uint64_t lines = start.lines;
  const auto close = [&](const Open& open, std::uint64_t end) {
    IndexEntries one;
    if (!judge.close(open, end, open.id, result.notes, one)) return;
    IndexEntry entry = one.back();
    // Ids of sequences that are left out get no number, or the numbers would depend on the ranges.
    if (text) entry.key = context.keys->id(open.text);
    entries.push_back(entry);
  };
  for (Part& part : parts) {
    if (part.head && running) judge.merge(*running, *part.head);
    if (part.first) {
      if (running && running->same_id(*part.first)) {
        judge.merge(*running, *part.first);
      } else {
        if (running) close(*running, part.first->begin);
        running = std::move(part.first);
      }
      if (part.last) {
        close(*running, part.second_begin);
        running = std::move(part.last);
      }
    }
    if (part.notes.left_out > 0 && result.notes.left_out == 0) result.notes.first_left_out = part.notes.first_left_out;
    result.notes.left_out += part.notes.left_out;
    if (part.notes.above > 0 && result.notes.above == 0) {
      result.notes.first_above = part.notes.first_above;
      result.notes.above_id = std::move(part.notes.above_id);
    }
    result.notes.above += part.notes.above;
    if (start.line_mode) part.middle.add_to_keys(lines);
    if (text) number_places(part.middle, part.texts, *context.keys);
    entries.append(std::move(part.middle));
    lines += part.lines;
    part = Part();
  }
  if (running) close(*running, file.size());
  entries.close();
  // Each range has kept to this limit by itself only.
  if (entries.size() > io::room_for_index(file, context.limits).bytes / sizeof(IndexEntry))
    throw Error(
        io::large_index(file, {.file = file.path(), .byte = entries.back().begin, .has_byte = true}, context.limits));
  if (entries.empty()) {
    throw Error(no_sequence(file.path(), schema.main() == Schema::kNone
                                             ? "no line holds one of the declared inputs"
                                             : "no line holds '|" +
                                                   schema.alias(static_cast<std::size_t>(schema.main())) +
                                                   "', the stream that defines the minibatch size"));
  }
  return result;
}

std::vector<ChunkInfo> cut_chunks(Index& index, std::uint64_t limit) {
  const IndexEntries& entries = index.entries;
  std::vector<ChunkInfo> chunks;
  index.chunk_first.clear();
  std::uint64_t begin = 0;  // of the chunk
  const auto fits = [&](std::uint64_t bytes, std::size_t n) {
    return bytes <= limit && n <= 0xFFFFFFFFu - chunks.back().sequences;
  };
  const auto take = [&](std::uint64_t end, std::size_t n, std::uint64_t samples) {
    chunks.back().sequences += n;
    chunks.back().samples += samples;
    chunks.back().bytes = end - begin;
  };
  for (std::size_t i = 0; i < entries.size();) {
    const IndexEntries::Stretch whole = entries.stretch(i);
    if (whole.entries != 0 && !chunks.empty() && fits(whole.end - begin, whole.entries)) {
      take(whole.end, whole.entries, whole.samples);
      i += whole.entries;
      continue;
    }
    std::array<IndexEntry, 32> some;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (const IndexEntry& e : std::span(some).first(entries.read(i, some))) {
      const std::uint64_t end = e.begin + e.bytes;
      // Bytes between this entry and the one before do not count for whether it fits, but for whether the next one
      // does.
      if (chunks.empty() || !fits(chunks.back().bytes + e.bytes, 1)) {
        index.chunk_first.push_back(i);
        chunks.emplace_back();
        begin = e.begin;
      }
      take(end, 1, e.samples);
      ++i;
    }
  }
  index.chunk_first.push_back(entries.size());
  return chunks;
}

}  // namespace batchfeed::ctf
