// SPDX-License-Identifier: MIT
#include <batchfeed/find.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "base/threads.h"
#include "model/total.h"
#include "text/trim.h"
#include "tools/in_order.h"

namespace batchfeed {

namespace {

constexpr std::size_t kLength = ~std::size_t{0};  // in place of a stream's number: the test is of the length

[[noreturn]] void refuse_test(std::string what, std::string hint, const std::string& stream = {}) {
  throw Error(Fault{
      .kind = FaultKind::usage, .id = "find.test", .what = std::move(what), .hint = std::move(hint), .stream = stream});
}

template <class Number>
bool parse(std::string_view text, Number& out) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool passes(ValueTest::Op op, double value, double bound) {
  switch (op) {
    case ValueTest::Op::equal: return value == bound || (std::isnan(value) && std::isnan(bound));
    case ValueTest::Op::unequal: return !passes(ValueTest::Op::equal, value, bound);
    case ValueTest::Op::less: return value < bound;
    case ValueTest::Op::at_most: return value <= bound;
    case ValueTest::Op::greater: return value > bound;
    case ValueTest::Op::at_least: return value >= bound;
  }
  return false;
}

class Finder {
 public:
  Finder(const Source& source, const FindOptions& options) : source_(source), options_(options) {
    for (const ValueTest& test : options.values) streams_.push_back(stream_of(test));
    for (const std::string& key : options.keys) {
      keys_.insert(key);
      if (key.find_first_of("*?[\\") != key.npos) patterns_.push_back(&key);
    }
    reads_ = std::any_of(streams_.begin(), streams_.end(), [](std::size_t s) { return s != kLength; });
  }

  void run(const std::function<void(const Hit&)>& found) {
    const std::uint64_t bytes = total(source_.chunks()).bytes;
    std::uint64_t done = 0;
    const unsigned jobs = reads_ ? threads_of(options_.jobs) : 1;
    in_order<Item>(
        source_.chunks().size(), jobs,
        [&](std::uint64_t i, Item& item) { search(static_cast<std::uint32_t>(i), item); },
        [&](std::uint64_t i, Item& item) {
          for (Hit& hit : item.hits) {
            hit.at = source_.place(hit.chunk, hit.sequence.row);
            if (hit.values != 0) hit.line = line_of_sample(hit.at, hit.line, hit.sample);
            found(hit);
          }
          done += source_.chunks()[static_cast<std::size_t>(i)].bytes;
          if (options_.progress) options_.progress(done, bytes);
        });
  }

 private:
  struct Item {
    Chunk chunk;
    std::vector<SequenceInfo> table;
    std::vector<Hit> hits;
  };

  std::size_t stream_of(const ValueTest& test) const {
    const std::vector<StreamInfo>& streams = source_.streams();
    std::string known;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      known += (i == 0 ? "'" : ", '") + streams[i].name + "'";
      if (streams[i].name != test.stream) continue;
      if (!test.index || *test.index < streams[i].dim) return i;
      refuse_test("stream '" + test.stream + "': index " + std::to_string(*test.index) + " is not below dim " +
                      std::to_string(streams[i].dim),
                  "indices count from 0", test.stream);
    }
    if (test.stream == "length" && !test.index) return kLength;
    refuse_test("no stream '" + test.stream + "', there are " + known,
                "names are compared with their case; length is that of the sequence", test.stream);
  }

  void search(std::uint32_t c, Item& item) const {
    item.hits.clear();
    source_.sequences(c, item.table);
    if (reads_) source_.read(c, item.chunk);
    for (std::uint32_t i = 0; i < item.table.size(); ++i) {
      const SequenceInfo& s = item.table[i];
      if (reads_ && item.chunk.is_invalid(s.row)) continue;
      Hit hit{.chunk = c, .place = i, .sequence = s};
      if ((fits_key(s) && fits_values(s, item.chunk, hit)) == options_.invert) continue;
      if (options_.invert) hit.values = 0;
      item.hits.push_back(std::move(hit));
    }
  }

