// SPDX-License-Identifier: MIT
#include "formats/ctf/index.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "formats/ctf/blocks.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/line.h"
#include "formats/ctf/line_map.h"

namespace batchfeed::ctf {
namespace {

// A sequence whose end has not been seen.
struct Open {
  bool has_id = false;
  std::uint64_t id = 0;
  std::string text;  // the id in the modes text and hashed
  std::uint64_t begin = 0;
  std::uint64_t rows = 0;     // lines with a declared input (with the main stream, where there is one)
  std::uint64_t longest = 0;  // names of the stream that has most
  std::vector<std::uint64_t> tokens;
  bool damaged = false;

  bool same_id(const Open& other) const { return id == other.id && text == other.text; }
};

// What one range of the file holds. Its first lines may belong to a sequence
// that began before it, its last sequence may go on behind it.
struct Part {
  std::uint64_t lines = 0;
  std::optional<Open> head;         // lines before the first id
  std::optional<Open> first, last;  // the first and the last sequence with an id here; `last` only if it is another
  std::uint64_t second_begin = 0;   // where `first` ends, if `last` is set
  std::vector<IndexEntry> middle;   // whole sequences between them; in line mode all (keys count from the range)
  std::vector<std::string> texts;   // ids of `middle`, key = place in here
  IndexNotes notes;
};

class RangeIndexer {
 public:
  RangeIndexer(const io::File& file, const Start& start, const Schema& schema, const OpenContext& context)
      : file_(file),
        start_(start),
        schema_(schema),
        context_(context),
        text_(context.keys->mode() != KeyMode::numeric) {}

  // The lines that begin in [begin, end).
  Part run(std::uint64_t begin, std::uint64_t end, const std::function<void(std::uint64_t)>& passed);

  bool close(const Open& open, std::uint64_t end, std::uint64_t key, IndexNotes& notes,
             std::vector<IndexEntry>& out) const;
  void merge(Open& into, const Open& from) const;

 private:
  const char* line(Part& part, const char* p, std::uint64_t at, Marks& marks);
  void switch_to(Part& part, const LineFront& front, std::uint64_t at);
  void count(Open& open, std::size_t stream) const { open.longest = std::max(open.longest, ++open.tokens[stream]); }

  const io::File& file_;
  const Start& start_;
  const Schema& schema_;
  const OpenContext& context_;
  bool text_;
  Open current_;
  int likely_ = 0;
};

bool RangeIndexer::close(const Open& open, std::uint64_t end, std::uint64_t key, IndexNotes& notes,
                         std::vector<IndexEntry>& out) const {
  const bool kept = open.rows > 0 || (open.damaged && schema_.main() == Schema::kNone);
  if (!kept) {
    if (notes.left_out++ == 0) notes.first_left_out = open.begin;
    return false;
  }
  const std::uint64_t length = open.rows == 0                    ? 1
                               : schema_.main() == Schema::kNone ? std::min(open.rows, open.longest)
                                                                 : open.rows;
  if (length > context_.limits.sequence_samples) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.sequence",
                      .at = {.file = file_.path(), .byte = open.begin, .has_byte = true},
                      .what = "a sequence of " + std::to_string(length) + " samples starts here, the limit is " +
                              std::to_string(context_.limits.sequence_samples),
                      .hint = "raise limits.sequence_samples, or check the sequence ids"});
  }
  out.push_back(
      {.key = key, .begin = open.begin, .bytes = end - open.begin, .samples = static_cast<std::uint32_t>(length)});
  return true;
}

void RangeIndexer::merge(Open& into, const Open& from) const {
  into.rows += from.rows;
  into.damaged |= from.damaged;
  for (std::size_t s = 0; s < into.tokens.size(); ++s) {
    into.tokens[s] += from.tokens[s];
    into.longest = std::max(into.longest, into.tokens[s]);
  }
}

// A line with an id: the running sequence ends here unless it has the same.
void RangeIndexer::switch_to(Part& part, const LineFront& front, std::uint64_t at) {
  if (front.overflow) throw Error(id_range(file_.path(), front.text(), at, LineMap(file_).line_of(at)));
  if (text_ && front.text().size() > context_.limits.key_bytes)
    throw Error(long_key(file_.path(), context_.limits.key_bytes, at, LineMap(file_).line_of(at)));
  if (current_.has_id && (text_ ? current_.text == front.text() : current_.id == front.id)) return;
  if (!current_.has_id) {
    part.head = current_;
  } else if (!part.first) {
    part.first = current_;
    part.second_begin = at;
  } else if (close(current_, at, text_ ? part.texts.size() : current_.id, part.notes, part.middle) && text_) {
    part.texts.push_back(std::move(current_.text));
  }
  current_.has_id = true;
  current_.id = front.id;
  if (text_) current_.text = front.text();
  current_.begin = at;
  current_.rows = current_.longest = 0;
  std::fill(current_.tokens.begin(), current_.tokens.end(), 0);
  current_.damaged = false;
}

