// SPDX-License-Identifier: MIT
#include "config/text.h"

#include <algorithm>
#include <utility>

namespace batchfeed::config {

std::uint32_t SourceMap::add_file(std::string name) {
  files_.push_back(std::move(name));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

void SourceMap::add_line(Origin at, std::uint32_t file, std::uint64_t line, std::uint64_t column, std::uint64_t byte) {
  lines_.push_back({at, file, line, column, byte});
}

const SourceMap::Line& SourceMap::line_of(Origin at) const {
  const auto after = std::upper_bound(lines_.begin(), lines_.end(), at,
                                      [](Origin value, const Line& line) { return value < line.at; });
  return after == lines_.begin() ? lines_.front() : *std::prev(after);
}

Position SourceMap::position(Origin at) const {
  if (lines_.empty()) return files_.empty() ? Position{} : Position{.file = files_.back()};
  const Line& line = line_of(at);
  const std::uint64_t offset = at < line.at ? 0 : at - line.at;
  return {.file = files_[line.file],
          .byte = line.byte + offset,
          .line = line.line,
          .column = line.column + offset,
          .has_byte = false};
}

std::uint32_t SourceMap::file(Origin at) const { return lines_.empty() ? 0 : line_of(at).file; }

Text::Text(std::string bytes, Origin at) : bytes_(std::move(bytes)) { runs_.push_back({0, at, false}); }

Origin Text::origin(std::size_t i) const noexcept {
  if (runs_.empty()) return 0;
  const auto after = std::upper_bound(runs_.begin(), runs_.end(), i,
                                      [](std::size_t value, const Run& run) { return value < run.begin; });
  const Run& run = after == runs_.begin() ? runs_.front() : *std::prev(after);
  return run.fixed ? run.at : run.at + static_cast<Origin>(i - run.begin);
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  Text out;
  out.append(*this, begin, end);
  return out;
}

void Text::append(const Text& other, std::size_t begin, std::size_t end) {
  if (begin >= end) {
    if (runs_.empty()) runs_.push_back({0, other.origin(begin), false});  // an empty text still has a place
    return;
  }
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](std::size_t value, const Run& r) { return value < r.begin; });
  if (run != other.runs_.begin()) --run;
  for (; run != other.runs_.end() && run->begin < end; ++run) {
    const std::size_t from = std::max(begin, run->begin);
    const Origin at = run->fixed ? run->at : run->at + static_cast<Origin>(from - run->begin);
    if (!runs_.empty() && runs_.back().begin == bytes_.size() + (from - begin)) runs_.pop_back();
    runs_.push_back({bytes_.size() + (from - begin), at, run->fixed});
  }
  bytes_.append(other.bytes_, begin, end - begin);
}

void Text::append_at(std::string_view bytes, Origin at) {
  if (!runs_.empty() && runs_.back().begin == bytes_.size()) runs_.pop_back();
  runs_.push_back({bytes_.size(), at, true});
  bytes_.append(bytes);
}

}  // namespace batchfeed::config
