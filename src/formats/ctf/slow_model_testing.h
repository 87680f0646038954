// SPDX-License-Identifier: MIT
//
// The rules of the text format once more, slow and obvious: lines as strings,
// samples as text. Tests and fuzzing compare the real reader with it.
#pragma once

#include <fast_float/fast_float.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/ctf/schema.h"

namespace batchfeed::ctf::model {

inline std::string print(double value) {
  char text[64];
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const auto end = whole ? std::to_chars(text, text + sizeof text, value, std::chars_format::fixed)
                         : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

inline bool low(char c) { return static_cast<unsigned char>(c) <= 0x20; }
inline bool blank(char c) { return c == ' ' || c == '\t'; }
inline bool digit(char c) { return c >= '0' && c <= '9'; }
inline bool stops(char c) {
  return c == '|' || (static_cast<unsigned char>(c) < 0x20 && c != '\t') || static_cast<unsigned char>(c) >= 0x80;
}

// A number at text[at], which moves behind it.
inline std::optional<double> number(const std::string& text, std::size_t& at, bool fresh) {
  const auto digits = [&] {
    std::size_t n = 0;
    for (; at < text.size() && digit(text[at]); ++at) ++n;
    return n;
  };
  bool minus = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) minus = text[at++] == '-';
  const std::size_t begin = at;
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  const bool point = at < text.size() && text[at] == '.';
  if (point) {
    ++at;
    fraction = digits();
  }
  if (whole + fraction == 0 || (whole == 0 && !fresh)) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    if (point && fraction == 0 && !fresh) return std::nullopt;
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return std::nullopt;
  }
  double value = 0;
  fast_float::from_chars(text.data() + begin, text.data() + at, value);
  return minus ? -value : value;
}

struct Sequence {
  std::string key;
  std::uint64_t length = 0, rows = 0, errors = 0;
  std::size_t begin = 0;
  bool damaged = false;  // for the index: garbage or an empty name
  std::vector<std::uint64_t> tokens;
  std::vector<std::vector<std::string>> samples;  // by stream
};

// The whole file as "ERRORS -> key(length): A=(..) ..; ..." or "FAIL id".
class Reader {
 public:
  Reader(const Schema& schema, Element element, bool skip_ids, bool text_ids)
      : schema_(schema), element_(element), line_mode_(skip_ids), text_(text_ids) {}

  std::string read(std::string file) {
    using namespace std::string_literals;
    for (const std::string& mark : {"\xFF\xFE"s, "\xFE\xFF"s, "\0\0\xFE\xFF"s}) {
      if (file.rfind(mark, 0) == 0) return "FAIL ctf.utf16";
    }
    if (file.rfind("\xEF\xBB\xBF", 0) == 0) file.erase(0, 3);
    bool started = false, comments = false;
    std::uint64_t number = 0;
    for (std::size_t at = 0; at < file.size(); ++number) {
      const std::size_t newline = std::min(file.find('\n', at), file.size());
      const std::string line = file.substr(at, newline - at);
      at = newline + 1;
      std::size_t p = 0;
      while (p < line.size() && low(line[p])) ++p;
      if (p == line.size()) continue;
      if (comment(line, p)) {
        comments = true;
        continue;
      }
      std::size_t id_end = p;
      while (id_end < line.size() &&
             (line_mode_ || !text_ ? digit(line[id_end]) : !low(line[id_end]) && line[id_end] != '|'))
        ++id_end;
      if (!started) {
        started = true;
        line_mode_ |= line[p] == '|';
        if (line_mode_ && text_) return "FAIL ctf.keys-need-ids";
        if (!line_mode_ && !text_ && id_end == p) return "FAIL ctf.no-id";
      }
      std::string id = line.substr(p, id_end - p);
      if (line_mode_) {
        open(std::to_string(number));
      } else if (!id.empty()) {
        if (!text_) {
          id.erase(0, std::min(id.find_first_not_of('0'), id.size() - 1));
          if (id.size() > 20 || (id.size() == 20 && id > "18446744073709551615")) return "FAIL ctf.id-range";
        }
        if (sequences_.empty() || sequences_.back().key != id) open(id);
      }
      row(line, id_end, sequences_.back());
    }
    if (!started) return comments ? "FAIL ctf.no-sequence" : "FAIL ctf.empty";
    return result();
  }

 private:
  static bool comment(const std::string& line, std::size_t p) {
    if (line[p] != '|') return false;
    for (; p < line.size(); ++p) {
      if (line[p] == '|' && (p + 1 == line.size() || line[p + 1] != '#')) return false;
    }
    return true;
  }

  void open(const std::string& key) {
    Sequence s;
    s.key = key;
    s.tokens.resize(schema_.size());
    s.samples.resize(schema_.size());
    sequences_.push_back(s);
  }