// Gives the next line.
const char* RangeIndexer::line(Part& part, const char* p, std::uint64_t at, Marks& marks) {
  const LineFront front = text_ && !start_.line_mode ? text_front(p) : numeric_front(p);
  if (at <= start_.begin) at = start_.begin;
  if (start_.line_mode) {
    current_.begin = at;
    current_.rows = current_.longest = 0;
    current_.damaged = false;
    std::fill(current_.tokens.begin(), current_.tokens.end(), 0);
  } else if (front.has_id()) {
    switch_to(part, front, at);
  }
  bool row = false;
  const int main = schema_.main();
  const LineRest rest = walk_names(front.end, marks, schema_, likely_, [&](int stream) {
    count(current_, static_cast<std::size_t>(stream));
    row |= main == Schema::kNone || stream == main;
  });
  current_.rows += row ? 1 : 0;
  current_.damaged |= rest.damaged;
  if (start_.line_mode && (front.has_id() || !(rest.blank || rest.comment))) {
    close(current_, at, part.lines, part.notes, part.middle);  // run() sets the size
  }
  return rest.next;
}

Part RangeIndexer::run(std::uint64_t begin, std::uint64_t end, const std::function<void(std::uint64_t)>& passed) {
  Part part;
  current_.tokens.assign(schema_.size(), 0);
  current_.begin = begin;
  Buffer<char> buffer;
  // Behind the first range, the byte before it tells whether a line starts at `begin`.
  const bool inside = begin > start_.line_begin;
  const std::uint64_t from = inside ? begin - 1 : begin;
  file_.will_read(from, end);
  LineBlocks blocks(fill_from(file_, from, file_.size()), from, buffer, file_.path(), context_.limits.line_bytes);
  bool skip = inside;
  while (blocks.next()) {
    const char* p = blocks.begin();
    if (skip) {
      p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(blocks.end() - p))) + 1;
      skip = false;
    }
    Marks marks(p);
    while (p != blocks.end()) {
      const std::uint64_t at = blocks.offset_of(p);
      if (at >= end) break;
      const std::size_t before = part.middle.size();
      const char* const next = line(part, p, at, marks);
      if (start_.line_mode && part.middle.size() > before) {
        part.middle.back().bytes = std::min(blocks.offset_of(next), file_.size()) - part.middle.back().begin;
      }
      ++part.lines;
      p = next;
    }
    passed(blocks.offset_of(p));
    if (p != blocks.end()) break;
    if (blocks.offset_of(p) >= end) break;
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

}  // namespace

Start find_start(const io::File& file, bool skip_sequence_ids, KeyMode keys, const Limits& limits) {
  std::array<unsigned char, 4> mark{};
  const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(4, file.size()));
  file.read(0, std::as_writable_bytes(std::span(mark).first(n)));
  const bool utf16 = n >= 2 && ((mark[0] == 0xFF && mark[1] == 0xFE) || (mark[0] == 0xFE && mark[1] == 0xFF));
  const bool utf32 = n == 4 && mark[0] == 0 && mark[1] == 0 && mark[2] == 0xFE && mark[3] == 0xFF;
  if (utf16 || utf32) throw Error(not_utf8(file.path()));
  const std::uint64_t begin = n >= 3 && mark[0] == 0xEF && mark[1] == 0xBB && mark[2] == 0xBF ? 3 : 0;

  Start start{.begin = begin};
  Buffer<char> buffer;
  LineBlocks blocks(fill_from(file, begin, file.size()), begin, buffer, file.path(), limits.line_bytes, 64 << 10);
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
      const std::uint64_t column = at - start.line_begin + 1 + (start.lines == 0 ? begin : 0);
      if (start.line_mode && keys != KeyMode::numeric)
        throw Error(keys_need_ids(file.path(), at, start.lines + 1, column));
      if (!start.line_mode && keys == KeyMode::numeric && !is_digit(*content)) {
        throw Error(no_id(file.path(), at, start.lines + 1, column, content));
      }
      return start;
    }
  }
  throw Error(comments ? no_sequence(file.path(), "holds nothing but comments") : empty_file(file.path()));
}