  bool fits_key(const SequenceInfo& s) const {
    if (options_.keys.empty()) return true;
    const std::string key = source_.key_text(s.key);
    return keys_.contains(key) || std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string* pattern) {
             return ::fnmatch(pattern->c_str(), key.c_str(), 0) == 0;
           });
  }

  bool fits_values(const SequenceInfo& s, const Chunk& chunk, Hit& hit) const {
    for (std::size_t t = 0; t < streams_.size(); ++t) {
      const ValueTest& test = options_.values[t];
      if (streams_[t] == kLength) {
        if (!passes(test.op, s.samples, test.value)) return false;
        continue;
      }
      const Column& column = chunk.columns[streams_[t]];
      hit.values = 0;
      hit.stream = test.stream;
      hit.element = column.element;
      hit.line = column.samples(s.row);  // for now the number of samples; the line is computed from it later
      column.element == Element::f32 ? scan<float>(column, s.row, test, hit) : scan<double>(column, s.row, test, hit);
      if (hit.values == 0) return false;
    }
    return true;
  }

  template <class T>
  static void scan(const Column& column, std::uint32_t row, const ValueTest& test, Hit& hit) {
    // Rounded to the stream's precision, so that 0.1 is equal to what is read for "0.1".
    const auto bound = static_cast<double>(static_cast<T>(test.value));
    const auto look = [&](std::uint32_t sample, std::uint64_t index, double value) {
      if (!passes(test.op, value, bound) || hit.values++ != 0) return;
      hit.sample = sample;
      hit.index = index;
      hit.value = value;
    };
    for (std::uint32_t i = 0; i < column.samples(row); ++i) {
      if (column.storage == Storage::dense) {
        const T* const values = column.as<T>() + column.begin[row] + i * column.step;
        const std::uint64_t first = test.index.value_or(0), last = test.index ? first + 1 : column.dim;
        for (std::uint64_t d = first; d < last; ++d) look(i, d, static_cast<double>(values[d]));
        continue;
      }
      const std::size_t n = std::size_t{column.first_sample[row]} + i;
      bool there = false;
      for (std::size_t k = column.first_value[n]; k < column.first_value[n + 1]; ++k) {
        const auto index = static_cast<std::uint64_t>(column.indices[k]);
        if (test.index && *test.index != index) continue;
        there = true;
        look(i, index, static_cast<double>(column.as<T>()[k]));
      }
      if (test.index && !there) look(i, *test.index, 0);
    }
  }

  const Source& source_;
  const FindOptions& options_;
  std::unordered_set<std::string> keys_;
  std::vector<const std::string*> patterns_;  // the keys of the options that are patterns
  std::vector<std::size_t> streams_;
  bool reads_ = false;
};

}  // namespace

ValueTest parse_value_test(std::string_view text) {
  const std::string grammar = "expected STREAM[INDEX] OP NUMBER, such as 'features[3] >= 255' or 'features = nan'";
  const auto refuse = [&](const char* what) { refuse_test("'" + std::string(text) + "': " + what, grammar); };
  const std::size_t at = text.find_first_of("=!<>");
  if (at == std::string_view::npos) refuse("no comparison");
  ValueTest out;
  std::size_t width = 1;
  const bool doubled = at + 1 < text.size() && text[at + 1] == '=';
  switch (text[at]) {
    case '=':
      out.op = ValueTest::Op::equal;
      width = doubled ? 2 : 1;
      break;
    case '!':
      if (!doubled) refuse("no comparison");
      out.op = ValueTest::Op::unequal;
      width = 2;
      break;
    case '<':
      out.op = doubled ? ValueTest::Op::at_most : ValueTest::Op::less;
      width = doubled ? 2 : 1;
      break;
    default: out.op = doubled ? ValueTest::Op::at_least : ValueTest::Op::greater; width = doubled ? 2 : 1;
  }
  if (!parse(text::trimmed(text.substr(at + width)), out.value)) refuse("no number behind the comparison");
  std::string_view name = text::trimmed(text.substr(0, at));
  if (name.ends_with(']')) {
    const std::size_t open = name.rfind('[');
    std::uint64_t index = 0;
    if (open == std::string_view::npos || !parse(text::trimmed(name.substr(open + 1, name.size() - open - 2)), index))
      refuse("no index in the brackets");
    out.index = index;
    name = text::trimmed(name.substr(0, open));
  }
  if (name.empty()) refuse("no stream before the comparison");
  out.stream = name;
  return out;
}

void find(const Source& source, const FindOptions& options, const std::function<void(const Hit&)>& found) {
  Finder(source, options).run(found);
}

std::uint64_t line_of_sample(const Place& place, std::uint64_t samples, std::uint64_t sample) noexcept {
  if (place.first_line == 0 || place.last_line - place.first_line + 1 != samples) return 0;
  return place.first_line + sample;
}

}  // namespace batchfeed
