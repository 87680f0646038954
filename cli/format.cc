// SPDX-License-Identifier: MIT
#include "format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace batchfeed::cli {

std::string count_text(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string bytes_text(std::uint64_t n) {
  static constexpr std::array<const char*, 6> kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(n);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", n) : fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : 1, kUnits[unit]);
}

std::string value_text(double value) { return fmt::format("{:.6g}", value); }

std::string seconds_text(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string plural(std::uint64_t n, std::string_view word) {
  return fmt::format("{} {}{}", count_text(n), word, n == 1 ? "" : word.ends_with("ch") ? "es" : "s");
}

// Whether a character beyond ASCII controls a terminal: C1 controls, line and paragraph separators, and characters that
// change the direction of text.
static bool steers(std::string_view c) {
  const auto within = [&](std::string_view from, std::string_view to) { return from <= c && c <= to; };
  return (c.size() == 2 && within("\xC2\x80", "\xC2\x9F")) ||
         (c.size() == 3 && (within("\xE2\x80\xA8", "\xE2\x80\xAE") || within("\xE2\x81\xA6", "\xE2\x81\xA9")));
}

std::string indented(std::string_view text, std::string_view by) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((i == 0 || text[i - 1] == '\n') && text[i] != '\n') out += by;
    out += text[i];
  }
  return out;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t tail = c >= 0xF0 && c < 0xF5 ? 3 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xC2 && c < 0xE0 ? 1 : 0;
    bool whole = c >= 0x20 && c < 0x7F;
    if (tail != 0 && i + tail < text.size()) {
      whole = true;
      for (std::size_t k = 1; k <= tail; ++k) whole = whole && (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    }
    if (!whole || steers(text.substr(i, tail + 1))) tail = 0, whole = false;
    const std::string piece = whole ? std::string(text.substr(i, tail + 1)) : fmt::format("\\x{:02x}", c);
    if (out.size() + piece.size() > limit) return out + "...";
    out += piece;
    i += tail;
  }
  return out;
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> width;
  std::vector<bool> numeric;
  for (const auto& row : rows_) {
    width.resize(std::max(width.size(), row.size()));
    numeric.resize(width.size(), true);
    for (std::size_t c = 0; c < row.size(); ++c) {
      width[c] = std::max(width[c], row[c].size());
      if (&row != &rows_.front() && !row[c].empty() && (row[c][0] < '0' || row[c][0] > '9') && row[c][0] != '-')
        numeric[c] = false;
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line(indent);
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c != 0) line += "  ";
      line += numeric[c] ? fmt::format("{:>{}}", row[c], width[c]) : fmt::format("{:<{}}", row[c], width[c]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + '\n';
  }
  return out;
}

}  // namespace batchfeed::cli
