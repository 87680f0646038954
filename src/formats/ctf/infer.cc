// SPDX-License-Identifier: MIT
//
// Streams of a corpus that nobody declared: names, storage, dims and ranges, as
// the values show them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/counted.h"
#include "base/threads.h"
#include "formats/ctf/blocks.h"
#include "formats/ctf/ctf.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/index.h"
#include "formats/ctf/kernels.h"
#include "formats/ctf/line.h"
#include "formats/ctf/line_map.h"
#include "formats/ctf/ranges.h"
#include "formats/ctf/short_samples.h"

namespace batchfeed::ctf {
namespace {

constexpr std::size_t kWidths = 4096;  // different widths told apart
constexpr std::uint64_t kFewOf = 100;  // one in a hundred is few

// What one range of the file, or all of it, shows of a stream.
struct Seen {
  Inferred::Stream stream;
  std::size_t place = 0;                          // among the streams of the range
  std::uint64_t pairs = 0, plain = 0;             // values of either kind
  std::map<std::uint64_t, std::uint64_t> widths;  // how many dense samples had so many values
  std::uint64_t unreadable = 0;                   // samples with something that is no value
  std::uint64_t with_pairs = 0, with_plain = 0;   // samples, of the others
  std::uint64_t indices = 0;                      // largest index + 1
  bool any_value = false;
  bool one_hot = true;
  // Of the sequences that have it, by their number in the range.
  std::uint64_t first_sequence = 0, last_sequence = 0;
  std::uint64_t first_byte = 0;

  void met(std::uint64_t sequence, std::uint64_t byte);
  void add_values(const double* values, std::size_t n);
  void add_width(std::uint64_t width, std::uint64_t samples);
  void add(const Seen& later);
};

void Seen::met(std::uint64_t sequence, std::uint64_t byte) {
  if (stream.sequences != 0 && last_sequence == sequence) return;
  if (stream.sequences++ == 0) {
    first_sequence = sequence;
    first_byte = byte;
  }
  last_sequence = sequence;
}

void Seen::add_values(const double* values, std::size_t n) {
  if (n == 0) return;
  if (!any_value) stream.min = stream.max = values[0];
  any_value = true;
  stream.values += n;
  for (std::size_t i = 0; i < n; ++i) {
    stream.min = std::min(stream.min, values[i]);
    stream.max = std::max(stream.max, values[i]);
  }
  // Doubles from 2^53 on are whole numbers, or infinite.
  const auto is_integral = [](double v) {
    return std::fabs(v) < 9e15 ? static_cast<double>(static_cast<std::int64_t>(v)) == v : std::isfinite(v);
  };
  stream.integral = stream.integral && std::all_of(values, values + n, is_integral);
  one_hot = one_hot && std::all_of(values, values + n, [](double v) { return v == 1; });
}

void Seen::add_width(std::uint64_t width, std::uint64_t samples) {
  if (const auto known = widths.find(width); known != widths.end()) {
    known->second += samples;
  } else if (widths.size() < kWidths) {
    widths.emplace(width, samples);
  }
}

void Seen::add(const Seen& later) {
  if (later.any_value) {
    stream.min = any_value ? std::min(stream.min, later.stream.min) : later.stream.min;
    stream.max = any_value ? std::max(stream.max, later.stream.max) : later.stream.max;
  }
  any_value |= later.any_value;
  stream.values += later.stream.values;
  stream.samples += later.stream.samples;
  stream.integral &= later.stream.integral;
  one_hot &= later.one_hot;
  pairs += later.pairs;
  plain += later.plain;
  unreadable += later.unreadable;
  with_pairs += later.with_pairs;
  with_plain += later.with_plain;
  indices = std::max(indices, later.indices);
  for (const auto& [width, samples] : later.widths) add_width(width, samples);
}

// Reads the values of samples, of which nobody has said yet what they are.
class SampleReader {
 public:
  // One sample behind its name, as far as it can be read.
  void read(Seen& seen, const char* p) {
    ++seen.stream.samples;
    if (take_one_hot(seen, p)) return;
    const std::uint64_t pairs_before = seen.pairs, plain_before = seen.plain;
    std::uint64_t n = 0;
    while (take_many(seen, p, n) && take_some(seen, p, n)) {
    }
    seen.one_hot &= n == 1;
    if (!ends_sample(*skip_blanks(p))) {
      ++seen.unreadable;
      return;
    }
    seen.with_pairs += seen.pairs != pairs_before ? 1 : 0;
    seen.with_plain += seen.plain != plain_before ? 1 : 0;
    if (seen.pairs == pairs_before) seen.add_width(n, 1);
  }

