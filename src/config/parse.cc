// SPDX-License-Identifier: MIT
#include "config/parse.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "config/value.h"

namespace batchfeed::config {
namespace {

constexpr std::string_view kCustom = "`~!@$%^&*_-+|:;,?.";

// The character that closes `open`, or 0 if `open` is none of [ { ( ".
constexpr char closer_of(char open) noexcept {
  return open == '[' ? ']' : open == '{' ? '}' : open == '(' ? ')' : open == '"' ? '"' : '\0';
}

bool is_delimiter(char c, char custom) { return c == ',' || c == '\n' || c == '\r' || c == custom; }

// Cuts the text of a section or an array into records: entries or elements.
class Scanner {
 public:
  Scanner(Document& doc, const Text& text) : doc_(doc), text_(text), bytes_(text.bytes()) {}
  virtual ~Scanner() = default;
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  void run(char delimiter) {
    delimiter_ = delimiter;
    leave_group();
    std::size_t pos = 0;
    std::size_t glued = std::string_view::npos;  // the end of the last bracket, if no delimiter has followed yet
    while (true) {
      const std::size_t before = pos;
      while (pos < bytes_.size() && is_delimiter(bytes_[pos], custom_)) ++pos;
      if (pos > before) glued = std::string_view::npos;
      while (pos < bytes_.size() && is_blank(bytes_[pos])) ++pos;
      if (pos >= bytes_.size()) return;
      // The end of a flattened group, perhaps behind blanks. But a '"' that closes a group is taken as one that opens
      // a quoted text, here and in plain(), as in the reference.
      if (pos >= stop_ && !(pos == stop_ && bytes_[pos] == '"')) {
        pos = std::max(pos, stop_) + (pos == stop_ ? 1 : 0);
        leave_group();
        continue;
      }
      Found found;
      if (closer_of(bytes_[pos]) == '\0') {
        found = plain(pos);
      } else {
        const std::size_t close = matching(pos);
        if (bytes_[pos] == '"') check_quoted_key(close, inside_);
        if (!inside_) {
          pos = enter_group(pos, close);
          continue;
        }
        found = bracketed(pos, close);
      }
      auto [record, next, quoted] = found;
      if (record.size() != 0) {
        if (glued == before) this->glued(record);
        next = handle(record, next);
        if (next > record.begin && next <= bytes_.size() && !is_delimiter(bytes_[next - 1], custom_)) glued = next;
      }
      pos = next + (quoted ? 1 : 0);
      if (quoted) glued = pos;
      if (abandoned_) return;
      if (pos == stop_) {
        ++pos;
        leave_group();
      }
    }
  }

 protected:
  // Takes a record. `next`: where the text behind it goes on; returns that or a place farther on.
  virtual std::size_t handle(Span record, std::size_t next) = 0;
  // The record directly follows a bracket, without a delimiter.
  virtual void glued(Span) {}

  // For `"a b" = 1`: keys cannot be quoted. Outside a group that is a fault, inside one (`inside`) the reference
  // passes over it.
  virtual void check_quoted_key(std::size_t /*close*/, bool /*inside*/) {}

  // The place of the bracket that closes the one at `open`. Throws Error if it is missing.
  std::size_t matching(std::size_t open) {
    if (bytes_[open] == '"') {
      const std::size_t close = bytes_.find('"', open + 1);
      if (close == std::string_view::npos) unclosed(open);
      return close;
    }
    std::vector<std::size_t> stack{open};
    for (std::size_t i = open + 1; i < bytes_.size(); ++i) {
      const char c = bytes_[i];
      if (c == '"') {
        const std::size_t close = bytes_.find('"', i + 1);
        if (close == std::string_view::npos) unclosed(i);
        i = close;
      } else if (closer_of(c) != '\0') {
        if (stack.size() >= doc_.limits().config_depth) {
          doc_.over_limit(text_.origin(i), "config_depth", doc_.limits().config_depth, "brackets are nested too deep");
        }
        stack.push_back(i);
      } else if (c == ']' || c == '}' || c == ')') {
        if (c != closer_of(bytes_[stack.back()])) {
          const Position opened = doc_.position(text_.origin(stack.back()));
          doc_.fail(text_.origin(i), "unmatched",
                    std::string("'") + c + "' closes the '" + bytes_[stack.back()] + "' of line " +
                        std::to_string(opened.line) + ", which needs '" + closer_of(bytes_[stack.back()]) + "'",
                    "balance the brackets; '//' does not start a comment in this language, '#' does");
        }
        stack.pop_back();
        if (stack.empty()) return i;
      }
    }
    unclosed(stack.back());
  }

