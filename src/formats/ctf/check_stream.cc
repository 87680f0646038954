// SPDX-License-Identifier: MIT
//
// `check` of a text that passes by: index and parser at once, line for line,
// keeping no data.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "base/byte_order_mark.h"
#include "base/hash.h"
#include "base/seeded_hash.h"
#include "formats/ctf/blocks.h"
#include "formats/ctf/ctf.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/line.h"
#include "formats/ctf/parse.h"
#include "io/sys.h"
#include "model/held_notices.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kRememberedIds = 1 << 20;  // to find repeated ones; later ones are not looked for

template <class T>
class StreamCheck {
 public:
  StreamCheck(const std::string& name, const CtfOptions& options, const Limits& limits, const CheckOptions& check,
              const Report& report, KeyMode keys)
      : name_(name),
        check_(check),
        report_(report),
        text_(keys != KeyMode::numeric),
        line_mode_(options.skip_sequence_ids),
        limits_(limits),
        schema_(options, limits),
        sink_(
            name, ~0ull, std::max(options.trace_level, 1),
            [this](const Notice& n) { pending_.add(n, check_.max_faults); }, 0,
            [this](Severity severity, std::string_view id) {
              return pending_.count_only(severity, id, check_.max_faults);
            }),
        log_({.schema = &schema_,
              .sink = &sink_,
              .file = name,
              .line_of = [this](std::uint64_t byte) { return byte >= line_begin_ ? line_ : sequence_line_; },
              .key_text = [this](std::uint64_t key) { return text_ ? key_text_ : std::to_string(key); },
              .line_now = [this] { return line_; },
              .line_at = [this](std::uint64_t) { return first_line_; },
              .line_mode = options.skip_sequence_ids,
              .trace_level = options.trace_level}) {
    chunk_.reset(schema_.streams());
    tokens_.assign(schema_.size(), 0);
    parser_ = std::make_unique<Parser<T>>(schema_, text_ && !line_mode_, log_, limits, chunk_.columns);
    parser_->look_closely();
  }

  CheckResult run(int descriptor);

 private:
  void mark(const LineBlocks& blocks, const char*& p);
  void line(const LineBlocks& blocks, const char* p, const char*& next);
  void first_line(const LineBlocks& blocks, const char* content);
  void begin(const LineFront& front, const char* next, std::uint64_t key);
  void end();
  void tell_repeated();
  void tell(const Notice& notice);
  void tell_pending();

  const std::string& name_;
  const CheckOptions& check_;
  const Report& report_;
  const bool text_;
  bool line_mode_;
  const Limits limits_;
  const Schema schema_;
  FaultSink sink_;
  FaultLog log_;
  Chunk chunk_;
  std::unique_ptr<Parser<T>> parser_;

  CheckResult result_;
  HeldNotices pending_;  // of the running sequence: what is left out in the end has no faults
  std::uint64_t line_ = 0, line_begin_ = 0, sequence_line_ = 0, sequence_begin_ = 0;
  bool started_ = false, open_ = false, comments_ = false;
  bool torn_ = false;  // the last line breaks off
  std::uint64_t id_ = 0, key_ = 0;
  std::string key_text_, first_line_;
  int likely_ = 0;
  std::vector<std::uint64_t> tokens_;
  std::uint64_t rows_ = 0, longest_ = 0;
  bool damaged_ = false;
  std::unordered_set<std::uint64_t, SeededHash> ids_;
  bool told_repeated_ = false, is_remembered_ = false, told_above_ = false;
};

template <class T>
void StreamCheck<T>::tell(const Notice& notice) {
  if (notice.severity == Severity::info) {
    if (report_) report_(notice);
    return;
  }
  std::uint64_t& n = notice.severity == Severity::error ? result_.faults : result_.warnings;
  ++n;
  ++result_.by_id[notice.fault.id];
  if (result_.faults + result_.warnings <= check_.max_faults && report_) report_(notice);
}

template <class T>
void StreamCheck<T>::tell_pending() {
  pending_.release([this](const Notice& notice) { tell(notice); },
                   [this](const std::string& id, Severity severity, std::uint64_t n) {
                     (severity == Severity::error ? result_.faults : result_.warnings) += n;
                     result_.by_id[id] += n;
                   });
}

template <class T>
void StreamCheck<T>::mark(const LineBlocks& blocks, const char*& p) {
  const std::string_view text(p, static_cast<std::size_t>(blocks.end() - p));
  if (is_utf16(text) || is_utf32(text)) throw Error(not_utf8(name_));
  if (utf8_mark_bytes(text) == 0) return;
  p += utf8_mark_bytes(text);
  log_.block(p, blocks.offset_of(p));  // columns are counted from there
}

// Decides between ids and line numbers.
template <class T>
void StreamCheck<T>::first_line(const LineBlocks& blocks, const char* content) {
  started_ = true;
  line_mode_ |= *content == '|';
  const std::uint64_t at = blocks.offset_of(content);
  const std::uint64_t column = at - line_begin_ + 1;
  if (line_mode_ && text_) throw Error(keys_need_ids(name_, at, line_, column, content));
  if (!line_mode_ && !text_ && !is_digit(*content)) throw Error(no_id(name_, at, line_, column, content));
}

template <class T>
void StreamCheck<T>::begin(const LineFront& front, const char* next, std::uint64_t key) {
  end();
  first_line_ =
      std::string_view(front.begin, static_cast<std::size_t>(next - front.begin)).substr(0, FaultLog::kGuessed);
  open_ = true;
  id_ = key;
  sequence_line_ = line_;
  sequence_begin_ = line_begin_;
  rows_ = longest_ = 0;
  damaged_ = false;
  std::fill(tokens_.begin(), tokens_.end(), 0);
  if (text_) {
    key_text_ = front.text();
    key = cntk_key_hash(key_text_);
  }
  key_ = key;
  is_remembered_ = false;
  parser_->begin(key, line_begin_);
}

