// SPDX-License-Identifier: MIT
//
// Streams of a corpus that nobody declared: names, storage, dims and ranges, as
// the values show them.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "formats/ctf/blocks.h"
#include "formats/ctf/ctf.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/index.h"
#include "formats/ctf/line.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kWidths = 4096;  // different widths told apart
constexpr std::uint64_t kFewOf = 100;  // one in a hundred is few

struct Seen {
  Inferred::Stream stream;
  std::uint64_t pairs = 0, plain = 0;             // values of either kind
  std::map<std::uint64_t, std::uint64_t> widths;  // how many dense samples had so many values
  std::uint64_t indices = 0;                      // largest index + 1
  bool any_value = false;
  bool one_hot = true;
};

void add_value(Seen& seen, double value) {
  Inferred::Stream& s = seen.stream;
  ++s.values;
  s.integral &= std::floor(value) == value && std::isfinite(value);
  s.min = seen.any_value ? std::min(s.min, value) : value;
  s.max = seen.any_value ? std::max(s.max, value) : value;
  seen.any_value = true;
  seen.one_hot &= value == 1;
}

// The values of one sample, as far as they can be read.
void add_sample(Seen& seen, const char* p) {
  ++seen.stream.samples;
  const std::uint64_t pairs_before = seen.pairs;
  std::uint64_t n = 0;
  bool overflow = false;
  for (;; ++n) {
    p = skip_blanks(p);
    if (ends_sample(*p)) break;
    std::uint64_t index = 0;
    const text::UnsignedEnd digits = text::read_unsigned(p, index);
    const bool pair = digits.at != p && *digits.at == ':' && !digits.overflow && index < 0x7FFFFFFFu;
    double value = 0;
    const char* const next = text::read_number(pair ? digits.at + 1 : p, true, value, overflow);
    if (next == nullptr || !(is_blank(*next) || ends_sample(*next))) break;
    ++(pair ? seen.pairs : seen.plain);
    if (pair) seen.indices = std::max(seen.indices, index + 1);
    add_value(seen, value);
    p = next;
  }
  seen.one_hot &= n == 1;
  if (seen.pairs != pairs_before) return;
  if (const auto known = seen.widths.find(n); known != seen.widths.end()) {
    ++known->second;
  } else if (seen.widths.size() < kWidths) {
    seen.widths.emplace(n, 1);
  }
}

// The width that nearly all samples keep to, so that a damaged one does not
// decide; where there is none, the largest.
std::uint64_t dense_dim(const Seen& seen) {
  std::uint64_t all = 0, most = 0, dim = 0, wider = 0;
  for (const auto& [width, count] : seen.widths) {
    all += count;
    if (width != 0 && count > most) {
      most = count;
      dim = width;
    }
  }
  for (const auto& [width, count] : seen.widths) wider += width > dim ? count : 0;
  return wider * kFewOf <= all || seen.widths.empty() ? dim : seen.widths.rbegin()->first;
}

}  // namespace

Inferred infer(const std::string& path, std::uint64_t bytes, const Progress& progress, const Limits& limits,
               const FileSystem& file_system) {
  const io::File file(path, file_system, limits);
  if (file.size() == 0) throw Error(empty_file(path));
  Inferred result;
  bool text_ids = false;
  const Start start = [&] {
    try {
      return find_start(file, false, KeyMode::numeric, limits);
    } catch (const Error& e) {
      if (e.fault().id != "ctf.no-id") throw;
      text_ids = true;
      return find_start(file, false, KeyMode::text, limits);  // ids that are words
    }
  }();
  result.has_ids = !start.line_mode;
  result.text_ids = text_ids;
  const std::uint64_t end = bytes < file.size() - start.begin ? start.begin + bytes : file.size();
  result.whole_file = end == file.size();

  std::map<std::string, Seen, std::less<>> seen;
  std::vector<std::string> order;
  Buffer<char> buffer;
  file.will_read(start.line_begin, end);
  LineBlocks blocks(fill_from(file, start.line_begin, end), start.line_begin, buffer, path, limits.line_bytes);
  const auto name = [&](const char* p) {
    const std::string_view word = name_at(p);
    if (word.size() > limits.name_bytes) return;
    auto at = seen.find(word);
    if (at == seen.end()) {
      if (seen.size() == limits.streams) return;
      at = seen.emplace(std::string(word), Seen()).first;
      order.push_back(at->first);
    }
    add_sample(at->second, p + word.size());
  };
  while (blocks.next()) {
    // Where only a part is read, its last line may be cut.
    if (!result.whole_file && blocks.closed_by_end_of_file() && !order.empty()) break;
    for (const char* p = blocks.begin(); p != blocks.end(); ++p) {
      p = find_pipe_or_newline(p);
      if (*p == '|' && p[1] != '#' && !ends_name(p[1])) name(p + 1);
    }
    if (progress) progress(blocks.offset_of(blocks.end()), end);
  }
  for (const std::string& key : order) {
    Seen& s = seen.find(key)->second;
    s.stream.spec.name = key;
    const bool sparse = s.pairs > s.plain;
    s.stream.spec.storage = sparse ? Storage::sparse : Storage::dense;
    s.stream.spec.dim = std::max<std::uint64_t>(1, sparse ? s.indices : dense_dim(s));
    s.stream.one_hot = sparse && s.one_hot;
    result.streams.push_back(std::move(s.stream));
  }
  return result;
}

}  // namespace batchfeed::ctf