  [[noreturn]] void unclosed(std::size_t open) {
    const char c = bytes_[open];
    if (open == loose_quote_) {
      doc_.fail(text_.origin(open), "unclosed", "the text in these quotes is the value of no key",
                "write key = \"...\", or remove the quotes");
    }
    if (c == '"') {
      doc_.fail(text_.origin(open), "unclosed", "a '\"' is never closed",
                spanning(open).value_or(
                    "there is no escape for '\"', and a '#' after a blank starts a comment even inside quotes"));
    }
    doc_.fail(text_.origin(open), "unclosed",
              std::string("the bracket '") + c + "' is never closed: no '" + closer_of(c) + "' follows",
              "balance the brackets; BrainScript files are another language");
  }

  // Of the quoted texts in front of `end`, the first of several lines: most likely its '"' is the one that is missing.
  std::optional<std::string> spanning(std::size_t end) const {
    for (std::size_t open = bytes_.find('"'); open < end;) {
      const std::size_t close = bytes_.find('"', open + 1);
      if (close >= end) break;
      if (bytes_.substr(open, close - open).find('\n') != std::string_view::npos) {
        const Position fault = doc_.position(text_.origin(end));
        const auto place = [&](std::size_t at) {
          const Position is = doc_.position(text_.origin(at));
          return (is.file == fault.file ? "line " : is.file + ", line ") + std::to_string(is.line);
        };
        return "the quoted text that begins in " + place(open) + " ends in " + place(close) +
               ": is a '\"' missing there?";
      }
      open = bytes_.find('"', close + 1);
    }
    return {};
  }

  // A record, and where the next one begins.
  struct Found {
    Span record;
    std::size_t next = 0;
    bool quoted = false;
  };

  Found bracketed(std::size_t open, std::size_t close) const {
    if (bytes_[open] == '"') return {{open + 1, close}, close, true};
    return {{open, close + 1}, close + 1, false};
  }

  // A record that begins without a bracket: up to a delimiter, or through the end of the first bracket in it.
  Found plain(std::size_t begin) {
    std::size_t next = begin;
    const std::size_t end = bytes_[std::min(stop_, bytes_.size() - 1)] == '"' ? bytes_.size() : stop_;
    while (next < end && !is_delimiter(bytes_[next], custom_) && closer_of(bytes_[next]) == '\0') ++next;
    if (next < end && closer_of(bytes_[next]) != '\0') next = matching(next) + 1;
    next = std::min(next, stop_);
    return {{begin, next}, next, false};
  }

  // A bracket at the beginning of a record is a group, which is flattened: its records count as those of the text
  // around it. Returns where the first one begins.
  std::size_t enter_group(std::size_t open, std::size_t close) {
    if (bytes_[open] == '"') loose_quote_ = close;
    stop_ = close;
    inside_ = true;
    std::size_t pos = open + 1;
    take_custom(pos, close);
    return pos;
  }

  void leave_group() {
    stop_ = bytes_.size();
    inside_ = false;
    custom_ = delimiter_;
  }

  // A group may have its own delimiter, given directly behind its bracket.
  void take_custom(std::size_t& pos, std::size_t close) {
    if (pos >= close || kCustom.find(bytes_[pos]) == std::string_view::npos) return;
    const std::string_view rest = bytes_.substr(pos, close - pos);
    if (rest.starts_with("..") || rest.starts_with("./") || rest.starts_with(".\\")) return;
    const char c = bytes_[pos];
    if ((c == '-' || c == '+' || c == '.' || c == '_') && rest.size() > 1 &&
        ((rest[1] >= '0' && rest[1] <= '9') || c == '_')) {
      doc_.warn(text_.origin(pos), "custom-delimiter",
                std::string("'") + c +
                    "' directly after a bracket separates the entries of that group, as ';' does elsewhere",
                "put a blank after the bracket if it belongs to the first entry");
    }
    custom_ = c;
    ++pos;
  }

  Document& doc_;
  const Text& text_;
  std::string_view bytes_;
  char delimiter_ = '\0', custom_ = '\0';  // of the whole text, and of the current group
  bool inside_ = false;                    // inside a group, which ends at stop_
  std::size_t stop_ = 0;
  std::size_t loose_quote_ = std::string_view::npos;  // the '"' that closes a quoted text without a key
  bool abandoned_ = false;                            // the rest of the text is not read
};

class SectionScanner final : public Scanner {
 public:
  using Scanner::Scanner;
  std::vector<Record> records;

 private:
  std::size_t handle(Span record, std::size_t next) override {
    std::size_t eq = record.begin;
    while (eq < record.end && bytes_[eq] != '=' && closer_of(bytes_[eq]) == '\0') ++eq;
    const Span key = trim(bytes_, {record.begin, eq});
    if (eq == record.end) {
      if (key.size() != 0) add({key, {record.end, record.end}, true});
      return next;
    }
    std::size_t at = eq;
    if (bytes_[at] == '=') ++at;
    while (at < record.end && is_blank(bytes_[at])) ++at;
    if (at >= record.end) {
      doc_.fail(text_.origin(eq), "no-value", "key " + quoted(bytes_.substr(key.begin, key.size())) + " has no value",
                "put the value on the line of the '='; an empty text is \"\"");
    }
    if (closer_of(bytes_[at]) == '\0') {
      warn_if_glued(key, {at, record.end});
      if (key.size() != 0) add({key, trim(bytes_, {at, record.end}), false});
      return next;
    }
    const std::size_t close = matching(at);
    const Span value = bytes_[at] == '"' ? Span{at + 1, close} : Span{at, close + 1};
    if (key.size() != 0) add({key, trim(bytes_, value), false});
    return close + 1;
  }

