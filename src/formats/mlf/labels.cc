// SPDX-License-Identifier: MIT
#include "formats/mlf/labels.h"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/counted.h"
#include "base/lookalike.h"

namespace batchfeed::mlf {
namespace {

// HTK times are in units of 100 ns; a frame is 10 ms whatever the period of the features.
constexpr double kFrame = 100'000.0;

class Line {
 public:
  static constexpr std::size_t kColumns = 5;  // one more than is ever needed

  Line(std::string_view text, const Position& at, std::string_view key) : text_(text), at_(&at), key_(key) {
    std::size_t from = 0;
    while (count_ < kColumns) {
      while (from < text.size() && is_blank(text[from])) ++from;
      if (from == text.size()) break;
      std::size_t end = from;
      while (end < text.size() && !is_blank(text[end])) ++end;
      columns_[count_++] = text.substr(from, end - from);
      from = end;
    }
  }

  std::size_t size() const noexcept { return count_; }
  std::string_view column(std::size_t i) const noexcept { return columns_[i]; }

  Fault fault(const char* id, std::size_t column, std::string what, std::string hint = {}) const {
    Position at = *at_;
    const std::size_t offset = column < count_ ? static_cast<std::size_t>(columns_[column].data() - text_.data()) : 0;
    at.byte += offset;
    at.column += offset;
    return {.kind = FaultKind::format,
            .id = id,
            .at = std::move(at),
            .what = "utterance '" + std::string(key_) + "': " + std::move(what),
            .hint = lookalike_or(text_, std::move(hint))};
  }
  [[noreturn]] void fail(const char* id, std::size_t column, std::string what, std::string hint = {}) const {
    throw Error(fault(id, column, std::move(what), std::move(hint)));
  }
  std::string quoted(std::size_t column) const { return "'" + std::string(columns_[column]) + "'"; }

 private:
  static bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