// Once it is known that the sequence is not left out.
template <class T>
void StreamCheck<T>::tell_repeated() {
  if (line_mode_ || told_repeated_ || is_remembered_ || ids_.size() >= kRememberedIds) return;
  is_remembered_ = true;
  if (ids_.insert(key_).second) return;
  told_repeated_ = true;
  tell({Severity::warning,
        Fault{.kind = FaultKind::format,
              .id = "ctf.repeated-id",
              .at = {.file = name_, .byte = sequence_begin_, .line = sequence_line_, .column = 1, .has_byte = true},
              .what = "sequence id " + (text_ ? key_text_ : std::to_string(key_)) + " comes back",
              .hint = "each run of lines with one id is a sequence of its own"}});
}

template <class T>
void StreamCheck<T>::end() {
  if (!open_) return;
  open_ = false;
  if (const std::uint64_t length = schema_.length_of(rows_, longest_, damaged_); length != 0) {
    tell_repeated();
    parser_->end();
    ++result_.sequences;
    result_.samples += length;
    tell_pending();
  }
  pending_.clear();
  parser_->discard_values();
}

template <class T>
void StreamCheck<T>::line(const LineBlocks& blocks, const char* p, const char*& next) {
  LineFront front = front_at(p, text_ && !line_mode_);
  std::uint64_t declared = 0;
  bool main = false;
  // The first look: does the line count, and what does it hold?
  const LineRest look = walk_names(front.end, schema_, likely_, [&](int stream) {
    ++declared;
    main |= stream == schema_.main();
  });
  next = look.next;
  comments_ |= look.comment && !look.blank;
  if (next == blocks.end()) {
    torn_ = blocks.closed_by_end_of_file() && (front.has_id() || look.damaged) &&
            std::memchr(p, '|', static_cast<std::size_t>(next - p)) == nullptr;
  }
  if (!front.has_id() && (look.blank || look.comment)) {
    if (const char* const nul = front.hole(p); nul != nullptr) log_.hole(nul);
    return;
  }
  if (!started_) {
    first_line(blocks, front.begin);
    front = front_at(p, text_ && !line_mode_);
  }
  if (line_mode_) {
    begin(front, next, line_ - 1);
  } else if (front.has_id()) {
    if (text_ && front.text().size() > limits_.key_bytes)
      throw Error(long_key(name_, limits_.key_bytes, line_begin_, line_));
    if (!open_ || (text_ ? key_text_ != front.text() : id_ != front.id)) begin(front, next, front.id);
    if (front.overflow && !std::exchange(told_above_, true))
      tell({Severity::error, id_range(name_, front.text(), line_begin_, line_)});
  }
  walk_names(front.end, schema_, likely_,
             [&](int stream) { longest_ = std::max(longest_, ++tokens_[static_cast<std::size_t>(stream)]); });
  rows_ += (schema_.main() == Schema::kNone ? declared != 0 : main) ? 1u : 0u;
  damaged_ |= look.damaged;
  parser_->line(p);
  if (line_mode_) end();
}

template <class T>
CheckResult StreamCheck<T>::run(int descriptor) {
  const Fill fill = [&](char* to, std::size_t size) -> std::size_t {
    for (;;) {
      const ::ssize_t n = io::sys().read(descriptor, to, size);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) io::fail("read", name_, errno);
    }
  };
  Buffer<char> buffer;
  LineBlocks blocks(fill, 0, buffer, name_, {limits_.line_bytes, "line_bytes"});
  try {
    bool first = true;
    while (blocks.next()) {
      log_.block(blocks.begin(), blocks.offset());
      parser_->text(static_cast<std::uint64_t>(blocks.end() - blocks.begin()));
      const char* p = blocks.begin();
      for (bool at_mark = first; p != blocks.end();) {
        if (at_mark) mark(blocks, p);
        first = at_mark = false;
        line_begin_ = blocks.offset_of(p);
        ++line_;
        const char* next = nullptr;
        line(blocks, p, next);
        p = next;
      }
      result_.bytes = blocks.offset_of(blocks.end()) - (blocks.closed_by_end_of_file() ? 1 : 0);
      if (check_.progress) check_.progress(result_.bytes, 0);
      // Of a long sequence only the counts are kept, and what is pending is reported now.
      parser_->discard_values();
      if (open_ && rows_ > 0) {
        tell_repeated();
        tell_pending();
      }
    }
    end();
    tell_pending();  // of blanks behind the last sequence
    if (torn_)
      tell({Severity::warning, torn_end(name_, line_begin_, line_, "the last line has neither a sample nor an end")});
    if (!started_) throw Error(comments_ ? no_sequence(name_, "holds nothing but comments") : empty_file(name_));
    if (result_.sequences == 0) throw Error(no_sequence(name_, "no line holds one of the declared inputs"));
  } catch (const Error& error) {
    tell_pending();
    tell({Severity::error, error.fault()});
    result_.complete = false;
  }
  return result_;
}

}  // namespace

CheckResult check_stream(int descriptor, const std::string& name, const CtfOptions& options, const Limits& limits,
                         const CheckOptions& check, const Report& report, KeyMode keys) {
  if (options.element == Element::f64)
    return StreamCheck<double>(name, options, limits, check, report, keys).run(descriptor);
  return StreamCheck<float>(name, options, limits, check, report, keys).run(descriptor);
}

}  // namespace batchfeed::ctf