 private:
  static constexpr std::size_t kRoom = 1024;
  static constexpr std::size_t kSome = 16;
  static constexpr std::uint64_t kMostIndex = 0x7FFFFFFF;

  // A sample of one short pair, as words and labels are written.
  static bool take_one_hot(Seen& seen, const char* p) {
    double value = 0;
    std::int32_t index = 0;
    if (read_one_hot(p, kMostIndex, value, index) == nullptr) return false;
    ++seen.pairs;
    ++seen.with_pairs;
    seen.indices = std::max(seen.indices, static_cast<std::uint64_t>(index) + 1);
    seen.add_values(&value, 1);
    return true;
  }

  // Values or pairs with the kernels. False at the sample's end.
  bool take_many(Seen& seen, const char*& p, std::uint64_t& n) {
    const bool pairs = *skip_digits(skip_blanks(p)) == ':';
    for (;;) {
      std::size_t count = 0;
      if (pairs) {
        SparseRoom<double> room{.values = values_.data(),
                                .indices = indices_.data(),
                                .capacity = kRoom,
                                .dim = kMostIndex,
                                .memory = of_pairs_};
        p = kernels_.sparse(p, room);
        count = static_cast<std::size_t>(room.count);
        for (std::size_t i = 0; i < count; ++i)
          seen.indices = std::max(seen.indices, static_cast<std::uint64_t>(indices_[i]) + 1);
      } else {
        DenseRoom room{.dim = kRoom, .memory = of_values_};
        p = kernels_.dense(p, values_.data(), room);
        count = static_cast<std::size_t>(room.count);
      }
      seen.add_values(values_.data(), count);
      (pairs ? seen.pairs : seen.plain) += count;
      n += count;
      if (ends_sample(*p)) return false;
      if (count < kRoom / 2) return true;
    }
  }

  // A few values one by one. False at the sample's end and where there is no value.
  bool take_some(Seen& seen, const char*& p, std::uint64_t& n) {
    bool overflow = false;
    bool fresh = is_blank(p[-1]);  // as scan_dense() has it
    for (std::uint64_t turn = 0; turn < kSome; ++turn, ++n) {
      fresh |= is_blank(*p);
      p = skip_blanks(p);
      if (ends_sample(*p)) return false;
      std::uint64_t index = 0;
      const text::UnsignedEnd digits = text::read_unsigned(p, index);
      const bool pair = digits.at != p && *digits.at == ':' && !digits.overflow && index < kMostIndex;
      double value = 0;
      const char* const next = text::read_number(pair ? digits.at + 1 : p, pair || fresh, value, overflow);
      const bool sign = next != nullptr && !pair && (*next == '+' || *next == '-');  // begins the next value
      if (next == nullptr || !(is_blank(*next) || ends_sample(*next) || sign)) return false;
      ++(pair ? seen.pairs : seen.plain);
      if (pair) seen.indices = std::max(seen.indices, index + 1);
      seen.add_values(&value, 1);
      fresh = false;
      p = next;
    }
    return true;
  }

  static const char* skip_digits(const char* p) noexcept {
    while (is_digit(*p)) ++p;
    return p;
  }

  Kernels<double> kernels_ = kernels<double>();
  KernelMemory of_values_, of_pairs_;
  std::array<double, kRoom> values_;
  std::array<std::int32_t, kRoom> indices_;
};

// The streams of a range, in the order in which their names come.
struct Streams {
  std::map<std::string, Seen, std::less<>> seen;
  std::vector<std::string> order;
  std::uint64_t sequences = 0;    // begun, or gone on with, in the range
  std::string first_id, last_id;  // of them; empty: lines without one at the beginning
  std::uint64_t words = 0;        // ids of them that are no numbers of 64 bits,
  bool first_is_word = false;     // and whether the first is one of these