IndexResult index_file(const io::File& file, const Start& start, const Schema& schema, const OpenContext& context,
                       std::uint64_t range_bytes) {
  const std::uint64_t bytes = file.size() - start.line_begin;
  const auto count = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(bytes / std::max<std::uint64_t>(range_bytes, 1), 1, std::max(context.threads, 1u)));
  std::vector<Part> parts(count);
  std::vector<std::exception_ptr> failed(count);
  std::atomic<std::uint64_t> done = 0;
  const auto border = [&](std::size_t i) {
    return start.line_begin + bytes / count * i + (i == count ? bytes % count : 0);
  };
  const auto work = [&](std::size_t i) {
    try {
      std::uint64_t last = border(i);
      RangeIndexer indexer(file, start, schema, context);
      parts[i] = indexer.run(border(i), border(i + 1), [&](std::uint64_t at) {
        const std::uint64_t sum = done += at - std::min(at, last);
        last = at;
        if (i == 0 && context.progress) context.progress(std::min(sum, bytes), bytes);
      });
    } catch (...) {
      failed[i] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& t : threads) t.join();
  for (const std::exception_ptr& e : failed) {
    if (e) std::rethrow_exception(e);
  }

  // Stitch: what a range left open goes on in the next one.
  IndexResult result;
  std::vector<IndexEntry>& entries = result.index.entries;
  const bool text = context.keys->mode() != KeyMode::numeric;
  const RangeIndexer judge(file, start, schema, context);
  std::optional<Open> running;
  std::uint64_t lines = start.lines;
  const auto close = [&](const Open& open, std::uint64_t end) {
    const bool kept = judge.close(open, end, open.id, result.notes, entries);
    // What is left out has no number: the numbers must not depend on the ranges.
    if (kept && text) entries.back().key = context.keys->id(open.text);
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
    if (entries.empty()) entries.reserve(part.middle.size() * parts.size() + parts.size());
    for (IndexEntry& e : part.middle) {
      e.key = start.line_mode ? e.key + lines
              : text          ? context.keys->id(part.texts[static_cast<std::size_t>(e.key)])
                              : e.key;
      entries.push_back(e);
    }
    lines += part.lines;
    part = Part();
  }
  if (running) close(*running, file.size());
  if (entries.empty()) {
    throw Error(no_sequence(file.path(), schema.main() == Schema::kNone
                                             ? "no line holds one of the declared inputs"
                                             : "no line holds '|" +
                                                   schema.alias(static_cast<std::size_t>(schema.main())) +
                                                   "', the stream that defines the minibatch size"));
  }
  return result;
}

void cut_chunks(Index& index, std::uint64_t limit) {
  index.chunk_first.clear();
  std::uint64_t begin = 0, end = 0;
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    const IndexEntry& e = index.entries[i];
    if (i == 0 || end - begin + e.bytes > limit || i - index.chunk_first.back() == 0xFFFFFFFFu) {
      index.chunk_first.push_back(i);
      begin = e.begin;
    }
    end = e.begin + e.bytes;
  }
  index.chunk_first.push_back(index.entries.size());
}

std::optional<IndexNotes::Repeated> find_repeated(const std::vector<IndexEntry>& entries) {
  const std::size_t n = entries.size();
  bool rising = true;
  std::uint64_t least = ~0ull, most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    rising &= i == 0 || entries[i].key > entries[i - 1].key;
    least = std::min(least, entries[i].key);
    most = std::max(most, entries[i].key);
  }
  if (rising) return std::nullopt;
  std::size_t second = n;
  if ((most - least) / 64 < n) {  // dense keys: a bit for each
    std::vector<bool> seen(static_cast<std::size_t>(most - least) + 1);
    for (std::size_t i = 0; i < n && second == n; ++i) {
      const auto k = static_cast<std::size_t>(entries[i].key - least);
      if (seen[k]) second = i;
      seen[k] = true;
    }
  } else {
    std::vector<std::pair<std::uint64_t, std::size_t>> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = {entries[i].key, i};
    std::sort(order.begin(), order.end());
    for (std::size_t i = 1; i < n; ++i) {
      if (order[i].first == order[i - 1].first && (i == 1 || order[i - 2].first != order[i].first))
        second = std::min(second, order[i].second);
    }
  }
  if (second == n) return std::nullopt;
  const std::uint64_t key = entries[second].key;
  const auto first = std::find_if(entries.begin(), entries.end(), [&](const IndexEntry& e) { return e.key == key; });
  return IndexNotes::Repeated{key, first->begin, entries[second].begin};
}

}  // namespace batchfeed::ctf
