// SPDX-License-Identifier: MIT
//
// Two passes: where the runs of lines with one id are, then the lines in their new
// order. Nothing but the bytes of line ends, ids and index:value entries is looked at.
#include "formats/ctf/mend.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/hash.h"
#include "formats/ctf/bytes.h"
#include "io/lines.h"

namespace batchfeed::ctf {

namespace {

constexpr std::size_t kFlush = 1u << 20;

std::string_view behind_margin(std::string_view line) {
  while (!line.empty() && static_cast<unsigned char>(line.front()) <= 0x20) line.remove_prefix(1);
  return line;
}

// Not a blank line, and nothing but comments in it.
bool is_comment(std::string_view line) {
  line = behind_margin(line);
  if (line.empty() || line.front() != '|') return false;
  for (std::size_t at = 0; at != std::string_view::npos; at = line.find('|', at + 1)) {
    if (line.substr(at + 1, 1) != "#") return false;
  }
  return true;
}

// What stands in front of a line up to where an id of text ends; empty if there is nothing.
std::string_view front_of(std::string_view line) {
  line = behind_margin(line);
  return line.substr(0, static_cast<std::size_t>(std::find_if(line.begin(), line.end(), ends_name) - line.begin()));
}

// The id in such a front: if ids are numbers, the digits without zeros in front. A line without an id belongs to the
// sequence before it.
std::string_view id_of(std::string_view id, bool numeric) {
  if (!numeric) return id;
  id = id.substr(0, static_cast<std::size_t>(std::find_if_not(id.begin(), id.end(), is_digit) - id.begin()));
  while (id.size() > 1 && id.front() == '0') id.remove_prefix(1);
  return id;
}

struct Entry {
  std::uint64_t index = 0;
  std::string_view text;
};

// The entries of a sample, if it is a sparse one; `from` and `to`: where they stand. A byte of control ends them, and
// what stands behind it is garbage, which must not become entries.
bool entries_of(std::string_view sample, std::vector<Entry>& out, std::size_t& from, std::size_t& to) {
  out.clear();
  std::size_t at = 1;
  while (at < sample.size() && !ends_name(sample[at])) ++at;
  if (at < 2) return false;
  const auto is_garbage = [](char c) { return class_of(c) == Byte::printable; };
  for (;;) {
    while (at < sample.size() && is_blank(sample[at])) ++at;
    if (at == sample.size() || ends_sample(sample[at]))
      return out.size() > 1 && std::ranges::none_of(sample.substr(at), is_garbage);
    const std::size_t begin = at;
    while (at < sample.size() && is_garbage(sample[at])) ++at;
    Entry& entry = out.emplace_back();
    entry.text = sample.substr(begin, at - begin);
    const char* const end = entry.text.data() + entry.text.size();
    const auto [stop, code] = std::from_chars(entry.text.data(), end, entry.index);
    if (code != std::errc() || stop == end || *stop != ':' || stop + 1 == end) return false;
    if (out.size() == 1) from = begin;
    to = at;
  }
}

class Mender {
 public:
  Mender(const io::File& file, io::AtomicFile& target, const FixOptions& options)
      : file_(file),
        target_(target),
        options_(options),
        lines_(file, io::LineEnd::lf, options.limits.line_bytes, "line_bytes") {}

  std::vector<Fix> run() {
    std::uint64_t begin = 0;
    if (std::string head(kUtf8Mark.size(), '\0'); file_.size() >= head.size()) {
      file_.read(0, std::as_writable_bytes(std::span(head)));
      if (head == kUtf8Mark) {
        begin = kUtf8Mark.size();
        note(mark_, 0, 1);
      }
    }
    find_runs(begin);
    for (const Run& run : in_order()) copy(run);
    flush();
    file_.expect_unchanged();
    std::vector<Fix> out;
    for (Fix* fix : {&mark_, &ends_, &last_, &moved_, &sorted_}) {
      if (fix->count != 0) out.push_back(std::move(*fix));
    }
    return out;
  }

 private:
  struct Run {
    std::uint64_t begin = 0, end = 0, line = 0, id = 0;  // hash
  };

  void note(Fix& fix, std::uint64_t byte, std::uint64_t line) const {
    if (fix.count++ < options_.most)
      fix.places.push_back({.file = file_.path(), .byte = byte, .line = line, .has_byte = true});
  }

  void tell(std::uint64_t done) const {
    if (options_.progress) options_.progress(done, 2 * file_.size());
  }

  // Whether the ids would be taken for numbers without a configuration (infer.cc): the first one begins with a digit,
  // and most of them are no words, as 1089-134686 would be.
  bool are_numbers(std::uint64_t begin) {
    lines_.seek(begin, file_.size(), 1);
    std::uint64_t ids = 0, words = 0;
    for (std::string last; lines_.next();) {
      if (lines_.number() % 4096 == 0) tell(0);
      const std::string_view id = front_of(lines_.text());
      if (ids == 0 && !behind_margin(lines_.text()).empty() && !is_comment(lines_.text())) {
        if (id.empty()) return true;  // there are none
        if (!is_digit(id.front())) return false;
      }
      if (id.empty() || id == last) continue;
      std::uint64_t number = 0;
      const auto [stop, code] = std::from_chars(id.data(), id.data() + id.size(), number);
      if (code != std::errc() || stop != id.data() + id.size()) ++words;
      ++ids;
      last = id;
    }
    return words * 2 <= ids;
  }

