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

struct Seen {
  Inferred::Stream stream;
  bool sparse = false, dense = false;  // a sample with a value of that kind occurred
  std::uint64_t longest = 0;           // values of a dense sample
  std::uint64_t indices = 0;           // largest index + 1
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
    (pair ? seen.sparse : seen.dense) = true;
    if (pair) seen.indices = std::max(seen.indices, index + 1);
    add_value(seen, value);
    p = next;
  }
  seen.longest = std::max(seen.longest, n);
  seen.one_hot &= n == 1;
}

}  // namespace

Inferred infer(const std::string& path, std::uint64_t bytes) {
  const Limits limits;
  const io::File file(path);
  if (file.size() == 0) throw Error(empty_file(path));
  Inferred result;
  const Start start = [&] {
    try {
      return find_start(file, false, KeyMode::numeric, limits);
    } catch (const Error& e) {
      if (e.fault().id != "ctf.no-id") throw;
      return find_start(file, false, KeyMode::text, limits);  // ids that are words
    }
  }();
  result.has_ids = !start.line_mode;
  const std::uint64_t end = bytes < file.size() - start.begin ? start.begin + bytes : file.size();
  result.whole_file = end == file.size();

  std::map<std::string, Seen, std::less<>> seen;
  std::vector<std::string> order;
  Buffer<char> buffer;
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
  }
  for (const std::string& key : order) {
    Seen& s = seen.find(key)->second;
    s.stream.spec.name = key;
    s.stream.spec.storage = s.sparse ? Storage::sparse : Storage::dense;
    s.stream.spec.dim = std::max<std::uint64_t>(1, s.sparse ? s.indices : s.longest);
    s.stream.one_hot = s.sparse && s.one_hot;
    result.streams.push_back(std::move(s.stream));
  }
  return result;
}

}  // namespace batchfeed::ctf
