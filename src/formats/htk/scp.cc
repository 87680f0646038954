// SPDX-License-Identifier: MIT
#include "formats/htk/scp.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/counted.h"
#include "base/lookalike.h"
#include "io/path_policy.h"

namespace batchfeed::htk {
namespace {

std::string_view trim(std::string_view text) noexcept {
  const std::size_t from = text.find_first_not_of(kBlanks);
  if (from == text.npos) return text.substr(text.size());
  return text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

bool same_path_char(char a, char b) noexcept { return (a == '\\' ? '/' : a) == (b == '\\' ? '/' : b); }

// The path on this machine, if a rule of path_map applies to it.
std::optional<std::string> mapped(std::string_view path, const ScpRules& rules) {
  for (const auto& [from, to] : rules.path_map) {
    if (from.empty() || path.size() < from.size() ||
        !std::equal(from.begin(), from.end(), path.begin(), same_path_char))
      continue;
    std::string rest(path.substr(from.size()));
    std::replace(rest.begin(), rest.end(), '\\', '/');
    return to + rest;
  }
  return std::nullopt;
}

std::string adjusted(std::string_view path, const ScpRules& rules) {
  if (!rules.prefix.empty()) return rules.prefix + std::string(path);
  std::string out(path);
  if (const std::size_t dots = out.find("..."); dots != out.npos) out.replace(dots, 3, rules.directory);
  return out;
}

class Line {
 public:
  Line(std::string_view text, const Position& at) : text_(text), at_(at) {}

  // The position of a part of the line.
  Position position(std::string_view part) const {
    Position p = at_;
    const std::size_t offset = static_cast<std::size_t>(part.data() - text_.data());
    p.byte += offset;
    p.column += offset;
    return p;
  }
  [[noreturn]] void fail(const char* id, std::string_view part, std::string what, std::string hint = {}) const {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = id,
                      .at = position(part),
                      .what = std::move(what),
                      .hint = lookalike_or(part, std::move(hint))});
  }
  std::uint32_t frame(std::string_view token) const {
    const std::string_view number = trim(token);
    std::string_view digits = number;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    std::uint32_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) {
      fail("scp.frame-number", number.empty() ? token : number,
           "'" + std::string(number) + "' is not a frame number from 0 to 4294967295",
           "a range is [first,last], both counted from 0");
    }
    return value;
  }

 private:
  std::string_view text_;
  Position at_;
};

// Parses `[first,last]`, the end of a line.
void parse_range(std::string_view text, const Line& where, const Limits& limits, ScpEntry& entry) {
  const std::string_view range = text.substr(1);
  const std::size_t comma = range.find(','), close = range.find(']');
  if (comma == range.npos || close == range.npos || close < comma) {
    where.fail("scp.range", text, "'" + std::string(text) + "' is not a range",
               "a range is [first,last], both counted from 0");
  }
  if (close + 1 != range.size()) {
    where.fail("scp.after-range", range.substr(close + 1),
               "'" + std::string(range.substr(close + 1)) + "' behind the range, expected the end of the line");
  }
  const std::string_view from = range.substr(0, comma), to = range.substr(comma + 1, close - comma - 1);
  entry.first = where.frame(from);
  const std::uint32_t last = where.frame(to);
  if (last < entry.first) {
    where.fail(
        "scp.range-order", from,
        "the range ends at frame " + std::to_string(last) + ", before its first, " + std::to_string(entry.first));
  }
  const std::uint64_t frames = std::uint64_t{last} - entry.first + 1;
  constexpr std::uint64_t kMost = 0xFFFFFFFFu;  // ScpEntry::frames has 32 bits
  if (const std::uint64_t most = std::min(limits.sequence_samples, kMost); frames > most) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.sequence",
                      .at = where.position(from),
                      .what = "the range has " + counted(frames, "frame") + ", the limit is " + std::to_string(most),
                      .hint = most < kMost ? "raise limits.sequence_samples" : ""});
  }
  entry.frames = static_cast<std::uint32_t>(frames);
}

}  // namespace

std::string normalise_prefix(std::string_view prefix) {
  if (prefix.empty()) return {};
  std::string out(prefix);
  std::replace(out.begin(), out.end(), '\\', '/');
  while (out.ends_with('/')) out.pop_back();
  return out + '/';
}

std::string_view without_extension(std::string_view name) noexcept {
  const std::size_t dot = name.rfind('.');
  const bool in_folder = dot != name.npos && name.find_first_of("/\\", dot) != name.npos;
  return in_folder ? name : name.substr(0, dot);
}

ScpEntry parse_scp_line(std::string_view line, const ScpRules& rules, const Position& at) {
  const Line where(line, at);
  const std::string_view text = trim(line);
  ScpEntry entry;
  std::string_view path = text;
  std::string logical;
  const std::size_t equals = text.find('=');
  if (equals == text.npos) {
    if (text.ends_with(']') && text.find('[') != text.npos) {
      where.fail("scp.no-key", text, "'" + std::string(text) + "' has a range but no key",
                 "write key=path[first,last]");
    }
    entry.whole = true;
  } else {
    const std::string_view name = text.substr(0, equals);
    path = text.substr(equals + 1);
    const std::size_t open = path.find('[');
    entry.whole = open == path.npos;
    if (!entry.whole) {
      parse_range(path.substr(open), where, rules.limits, entry);
      path = path.substr(0, open);
    }
    logical = trim(name);
    if (logical.empty()) where.fail("scp.no-key", text, "nothing stands before '='", "write key=path[first,last]");
    entry.blanks = logical.size() != name.size() || trim(path).size() != path.size();
    path = trim(path);
  }
  io::check_data_path(path, where.position(path));
  // A rule may apply to a path as it stands in the list, or as messages show it: with the prefix, without `...`.
  std::optional<std::string> here = mapped(path, rules);
  const std::string told = here ? std::string(path) : adjusted(path, rules);
  if (!here) here = mapped(told, rules);
  if (equals == text.npos) logical = told;
  entry.path = here ? std::move(*here) : io::path_in_list(told, rules.directory);
  entry.key = without_extension(logical);
  if (entry.key.empty())
    where.fail("scp.no-key", text, "'" + logical + "' is nothing but an extension, which is no key");
  if (entry.key.size() > rules.limits.key_bytes) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.key",
                      .at = where.position(text),
                      .what = "the key has " + counted(entry.key.size(), "byte") + ", the limit is " +
                              std::to_string(rules.limits.key_bytes),
                      .hint = "raise limits.key_bytes"});
  }
  return entry;
}

}  // namespace batchfeed::htk