  void find_runs(std::uint64_t begin) {
    if (!options_.skip_sequence_ids) numeric_ = options_.keys ? *options_.keys == KeyMode::numeric : are_numbers(begin);
    lines_.seek(begin, file_.size(), 1);
    std::string current;
    bool any = false, with_ids = !options_.skip_sequence_ids;
    while (lines_.next()) {
      const std::string_view front = front_of(lines_.text());
      if (!any && !behind_margin(lines_.text()).empty() && !is_comment(lines_.text())) {
        any = true;
        with_ids = with_ids && !front.empty();  // else every line is a sequence
      }
      const std::string_view id = with_ids ? id_of(front, numeric_) : std::string_view();
      if (runs_.empty() || (!id.empty() && id != current)) {
        if (!runs_.empty()) runs_.back().end = lines_.begin();
        runs_.push_back({.begin = lines_.begin(), .line = lines_.number(), .id = hash_text(id)});
        current = id;
      }
      if (lines_.number() % 4096 == 0) tell(lines_.begin());
    }
    if (!runs_.empty()) runs_.back().end = file_.size();
    if (!with_ids && runs_.size() > 1) {
      runs_.resize(1);
      runs_.front().end = file_.size();
    }
  }

  // The runs in their new order, each behind the first one with its id; neighbours in the file become one.
  std::vector<Run> in_order() {
    std::vector<std::pair<std::uint64_t, std::size_t>> by_id;
    for (std::size_t i = 0; i < runs_.size(); ++i) by_id.emplace_back(runs_[i].id, i);
    std::sort(by_id.begin(), by_id.end());
    std::vector<std::size_t> leader(runs_.size());
    for (std::size_t i = 0, first = 0; i < by_id.size(); ++i) {
      if (by_id[i].first != by_id[first].first) first = i;
      const std::size_t run = by_id[i].second, head = by_id[first].second;
      leader[run] = head == run || id_at(runs_[run]) == id_at(runs_[head]) ? head : run;
    }
    std::vector<std::size_t> order(runs_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return leader[a] < leader[b]; });
    for (std::size_t i = 0; i < leader.size(); ++i) {
      if (leader[i] != i) note(moved_, runs_[i].begin, runs_[i].line);
    }
    std::vector<Run> out;
    for (const std::size_t i : order) {
      if (!out.empty() && out.back().end == runs_[i].begin) {
        out.back().end = runs_[i].end;
      } else {
        out.push_back(runs_[i]);
      }
    }
    return out;
  }

  std::string id_at(const Run& run) {
    lines_.seek(run.begin, run.end, run.line);
    while (lines_.next()) {
      if (const std::string_view id = id_of(front_of(lines_.text()), numeric_); !id.empty()) return std::string(id);
    }
    return {};
  }

  void copy(const Run& run) {
    lines_.seek(run.begin, run.end, run.line);
    while (lines_.next()) {
      if (!lines_.terminated()) {
        note(last_, lines_.begin(), lines_.number());
      } else if (lines_.end() - lines_.begin() == lines_.text().size() + 2) {
        note(ends_, lines_.begin(), lines_.number());
      }
      if (const std::size_t samples = sort_entries(lines_.text(), text_); samples != 0) {
        note(sorted_, lines_.begin(), lines_.number());
        sorted_.count += samples - 1;
      }
      text_ += '\n';
      if (text_.size() >= kFlush) flush();
    }
  }

  void flush() {
    target_.append(std::string_view(text_));
    text_.clear();
    tell(file_.size() + std::min(target_.size(), file_.size()));
  }

  const io::File& file_;
  io::AtomicFile& target_;
  const FixOptions& options_;
  io::LineReader lines_;
  std::vector<Run> runs_;
  bool numeric_ = true;  // ids
  std::string text_;
  Fix mark_{.id = "fix.byte-order-mark", .what = "byte order mark removed"};
  Fix ends_{.id = "fix.line-end", .what = "line end CR LF made LF"};
  Fix last_{.id = "fix.last-line", .what = "last line ended"};
  Fix moved_{.id = "fix.regrouped", .what = "run of lines moved behind the first with the same id"};
  Fix sorted_{.id = "fix.sorted", .what = "entries of a sparse sample sorted by index"};
};

}  // namespace

std::size_t sort_entries(std::string_view line, std::string& out) {
  std::size_t sorted = 0, done = 0;
  std::vector<Entry> entries;
  for (std::size_t at = line.find('|'); at != std::string_view::npos;) {
    const bool comment = at + 1 < line.size() && line[at + 1] == '#';
    std::size_t end = line.find('|', at + 1);
    // In a comment "|#" stands for a pipe.
    while (comment && end != std::string_view::npos && end + 1 < line.size() && line[end + 1] == '#')
      end = line.find('|', end + 1);
    const std::string_view sample = line.substr(at, end == std::string_view::npos ? end : end - at);
    const auto before = [](const Entry& a, const Entry& b) { return a.index < b.index; };
    std::size_t from = 0, to = 0;
    if (!comment && sample.find(':') != std::string_view::npos && entries_of(sample, entries, from, to) &&
        !std::is_sorted(entries.begin(), entries.end(), before)) {
      std::stable_sort(entries.begin(), entries.end(), before);
      out += line.substr(done, at + from - done);
      for (std::size_t i = 0; i < entries.size(); ++i) (out += i == 0 ? "" : " ") += entries[i].text;
      done = at + to;
      ++sorted;
    }
    at = end;
  }
  out += line.substr(done);
  return sorted;
}

std::vector<Fix> mend(const io::File& file, io::AtomicFile& target, const FixOptions& options) {
  return Mender(file, target, options).run();
}

}  // namespace batchfeed::ctf