  // Where a stream is named that is one too many; nothing behind it was read.
  std::optional<std::uint64_t> full_at;

  // Null where there are too many.
  Seen* find(std::string_view name, const Limits& limits) {
    const auto known = seen.find(name);
    if (known != seen.end()) return &known->second;
    if (seen.size() == limits.streams) return nullptr;
    order.emplace_back(name);
    Seen& added = seen.emplace(order.back(), Seen()).first->second;
    added.place = order.size() - 1;
    return &added;
  }

  // The line at p; one without an id goes on with the sequence before.
  void line(const char* p) {
    const std::string_view id = text_front(p).text();
    if (sequences != 0 && (id.empty() || id == last_id)) return;
    const LineFront number = numeric_front(p);
    const bool is_word = !id.empty() && (number.overflow || number.text().size() != id.size());
    words += is_word ? 1 : 0;
    if (sequences++ == 0) {
      first_id = id;
      first_is_word = is_word;
    }
    last_id = id;
  }

  // What the range behind this one shows.
  void add(const Streams& later, bool has_ids, const Limits& limits);
};

void Streams::add(const Streams& later, bool has_ids, const Limits& limits) {
  const bool goes_on =
      has_ids && sequences != 0 && later.sequences != 0 && (later.first_id.empty() || later.first_id == last_id);
  const std::uint64_t before = sequences - (goes_on ? 1 : 0);
  for (const std::string& name : later.order) {
    const Seen& more = later.seen.find(name)->second;
    Seen* const known = find(name, limits);
    if (known == nullptr) {
      full_at = more.first_byte;
      return;
    }
    const bool is_new = known->stream.sequences == 0;
    const bool twice = !is_new && goes_on && more.first_sequence == 0 && known->last_sequence == before;
    known->add(more);
    known->stream.sequences += more.stream.sequences - (twice ? 1 : 0);
    known->last_sequence = before + more.last_sequence;
    if (is_new) known->first_byte = more.first_byte;
  }
  sequences = before + later.sequences;
  words += later.words - (goes_on && later.first_is_word ? 1 : 0);
  if (later.sequences > 1 || !later.last_id.empty()) last_id = later.last_id;
  full_at = later.full_at;
}

[[noreturn]] void too_many(const io::File& file, std::uint64_t byte, const Limits& limits) {
  throw Error(Fault{.kind = FaultKind::limit,
                    .id = "limit.streams",
                    .at = {.file = file.path(), .byte = byte, .line = LineMap(file).line_of(byte), .has_byte = true},
                    .what = "more than " + counted(limits.streams, "stream") + " are named up to here",
                    .hint = "a configuration declares those that are wanted; else raise limits.streams"});
}

struct Range {
  const io::File& file;
  const Limits& limits;
  std::uint64_t first;       // of the data; a line starts here
  std::uint64_t begin, end;  // lines that begin in here
  std::uint64_t stop;        // nothing is read from here on, where a last line may be cut
  bool has_ids;
};

Streams read_range(const Range& range, const std::function<void(std::uint64_t)>& passed) {
  Streams streams;
  SampleReader reader;
  Seen* likely = nullptr;  // the stream behind the last one, in the order of their names
  std::vector<Seen*> by_place;
  SpareBlock buffer;
  // Behind the first range, the byte before it tells whether a line starts at `begin`.
  const bool inside = range.begin > range.first;
  const std::uint64_t from = inside ? range.begin - 1 : range.begin;
  range.file.will_read(from, range.end);
  LineBlocks blocks(fill_from(range.file, from, range.stop), from, *buffer, range.file.path(),
                    io::room_for_line(range.file, range.limits));
  if (inside && !blocks.skip_line(range.end)) return streams;
  while (blocks.next()) {
    // Where only a part is read, its last line may be cut.
    if (range.stop != range.file.size() && blocks.closed_by_end_of_file() && (inside || !streams.order.empty())) break;
    const char* p = blocks.begin();
    while (p != blocks.end() && blocks.offset_of(p) < range.end) {
      if (range.has_ids) streams.line(p);
      bool counted = range.has_ids;
      for (p = find_pipe_or_newline(p); *p == '|'; p = find_pipe_or_newline(p + 1)) {
        if (p[1] == '#' || ends_name(p[1])) continue;
        const std::string_view word = name_at(p + 1);
        if (!counted) ++streams.sequences;
        counted = true;
        // A name that is too long stays too long: opening the stream refuses it.
        Seen* seen = likely;
        if (likely == nullptr || streams.order[likely->place] != word) {
          seen = streams.find(word.substr(0, range.limits.name_bytes + 1), range.limits);
          if (seen == nullptr) {
            streams.full_at = blocks.offset_of(p);
            return streams;
          }
          if (seen->place == by_place.size()) by_place.push_back(seen);
        }
        likely = by_place[seen->place + 1 < by_place.size() ? seen->place + 1 : 0];
        seen->met(streams.sequences - 1, blocks.offset_of(p));
        reader.read(*seen, p + 1 + word.size());
      }
      ++p;
    }
    passed(blocks.offset_of(p));
    if (blocks.offset_of(p) >= range.end) break;
  }
  return streams;
}

// On as many threads as pay; the parts in the order of the file.
std::vector<Streams> read_ranges(const io::File& file, std::uint64_t begin, std::uint64_t end, const Progress& progress,
                                 bool has_ids, const Limits& limits, const InferTuning& tuning) {
  const unsigned threads = threads_of(tuning.threads);
  const auto read = [&](std::uint64_t from, std::uint64_t to, const auto& passed) {
    return read_range({file, limits, begin, from, to, end, has_ids}, passed);
  };
  return ctf::read_ranges<Streams>(Ranges(file, begin, end, tuning.least_bytes, threads), read,
                                   [&](std::uint64_t bytes) {
                                     if (progress) progress(begin + bytes, end);
                                   });
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

// Samples that are no samples of the stream as it is taken to be.
std::uint64_t odd_samples(const Seen& seen, const StreamSpec& as) {
  if (as.storage == Storage::sparse) return seen.unreadable + seen.with_plain;
  std::uint64_t odd = seen.unreadable + seen.with_pairs;
  for (const auto& [width, count] : seen.widths) odd += width > as.dim ? count : 0;
  return odd;
}

}  // namespace

Inferred infer(const io::File& file, std::uint64_t bytes, const Progress& progress, const Limits& limits,
               const InferTuning& tuning) {
  const std::string& path = file.path();
  if (file.size() == 0) throw Error(empty_file(path));
  Inferred result;
  result.seen.emplace(path, file.identity());
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
  const std::uint64_t end = bytes < file.size() - start.begin ? start.begin + bytes : file.size();
  result.whole_file = end == file.size();

  Streams all;
  for (const Streams& part : read_ranges(file, start.line_begin, end, progress, result.has_ids, limits, tuning)) {
    all.add(part, result.has_ids, limits);
    if (all.full_at) too_many(file, *all.full_at, limits);
  }
  file.expect_unchanged();
  result.sequences = all.sequences;
  // Those that begin with a digit, as 1089-134686 or 3f2a, would be numbers with something behind them, the same ones
  // again and again.
  result.text_ids = text_ids || all.words * 2 > all.sequences;
  for (const std::string& key : all.order) {
    Seen& s = all.seen.find(key)->second;
    s.stream.spec.name = key;
    // Where no sample has a value, sparse: nothing is missing then, and it is what other shards may have values of.
    const bool sparse = s.pairs > s.plain || (s.pairs + s.plain == 0 && s.unreadable == 0);
    s.stream.spec.storage = sparse ? Storage::sparse : Storage::dense;
    s.stream.spec.dim = std::max<std::uint64_t>(1, sparse ? s.indices : dense_dim(s));
    s.stream.odd = odd_samples(s, s.stream.spec);
    s.stream.one_hot = sparse && s.one_hot;
    s.stream.file = path;
    s.stream.first_byte = s.first_byte;
    result.streams.push_back(std::move(s.stream));
  }
  return result;
}

}  // namespace batchfeed::ctf
