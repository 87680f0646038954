// SPDX-License-Identifier: MIT
#include "formats/ctf/write.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "base/counted.h"
#include "base/quoted.h"
#include "base/words.h"
#include "formats/ctf/bytes.h"
#include "text/number.h"

namespace batchfeed::ctf {
namespace {

[[noreturn]] void refuse(const char* id, FaultKind kind, std::string what, std::string hint, std::string stream = {}) {
  throw Error(Fault{.kind = kind,
                    .id = id,
                    .what = (stream.empty() ? std::string() : "stream '" + stream + "': ") + std::move(what),
                    .hint = std::move(hint),
                    .stream = std::move(stream)});
}

void put_integer(std::uint64_t value, std::string& out) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <class T>
bool reads_back(const char* text, const char* end, T value) {
  char padded[64 + text::kOverread] = {};
  std::copy(text, end, padded);
  T again = 0;
  bool overflow = false;
  const char* const stop = text::read_number(padded, true, again, overflow);
  // The same bits: -0 and NaN payloads count.
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  return stop == padded + (end - text) && std::memcmp(&again, &value, sizeof value) == 0;
}

// Writes a number that is whole or has few digits, which are found by multiplying; false for any other. No two decimals
// of up to six digits are the same float, so these digits are the shortest; numbers that std::to_chars() writes with an
// exponent are left to it.
template <class T>
bool put_short(T value, std::string& out) {
  constexpr int kMost = 6;  // behind the point
  const double size = std::fabs(static_cast<double>(value));
  if (!(size < 1e5)) return false;
  if (const auto whole = static_cast<std::uint32_t>(size); whole == size && !(whole == 0 && std::signbit(value))) {
    if (value < 0) out += '-';
    put_integer(whole, out);
    return true;
  }
  if (size < 1e-4) return false;
  const double scaled = size * 1e6 + 0.5;  // rounded once or twice: what comes of it is compared
  auto digits = static_cast<std::uint64_t>(scaled);
  if (static_cast<T>(static_cast<double>(digits) / 1e6) != static_cast<T>(size)) return false;
  int behind = kMost;
  for (; behind > 0 && digits % 10 == 0; --behind) digits /= 10;
  if (digits >= 1'000'000) return false;
  char text[16];
  char* const end = std::end(text);
  char* p = end;
  int n = 0;
  for (; digits != 0 || n <= behind; ++n) {
    if (n == behind && behind != 0) *--p = '.';
    *--p = static_cast<char>('0' + digits % 10);
    digits /= 10;
  }
  const bool below_one = size < 1;
  if (below_one) {
    const char* const first = std::find_if(p, end, [](char c) { return c >= '1'; });
    const auto significant = end - first;  // 0.0003 is 3e-04
    if (end - p > (significant == 1 ? 5 : significant + 5)) return false;
  }
  if (value < 0) out += '-';
  out.append(p, end);
  return true;
}

template <class T>
void put_number(T value, const StreamInfo& stream, std::string& out) {
  if (std::isnan(value))
    refuse("ctf.write-nan", FaultKind::format, "nan cannot be written as text", "leave such samples out", stream.name);
  if (std::isinf(value)) {
    out += value < 0 ? "-1e999" : "1e999";  // reads as infinity
    return;
  }
  if (put_short(value, out)) return;
  char text[64];
  char* end = std::to_chars(text, text + sizeof text, value).ptr;
  // Text is read as the nearest double first; a float's shortest digits may fall
  // on the middle between two floats then.
  if (!reads_back(text, end, value)) end = std::to_chars(text, text + sizeof text, static_cast<double>(value)).ptr;
  out.append(text, end);
}

template <class T>
void put_sample(const Column& c, const StreamInfo& stream, std::uint32_t row, std::uint32_t i, std::string& out) {
  if (c.storage == Storage::dense) {
    const T* const values = c.as<T>() + c.begin[row] + i * c.step;
    for (std::uint64_t v = 0; v < c.dim; ++v) {
      out += ' ';
      put_number(values[v], stream, out);
    }
    return;
  }
  const std::size_t n = std::size_t{c.first_sample[row]} + i;
  for (std::uint32_t v = c.first_value[n]; v < c.first_value[n + 1]; ++v) {
    const std::int32_t index = c.indices[v];
    if (index < 0 || static_cast<std::uint64_t>(index) >= stream.dim)
      refuse("ctf.write-bad-index", FaultKind::usage,
             "index " + std::to_string(index) + " is not below dim " + std::to_string(stream.dim), {}, stream.name);
    out += ' ';
    put_integer(static_cast<std::uint64_t>(index), out);
    out += ':';
    put_number(c.as<T>()[v], stream, out);
  }
}

}  // namespace

Fault of_sequence(Fault fault, const std::string& file, const std::string& sequence) {
  fault.at.file = file;
  fault.what = "sequence " + sequence + ": " + fault.what;
  return fault;
}

Writer::Writer(std::vector<StreamInfo> streams, bool ids) : streams_(std::move(streams)), ids_(ids) {
  for (auto s = streams_.begin(); s != streams_.end(); ++s) {
    // A reader does not tell upper and lower case apart.
    const auto other = std::find_if(streams_.begin(), s, [&](const StreamInfo& before) {
      return before.name != s->name && same_word(before.name, s->name);
    });
    if (other == s) continue;
    refuse("ctf.write-names", FaultKind::config, "in a text corpus its name is that of stream '" + other->name + "'",
           "upper and lower case are not told apart; rename one of them", s->name);
  }
  for (const StreamInfo& s : streams_) {
    if (s.name.empty() || s.name[0] == '#' || std::any_of(s.name.begin(), s.name.end(), ends_name)) {
      refuse("ctf.write-names", FaultKind::config, "'" + s.name + "' cannot be a name in a text corpus",
             "rename it: without blanks, pipes and a leading '#'", s.name);
    }
    if (std::ranges::count(streams_, s.name, &StreamInfo::name) > 1)
      refuse("ctf.write-names", FaultKind::config, "two streams are named '" + s.name + "'", "rename one of them",
             s.name);
  }
}

void Writer::sequence(const Chunk& chunk, std::uint32_t row, std::string_view key, std::string& out) const {
  std::uint32_t rows = 0;
  for (const Column& c : chunk.columns) rows = std::max(rows, c.samples(row));
  if (ids_) {
    if (key.empty() || std::any_of(key.begin(), key.end(), ends_name))
      refuse("ctf.write-key", FaultKind::format,
             "the id '" + std::string(clipped(key)) + "' holds a blank, a pipe or nothing",
             "number the sequences instead");
  } else if (rows > 1) {
    refuse("ctf.write-rows", FaultKind::format, "its " + counted(rows, "row") + " cannot be told apart without ids",
           "write ids");
  }
  for (std::uint32_t i = 0; i < rows; ++i) {
    if (ids_) out += key;
    for (std::size_t s = 0; s < chunk.columns.size(); ++s) {
      const Column& c = chunk.columns[s];
      if (i >= c.samples(row)) continue;
      if (!out.empty() && out.back() != '\n') out += ' ';
      out += '|';
      out += streams_[s].name;
      if (c.element == Element::f32) {
        put_sample<float>(c, streams_[s], row, i, out);
      } else {
        put_sample<double>(c, streams_[s], row, i, out);
      }
    }
    out += '\n';
  }
}

}  // namespace batchfeed::ctf