  void row(const std::string& line, std::size_t p, Sequence& s) const {
    bool counts = false, declared = false;
    while (p < line.size()) {
      const std::size_t resume = std::min(line.find('|', p + 1), line.size());
      const char c = line[p];
      if (blank(c) || (stops(c) && c != '|')) {
        ++p;
      } else if (c != '|') {
        s.damaged |= !declared && first_pipe(line, p);
        ++s.errors;
        p = std::min(line.find('|', p), line.size());
      } else if (p + 1 < line.size() && line[p + 1] == '#') {
        p = resume;
      } else {
        std::size_t end = p + 1;
        while (end < line.size() && !low(line[end]) && line[end] != '|') ++end;
        const std::string name = line.substr(p + 1, end - p - 1);
        if (name.empty()) {
          s.damaged = true;
          ++s.errors;
          p = resume;
          continue;
        }
        std::size_t stream = 0;
        while (stream < schema_.size() && schema_.alias(stream) != name) ++stream;
        if (stream == schema_.size()) {
          p = resume;
          continue;
        }
        declared = true;
        ++s.tokens[stream];
        counts |= schema_.main() == Schema::kNone || static_cast<std::size_t>(schema_.main()) == stream;
        std::string sample;
        if (values(line, end, stream, sample)) {
          s.samples[stream].push_back(sample);
          p = end;
        } else {
          ++s.errors;
          p = std::min(line.find('|', end), line.size());
        }
      }
    }
    s.rows += counts ? 1 : 0;
  }

  // Damage that the index sees: in front of the first pipe.
  static bool first_pipe(const std::string& line, std::size_t p) { return line.find('|') >= p; }

  bool values(const std::string& line, std::size_t& p, std::size_t stream, std::string& out) const {
    const StreamInfo& info = schema_.streams()[stream];
    const bool sparse = info.storage == Storage::sparse;
    std::uint64_t n = 0;
    bool fresh = true;
    out = sparse ? "{" : "(";
    const auto add = [&](const std::string& text) { out += (n++ == 0 ? "" : " ") + text; };
    const auto rounded = [&](double v) {
      return print(element_ == Element::f32 ? static_cast<double>(static_cast<float>(v)) : v);
    };
    for (;;) {
      for (; p < line.size() && blank(line[p]); ++p) fresh = true;
      if (p == line.size() || stops(line[p])) break;
      if (sparse) {
        std::string index;
        while (p < line.size() && digit(line[p])) index += line[p++];
        if (index.empty() || p == line.size() || line[p] != ':') return false;
        ++p;
        index.erase(0, std::min(index.find_first_not_of('0'), index.size() - 1));
        if (index.size() > 10 || std::stoull(index) >= info.dim) return false;
        const auto value = number(line, p, true);
        if (!value || (p < line.size() && !blank(line[p]) && !stops(line[p]))) return false;
        add(index + ':' + rounded(*value));
      } else {
        if (n == info.dim) return false;
        const auto value = number(line, p, fresh);
        if (!value || (p < line.size() && !blank(line[p]) && !stops(line[p]) && line[p] != '+' && line[p] != '-'))
          return false;
        add(rounded(*value));
        fresh = false;
      }
    }
    while (!sparse && n < info.dim) add("0");
    out += sparse ? '}' : ')';
    return true;
  }

  std::string result() const {
    std::uint64_t errors = 0;
    std::string out;
    const bool main = schema_.main() != Schema::kNone;
    for (const Sequence& s : sequences_) {
      if (s.rows == 0 && (main || !s.damaged)) continue;
      std::uint64_t longest = 0;
      for (const std::uint64_t n : s.tokens) longest = std::max(longest, n);
      const std::uint64_t length = s.rows == 0 ? 1 : main ? s.rows : std::min(s.rows, longest);
      std::uint64_t own = s.errors;
      bool repeated = false, missing = false;
      for (std::size_t i = 0; i < schema_.size(); ++i) {
        repeated |= s.samples[i].size() > s.rows && (!main || static_cast<std::size_t>(schema_.main()) == i);
        missing |= s.samples[i].empty();
      }
      own += repeated ? 1 : 0;
      own += missing && own == 0 ? 1 : 0;
      errors += own;
      out += (out.empty() ? "" : "; ") + s.key + '(' + std::to_string(length) + "):";
      if (missing) {
        out += " DROPPED";
        continue;
      }
      for (std::size_t i = 0; i < schema_.size(); ++i) {
        out += ' ' + schema_.streams()[i].name + '=';
        for (const std::string& sample : s.samples[i]) out += sample;
      }
    }
    return out.empty() ? "FAIL ctf.no-sequence" : std::to_string(errors) + " -> " + out;
  }

  const Schema& schema_;
  Element element_;
  bool line_mode_, text_;
  std::vector<Sequence> sequences_;
};

}  // namespace batchfeed::ctf::model