  // Warns of a value that holds a blank and then another '=': it was probably meant as two entries.
  void warn_if_glued(Span key, Span value) {
    const std::string_view text = bytes_.substr(value.begin, value.size());
    const std::size_t second = text.find('=');
    if (second == std::string_view::npos || text.find_first_of(" \t") > second) return;
    doc_.warn(
        text_.origin(value.begin), "glued-records",
        "the value " + quoted(text) + " of key " + quoted(bytes_.substr(key.begin, key.size())) + " holds another '='",
        "separate entries with ';' or put each on its own line");
  }

  // why a limit: a key of one byte takes some hundred bytes in a section.
  void add(const Record& record) {
    if (records.size() >= doc_.limits().config_expansions) {
      doc_.over_limit(text_.origin(record.key.begin), "config_expansions", doc_.limits().config_expansions,
                      "a section has too many keys");
    }
    records.push_back(record);
  }

  void check_quoted_key(std::size_t close, bool inside) override {
    std::size_t at = close + 1;
    while (at < bytes_.size() && is_blank(bytes_[at])) ++at;
    if (at >= bytes_.size() || bytes_[at] != '=') return;
    constexpr const char* kWhat = "the name before this '=' is quoted; a key cannot be quoted";
    constexpr const char* kHint = "write the key without quotes, blanks inside are allowed";
    if (!inside) doc_.fail(text_.origin(at), "quoted-key", kWhat, kHint);
    doc_.warn(text_.origin(at), "quoted-key", std::string(kWhat) + " and the value is lost", kHint);
  }

  void glued(Span record) override {
    doc_.note(text_.origin(record.begin), "glued-records",
              "an entry follows a bracket or quote without a delimiter: " +
                  quoted(bytes_.substr(record.begin, std::min<std::size_t>(record.size(), 40))),
              "separate entries with ';' or put each on its own line");
  }
};

class ArrayScanner final : public Scanner {
 public:
  using Scanner::Scanner;
  std::vector<Text> elements;

 private:
  std::size_t handle(Span record, std::size_t next) override {
    record = trim(bytes_, record);
    if (record.size() == 0) return next;
    if (closer_of(bytes_[record.begin]) != '\0') {
      add(record, 1);
      return next;
    }
    const std::string_view words = bytes_.substr(record.begin, record.size());
    const std::size_t star = words.find('*');
    if (star == std::string_view::npos) {
      if (words.front() == ';') {
        doc_.warn(text_.origin(record.begin), "array-semicolon", "';' does not separate the elements of an array",
                  "write ':' between them");
      }
      add(record, 1);
      return next;
    }
    const Span count = trim(bytes_, {record.begin + star + 1, record.end});
    if (count.size() == 0) {
      doc_.warn(text_.origin(record.begin), "star-without-count",
                "'*' without a count ends the array: this element and all after it are left out",
                "write how often the element is meant, '512*3'");
      abandoned_ = true;
      return next;
    }
    const std::int32_t times = parse_int(doc_, text_.slice(count.begin, count.end), "count after '*'");
    if (times > 0) add(trim(bytes_, {record.begin, record.begin + star}), static_cast<std::uint64_t>(times));
    return next;
  }

  void add(Span span, std::uint64_t times) {
    const Limits& limits = doc_.limits();
    size_ += times * (span.size() + 1);
    if (times > limits.config_expansions || size_ > limits.config_bytes) {
      doc_.over_limit(text_.origin(span.begin), "config_expansions", limits.config_expansions,
                      "an array element is repeated too often");
    }
    // why: an element of one byte takes nearly a hundred in memory.
    doc_.count_elements(text_.origin(span.begin), times);
    for (std::uint64_t i = 0; i < times; ++i) elements.push_back(text_.slice(span.begin, span.end));
  }

  std::uint64_t size_ = 0;
};

}  // namespace

Span trim(std::string_view bytes, Span span) {
  while (span.begin < span.end && is_blank(bytes[span.begin])) ++span.begin;
  while (span.end > span.begin && is_blank(bytes[span.end - 1])) --span.end;
  return span;
}

std::vector<Record> scan_section(Document& doc, const Text& text) {
  SectionScanner scanner(doc, text);
  scanner.run(';');
  return std::move(scanner.records);
}

std::vector<Text> scan_array(Document& doc, const Text& text) {
  ArrayScanner scanner(doc, text);
  scanner.run(':');
  return std::move(scanner.elements);
}

}  // namespace batchfeed::config