  std::string_view text_;
  const Position* at_;
  std::string_view key_;
  std::array<std::string_view, kColumns> columns_;
  std::size_t count_ = 0;
};

double time(const Line& line, std::size_t column, bool to_its_end) {
  std::string_view token = line.column(column);
  if (token.starts_with('+')) token.remove_prefix(1);
  double value = 0;
  // For a number out of range this gives infinity or zero.
  const auto [end, code] = fast_float::from_chars(token.data(), token.data() + token.size(), value);
  if (code == std::errc::invalid_argument || std::isnan(value) || (to_its_end && end != token.data() + token.size())) {
    line.fail("mlf.time", column, line.quoted(column) + " is not a time", "label lines are: start end label");
  }
  if (!std::isfinite(value)) line.fail("mlf.time", column, line.quoted(column) + " is too large for a time");
  return value;
}

std::uint32_t whole(const Line& line, std::size_t column, double value) {
  // Negated, so that a NaN fails, too.
  if (!(value > -1.0 && value < 4294967296.0))
    line.fail("mlf.time", column, line.quoted(column) + " is not a frame from 0 to 4294967295");
  return static_cast<std::uint32_t>(value);
}

Times times(const Line& line, bool to_its_end) {
  if (line.size() < 2)
    line.fail("mlf.columns", 0, "a label line of " + counted(line.size(), "column"),
              "label lines are: start end label");
  const double start = time(line, 0, to_its_end), end = time(line, 1, to_its_end);
  Times t;
  if (end - start >= kFrame - 1) {
    t.first = whole(line, 0, std::floor(start / kFrame + 0.5));
    t.stop = whole(line, 1, std::floor(end / kFrame + 0.5));
  } else {
    t.first = whole(line, 0, std::trunc(start));
    t.stop = whole(line, 1, std::trunc(end));
  }
  t.reversed = t.stop < t.first;
  return t;
}

std::uint32_t state_of(const Line& line, const LabelRules& rules) {
  std::uint32_t state = 0;
  if (rules.states != nullptr) {
    if (line.size() < 3)
      line.fail("mlf.columns", 0, "a label line of " + counted(line.size(), "column") + ", expected at least 3",
                "label lines are: start end label");
    state = rules.states->find(line.column(2));
    if (state == StateList::kUnknown) {
      line.fail("mlf.unknown-label", 2, "label " + line.quoted(2) + " is not in the state list",
                "the third column must be the name of a class as `labelMappingFile` spells it");
    }
  } else {
    if (line.size() != 4) {
      line.fail("mlf.columns", 0,
                "a label line of " + (line.size() == Line::kColumns ? "more than 4" : std::to_string(line.size())) +
                    " columns, expected exactly 4",
                "without a `labelMappingFile` lines are: start end name class");
    }
    const std::string_view token = line.column(3);
    const std::size_t sign = token.starts_with('+') ? 1 : 0;
    std::int64_t id = 0;
    const auto [end, code] = std::from_chars(token.data() + sign, token.data() + token.size(), id);
    if (code == std::errc::invalid_argument)
      line.fail("mlf.class", 3, line.quoted(3) + " is not a class number", "is a `labelMappingFile` missing?");
    if (code != std::errc() || id < 0 || id > 0xFFFF)
      line.fail("mlf.class", 3, "class " + line.quoted(3) + " is not from 0 to 65535");
    state = static_cast<std::uint32_t>(id);
  }
  if (state >= rules.classes) {
    line.fail("mlf.class-range", rules.states != nullptr ? 2 : 3,
              "class " + std::to_string(state) + (rules.states != nullptr ? " (" + line.quoted(2) + ")" : "") +
                  " is not below dim " + std::to_string(rules.classes),
              "classes count from 0; set `labelDim` to their number");
  }
  return state;
}

}  // namespace

bool is_end_line(std::string_view line) noexcept {
  return line.starts_with('.') && line.find_first_not_of(" \t\r", 1) == line.npos;
}

std::optional<std::string_view> utterance_key(std::string_view line) noexcept {
  line = line.substr(0, line.find_last_not_of(" \t\r\v\f") + 1);
  if (line.size() < 3 || !line.starts_with('"') || !line.ends_with('"')) return std::nullopt;
  std::string_view key = line.substr(1, line.size() - 2);
  if (key.size() > 2 && key.starts_with("*/")) key.remove_prefix(2);
  const std::size_t dot = key.rfind('.');
  if (dot != key.npos && key.find_first_of("/\\", dot) == key.npos) key = key.substr(0, dot);
  return key;
}

Times parse_times(std::string_view text, const Position& at, std::string_view key, const LabelRules& rules) {
  return times(Line(text, at, key), rules.whole_numbers);
}

void parse_labels(std::string_view text, const Position& at, std::string_view key, const LabelRules& rules,
                  Labels& out) {
  out.segments.clear();
  out.frames = 0;
  out.invalid.reset();
  Position here = at;
  bool last_is_empty = false;
  for (std::size_t from = 0; from < text.size(); ++here.line) {
    const void* newline = std::memchr(text.data() + from, '\n', text.size() - from);
    const std::size_t end =
        newline == nullptr ? text.size() : static_cast<std::size_t>(static_cast<const char*>(newline) - text.data());
    std::string_view content = text.substr(from, end - from);
    if (content.ends_with('\r')) content.remove_suffix(1);
    here.byte = at.byte + from;
    from = end + 1;
    if (content.find_first_not_of(" \t") == content.npos) continue;
    if (is_end_line(content)) break;
    const Line line(content, here, key);
    const Times t = times(line, rules.whole_numbers);
    const std::uint32_t state = state_of(line, rules);
    if (out.invalid) continue;  // the rest is read only for damage that throws, such as an unknown state
    if (t.reversed) {
      out.invalid = line.fault("mlf.reversed", 0,
                               "a segment from frame " + std::to_string(t.first) + " to " + std::to_string(t.stop));
    } else if (out.segments.empty() && t.first != 0) {
      out.invalid = line.fault("mlf.start", 0, "its labels start at frame " + std::to_string(t.first) + ", expected 0");
    } else if (t.first != out.frames) {
      out.invalid = line.fault("mlf.gap", 0,
                               "a segment starts at frame " + std::to_string(t.first) + ", the one before it ends at " +
                                   std::to_string(out.frames),
                               t.first >= 99'999 ? "a segment of less than a frame is taken for frame numbers" : "");
    } else {
      out.frames = t.stop;
      last_is_empty = t.stop == t.first;
      out.segments.push_back({state, t.stop - t.first});
    }
  }
  if (!out.invalid && last_is_empty && rules.phone_boundaries) {
    out.invalid = Fault{
        .kind = FaultKind::format,
        .id = "mlf.empty-segment",
        .at = at,
        .what = "utterance '" + std::string(key) + "': its last segment has no frames, so its boundary has no place"};
  }
}

}  // namespace batchfeed::mlf
