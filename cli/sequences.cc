// SPDX-License-Identifier: MIT
#include "sequences.h"

#include <batchfeed/subset.h>
#include <batchfeed/writer.h>
#include <fmt/format.h>

#include <algorithm>

#include "in_memory.h"
#include "jsonl.h"

namespace batchfeed::cli {

namespace {

// Calls visit(indices or null, values, n) for sample i of a row.
template <class T, class Visit>
void visit_sample(const Column& column, std::uint32_t row, std::uint32_t i, const Visit& visit) {
  if (column.storage == Storage::dense) {
    visit(static_cast<const std::int32_t*>(nullptr), column.as<T>() + column.begin[row] + i * column.step,
          static_cast<std::size_t>(column.dim));
    return;
  }
  const std::size_t n = std::size_t{column.first_sample[row]} + i;
  const std::size_t begin = column.first_value[n], end = column.first_value[n + 1];
  visit(column.indices.data() + begin, column.as<T>() + begin, end - begin);
}

template <class Visit>
void visit_sample(const Column& column, std::uint32_t row, std::uint32_t i, const Visit& visit) {
  column.element == Element::f32 ? visit_sample<float>(column, row, i, visit)
                                 : visit_sample<double>(column, row, i, visit);
}

std::uint32_t longest(const Chunk& chunk, std::uint32_t row) {
  std::uint32_t out = 0;
  for (const Column& column : chunk.columns) out = std::max(out, column.samples(row));
  return out;
}

class View final : public SequenceText {
 public:
  View(const Source& source, const Console& console)
      : source_(source), width_(console.width()), colour_(console.colour_out()) {
    for (const StreamInfo& stream : source.streams())
      name_width_ = std::max(name_width_, printable(stream.name, 24).size());
  }

  void append(const Chunk& chunk, std::uint32_t number, const SequenceInfo& s, std::string& out) override {
    const std::string key = printable(source_.key_text(s.key), 60);
    out += fmt::format("{}{}key {}{}, {}{}\n", before(number, s.row), colour_ ? "\033[1m" : "", key,
                       colour_ ? "\033[0m" : "", plural(longest(chunk, s.row), "sample"),
                       chunk.is_invalid(s.row) ? "; damaged, a reader leaves it out" : "");
    for (std::size_t i = 0; i < chunk.columns.size(); ++i) {
      Text line;
      line.add(fmt::format("  {:<{}} ", printable(source_.streams()[i].name, 24), name_width_));
      samples(chunk.columns[i], s.row, line);
      if (chunk.columns[i].samples(s.row) == 0) line.add(" no sample");
      out += line.view();
      out += '\n';
    }
  }

 private:
  std::string before(std::uint32_t number, std::uint32_t row) const {
    const Place place = source_.place(number, row);
    return place.file.empty() ? "" : place_text(place, place.first_line == 0) + ": ";
  }

  void samples(const Column& column, std::uint32_t row, Text& line) const {
    for (std::uint32_t i = 0; i < column.samples(row); ++i) {
      const std::size_t used = line.view().size();
      if (used + 16 >= width_ && i != 0) {
        line.add(fmt::format(" ... {} more", column.samples(row) - i));
        return;
      }
      const std::size_t room = used + 16 < width_ ? width_ - 16 : used + 4;
      visit_sample(column, row, i, [&](const std::int32_t* indices, const auto* values, std::size_t n) {
        line.add(indices == nullptr ? " [" : " {");
        for (std::size_t k = 0; k < n; ++k) {
          if (k != 0) line.add(' ');
          if (line.view().size() >= room && k != 0) {
            line.add(fmt::format("... {}", n));
            break;
          }
          if (indices != nullptr) {
            line.integer(indices[k]);
            line.add(':');
          }
          line.real(values[k], "");
        }
        line.add(indices == nullptr ? ']' : '}');
      });
    }
  }

  const Source& source_;
  std::size_t width_, name_width_ = 0;
  bool colour_;
};

class Jsonl final : public SequenceText {
 public:
  explicit Jsonl(const Source& source) : source_(source) {}

  void append(const Chunk& chunk, std::uint32_t number, const SequenceInfo& s, std::string& out) override {
    text_.clear();
    text_.add("{\"key\":");
    append_string(source_.key_text(s.key), text_);
    append_place(source_.place(number, s.row), text_);
    text_.add(",\"samples\":");
    text_.integer(longest(chunk, s.row));
    text_.add(",\"streams\":{");
    for (std::size_t i = 0; i < chunk.columns.size(); ++i) {
      if (i != 0) text_.add(',');
      append_string(source_.streams()[i].name, text_);
      text_.add(":[");
      const Column& column = chunk.columns[i];
      for (std::uint32_t k = 0; k < column.samples(s.row); ++k) {
        if (k != 0) text_.add(',');
        sample(column, s.row, k);
      }
      text_.add(']');
    }
    text_.add("}}\n");
    out += text_.view();
  }

 private:
  void sample(const Column& column, std::uint32_t row, std::uint32_t i) {
    visit_sample(column, row, i, [&](const std::int32_t* indices, const auto* values, std::size_t n) {
      text_.add('[');
      for (std::size_t k = 0; k < n; ++k) {
        if (k != 0) text_.add(',');
        if (indices != nullptr) {
          text_.add('[');
          text_.integer(indices[k]);
          text_.add(',');
        }
        text_.real(values[k]);
        if (indices != nullptr) text_.add(']');
      }
      text_.add(']');
    });
  }

  const Source& source_;
  Text text_;
};

class Ctf final : public SequenceText {
 public:
  Ctf(const Source& source, bool ids) : source_(source), text_({.streams = source.streams(), .ids = ids}, "-") {}

  void append(const Chunk& chunk, std::uint32_t, const SequenceInfo& s, std::string& out) override {
    text_.append(chunk, s.row, source_.key_text(s.key), out);
  }

 private:
  const Source& source_;
  CtfText text_;
};

}  // namespace

std::string place_text(const Place& place, bool with_bytes) {
  if (place.file.empty()) return "unknown place";
  std::string out = printable(own_name(place.file), kPathLength);
  if (place.first_line != 0) out += fmt::format(":{}", place.first_line);
  if (place.last_line > place.first_line) out += fmt::format("-{}", place.last_line);
  if (with_bytes) out += fmt::format(" (bytes {}-{})", place.begin, place.end);
  return out;
}

void append_place(const Place& place, Text& out) {
  out.add(",\"file\":");
  place.file.empty() ? out.add("null") : append_string(own_name(place.file), out);
  out.add(",\"lines\":");
  if (place.first_line == 0) return out.add("null");
  out.add('[');
  out.integer(place.first_line);
  out.add(',');
  place.last_line == 0 ? out.add("null") : out.integer(place.last_line);
  out.add(']');
}

std::unique_ptr<SequenceText> sequence_text(const std::string& format, const Source& source, const Console& console,
                                            bool ids) {
  if (format == "view") return std::make_unique<View>(source, console);
  if (format == "jsonl") return std::make_unique<Jsonl>(source);
  return std::make_unique<Ctf>(source, ids);
}

}  // namespace batchfeed::cli
