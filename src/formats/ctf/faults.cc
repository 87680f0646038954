// SPDX-License-Identifier: MIT
#include "formats/ctf/faults.h"

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/lookalike.h"
#include "base/words.h"

namespace batchfeed::ctf {
namespace {

Fault at_line(const std::string& file, const char* id, std::uint64_t byte, std::uint64_t line, std::uint64_t column,
              std::string what, std::string hint) {
  return {.kind = FaultKind::format,
          .id = id,
          .at = {.file = file, .byte = byte, .line = line, .column = column, .has_byte = true},
          .what = std::move(what),
          .hint = std::move(hint)};
}

std::uint64_t count_values(const char* p) {
  std::uint64_t n = 0;
  for (;;) {
    p = skip_blanks(p);
    if (ends_sample(*p)) return n;
    ++n;
    // A sign begins the next value, but for that of an exponent.
    do ++p;
    while (!is_blank(*p) && !ends_sample(*p) && !((*p == '+' || *p == '-') && p[-1] != 'e' && p[-1] != 'E'));
  }
}

// Up to a blank, pipe or line end, and not much longer than what is shown.
std::string_view token_at(const char* p) {
  const char* end = p;
  while (end - p <= 80 && !is_blank(*end) && *end != '\n' && *end != '\r' && (*end != '|' || end == p)) ++end;
  return {p, static_cast<std::size_t>(end - p)};
}

// The same with the bytes in front of it that are no ASCII: these count as blanks, and what they spell may be why
// the token is not understood.
std::string_view token_around(const char* begin, const char* p) {
  const std::string_view token = token_at(p);
  while (p != begin && static_cast<unsigned char>(p[-1]) >= 0x80) --p;
  return {p, static_cast<std::size_t>(token.data() + token.size() - p)};
}

// A sample from its name on, and not much more than a screen of it.
std::string_view sample_at(const char* name) {
  const char* end = name;
  while (end - name < 4096 && *end != '|' && *end != '\n') ++end;
  return {name, static_cast<std::size_t>(end - name)};
}

// What may have been meant by a token that is no number.
std::string number_hint(const char* p) {
  if (std::string found = lookalike(token_at(p)); !found.empty()) return found;
  const char* q = p + (*p == '+' || *p == '-');
  const auto is = [&](const char* word) {
    for (const char* w = word; *w != 0; ++w, ++q) {
      if ((*q | 0x20) != *w) return q -= w - word, false;
    }
    return true;
  };
  if (is("nan") || is("inf")) return "nan and inf cannot be read; leave the sample out or write a finite number";
  while (is_digit(*q)) ++q;
  if (*q == ',') return "the decimal mark is a point";
  if (*q == ':') return "index:value pairs belong to sparse streams; declare this one with `format = \"sparse\"`";
  if (q != p && q[-1] == '0' && (*q == 'x' || *q == 'X')) return "hexadecimal numbers cannot be read";
  return "numbers look like -1, 0.25 or 1e-5";
}

// The id of the fault; null if nothing is wrong.
const char* id_of(ScanCode code) {
  switch (code) {
    case ScanCode::bad_value: return "ctf.bad-number";
    case ScanCode::too_many: return "ctf.too-many-values";
    case ScanCode::bad_index: return "ctf.bad-index";
    case ScanCode::no_colon: return "ctf.no-colon";
    case ScanCode::index_range: return "ctf.index-range";
    case ScanCode::ok:
    case ScanCode::full:
    case ScanCode::pause: break;
  }
  return nullptr;
}

}  // namespace

std::string quoted(const char* p) {
  if (const std::string_view token = token_at(p); !token.empty()) return quoted(token);
  return *p == '\n' || *p == '\r' ? "the end of the line" : "a blank";
}

Fault not_utf8(const std::string& file) {
  return at_line(file, "ctf.utf16", 0, 1, 1, "starts with a mark of UTF-16 or UTF-32, expected ASCII or UTF-8",
                 "convert it, for example with iconv -t UTF-8");
}
Fault empty_file(const std::string& file) {
  return {.kind = FaultKind::format,
          .id = "ctf.empty",
          .at = {.file = file},
          .what = "file is empty: it holds nothing but white space",
          .hint = {}};
}
Fault no_sequence(const std::string& file, const std::string& why) {
  return {.kind = FaultKind::format,
          .id = "ctf.no-sequence",
          .at = {.file = file},
          .what = "no sequence found: " + why,
          .hint = "compare the names behind '|' with the declared inputs; `info()` lists them"};
}
Fault torn_end(const std::string& file, std::uint64_t byte, std::uint64_t line, const std::string& how) {
  return at_line(file, "ctf.torn-end", byte, line, 0, "the file seems cut off: " + how, "make or fetch it again");
}
Fault no_id(const std::string& file, std::uint64_t byte, std::uint64_t line, std::uint64_t column, const char* at) {
  const std::string_view found = token_at(at);
  const bool is_binary = found.starts_with("nib_ktnc");
  return at_line(
      file, "ctf.no-id", byte, line, column, "expected a sequence id (decimal digits) or '|', found " + quoted(at),
      lookalike_or(found, is_binary ? "this is a CNTK binary file, which `CNTKBinaryReader` reads"
                          : class_of(*at) == Byte::printable
                              ? "text ids need `useNumericSequenceKeys = false`, in a reader with deserializers; "
                                "`reader_section()` writes one"
                              : ""));
}
Fault keys_need_ids(const std::string& file, std::uint64_t byte, std::uint64_t line, std::uint64_t column,
                    const char* at) {
  return at_line(file, "ctf.keys-need-ids", byte, line, column,
                 *at == '|' ? "the lines carry no sequence ids, but keys are text"
                            : "the sequence ids are passed over, but keys are text",
                 *at == '|' ? "write an id in front of every sequence, or use numeric keys"
                            : "remove `skipSequenceIds = true`, or use numeric keys");
}
Fault id_range(const std::string& file, std::string_view id, std::uint64_t line_begin, std::uint64_t line) {
  return at_line(file, "ctf.id-range", line_begin, line, 1,
                 "sequence id " + quoted(id) + " is above 18446744073709551615",
                 "text ids need `useNumericSequenceKeys = false`, in a reader with deserializers; "
                 "`reader_section()` writes one");
}
Fault long_key(const std::string& file, std::uint64_t limit, std::uint64_t line_begin, std::uint64_t line) {
  Fault fault = at_line(file, "limit.key", line_begin, line, 1, "a sequence id of more than " + counted(limit, "byte"),
                        "raise limits.key_bytes");
  fault.kind = FaultKind::limit;
  return fault;
}

std::uint64_t FaultLog::column_of(const char* at) const noexcept {
  // From the last answer on where that is possible: a line may hold a million faults.
  const char* stop = last_at_ != nullptr && last_at_ <= at ? last_at_ : block_;
  const char* line = at;
  while (line != stop && line[-1] != '\n') --line;
  if (line == stop && stop == last_at_) line = last_line_;
  last_at_ = at;
  last_line_ = line;
  const bool cut = line == block_ && offset_ == context_.first_begin;
  return static_cast<std::uint64_t>(at - line) + 1 + (cut ? context_.before_first : 0);
}

Fault FaultLog::fault(const char* id, const char* at, std::string what, std::string hint, int stream_index) const {
  const std::uint64_t byte = at == nullptr ? sequence_begin_ : offset_of(at);
  const std::uint64_t first = byte == context_.first_begin ? context_.before_first + 1 : 1;  // column of a sequence
  Fault f = at_line(context_.file, id, byte, context_.line_of(byte), at == nullptr ? first : column_of(at),
                    std::move(what), std::move(hint));
  if (stream_index != Schema::kNone) {
    f.stream = stream(static_cast<std::size_t>(stream_index)).name;
    f.what = "stream '" + f.stream + "'" + of_sequence() + ": " + f.what;
  }
  return f;
}

std::string FaultLog::of_sequence() const { return " of sequence " + context_.key_text(key_); }

void FaultLog::bad_sample(ScanCode code, std::size_t s, const char* name, const char* at) {
  if (context_.quiet) return;
  const char* const id = id_of(code);
  if (id != nullptr) context_.sink->error(id, [&] { return sample_fault(code, s, name, at); });
}

Fault FaultLog::sample_fault(ScanCode code, std::size_t s, const char* name, const char* at) const {
  const std::string dim = std::to_string(stream(s).dim);
  const int i = static_cast<int>(s);
  switch (code) {
    case ScanCode::bad_value: {
      const std::string hint = number_hint(at);
      return fault("ctf.bad-number", at, "expected a number, found " + quoted(at), hint, i);
    }
    case ScanCode::too_many: {
      const std::uint64_t n = count_values(name + context_.schema->alias(s).size());
      return fault("ctf.too-many-values", at, counted(n, "value") + ", expected dim " + dim,
                   "set dim = " + std::to_string(n) + " if the data are right", i);
    }
    case ScanCode::bad_index:
      return fault("ctf.bad-index", at, "expected an index (decimal digits), found " + quoted(at),
                   lookalike_or(token_at(at), "sparse samples are index:value pairs without blanks around the colon"),
                   i);
    case ScanCode::no_colon:
      return fault("ctf.no-colon", at, "expected index:value, found " + quoted(at),
                   lookalike_or(token_at(at),
                                "no blanks around the colon; plain values belong to "
                                "streams with `format = \"dense\"`"),
                   i);
    case ScanCode::index_range: {
      std::uint64_t index = 0;
      const text::UnsignedEnd digits = text::read_unsigned(at, index);
      const std::string shown = digits.overflow ? quoted(std::string_view(at, static_cast<std::size_t>(digits.at - at)))
                                                : std::to_string(index);
      const std::string raise =
          digits.overflow || index >= 0x7FFFFFFFu ? "" : "; or set dim = " + std::to_string(index + 1);
      return fault("ctf.index-range", at, "index " + shown + " is not below dim " + dim, "indices count from 0" + raise,
                   i);
    }
    case ScanCode::ok:
    case ScanCode::full:
    case ScanCode::pause: break;
  }
  return {};
}

void FaultLog::garbage(const char* at, bool front) {
  if (context_.quiet) return;
  const bool id = front && at[0] != '#';
  const char* before = at;
  while (before != block_ && is_blank(before[-1])) --before;
  const bool behind_return = before != block_ && before[-1] == '\r';  // files of old Macs have no other line ends
  const bool behind_id =
      !front && at != block_ && is_digit(at[-1]) && !context_.line_mode;  // a text id that begins with digits?
  const auto make = [&] {
    return fault(id ? "ctf.bad-id" : "ctf.garbage", at,
                 id ? "expected a sequence id (decimal digits) or '|', found " + quoted(at)
                    : "expected '|', found " + quoted(at) + of_sequence(),
                 lookalike_or(token_around(block_, at),
                              at[0] == '#'    ? "comments start with '|#'"
                              : behind_return ? "a carriage return alone ends no line; end lines with a line feed"
                              : id            ? "the line was added to sequence " + context_.key_text(key_)
                              : behind_id     ? "a blank or '|' ends an id; text ids need "
                                                "`useNumericSequenceKeys = false`, in a reader with deserializers; "
                                                "`reader_section()` writes one"
                                              : "samples start with '|' and the name of a stream"));
  };
  context_.sink->error(id ? "ctf.bad-id" : "ctf.garbage", make);
}

void FaultLog::hole(const char* nul) {
  if (context_.quiet) return;
  const char* end = nul;
  while (*end == 0) ++end;
  if (offset_of(end) == context_.told_end) return;
  const auto make = [&] {
    return fault("ctf.hole", nul,
                 counted(static_cast<std::uint64_t>(end - nul), "NUL byte") +
                     (end - nul == 1 ? ", which counts as a blank" : ", which count as blanks") +
                     "; what was written here is lost",
                 "make or fetch the file again");
  };
  context_.sink->warning("ctf.hole", make);
}

void FaultLog::empty_name(const char* pipe) {
  if (context_.quiet) return;
  const auto make = [&] {
    return fault("ctf.empty-name", pipe, "expected a name directly behind '|', found " + quoted(pipe + 1),
                 is_blank(pipe[1]) ? "remove the blank" : "inside a comment write '|#' for a pipe");
  };
  context_.sink->error("ctf.empty-name", make);
}

void FaultLog::repeated(std::size_t s, std::uint64_t samples, std::uint64_t rows, std::uint64_t byte,
                        std::uint64_t line, std::uint64_t column) {
  if (context_.quiet) return;
  const auto make = [&] {
    Fault f = fault("ctf.repeated-input", nullptr, counted(samples, "sample") + " in " + counted(rows, "row"),
                    "an input may occur once in a line; lines of one sequence share its id", static_cast<int>(s));
    f.at.byte = byte;
    f.at.line = line != 0 ? line : context_.line_of(byte);
    f.at.column = column;
    return f;
  };
  context_.sink->error("ctf.repeated-input", make);
}

// A name on the first line of the sequence that is not declared, and nearly the one of this stream; or nothing.
std::string FaultLog::nearly_named(std::size_t s) const {
  const Schema& schema = *context_.schema;
  const std::string line = context_.line_at ? context_.line_at(sequence_begin_) : "";
  Nearest nearest(schema.alias(s), Schema::edits_below(schema.alias(s)));
  for (std::size_t pipe = line.find('|'); pipe != std::string::npos; pipe = line.find('|', pipe + 1)) {
    const std::string_view name = name_at(line.c_str() + pipe + 1);
    bool declared = false;
    for (std::size_t i = 0; i < schema.size(); ++i) declared |= schema.alias(i) == name;
    if (!declared && !name.empty() && name[0] != '#' && name.size() <= Schema::kLongestGuess) nearest.offer(name);
  }
  return std::string(nearest.best());
}

void FaultLog::missing(std::size_t s) {
  if (context_.quiet) return;
  const auto make = [&] {
    const std::string meant = nearly_named(s);
    return fault("ctf.missing-input", nullptr, "no sample in the sequence",
                 (meant.empty() ? "" : "did you mean '" + meant + "', which its first line has? ") +
                     "every sequence needs a sample of each declared input ('|" + context_.schema->alias(s) + "')",
                 static_cast<int>(s));
  };
  context_.sink->error("ctf.missing-input", make);
}

void FaultLog::too_short(std::size_t s, std::uint64_t values, const char* name) {
  if (context_.quiet || told_short_[s]) return;
  told_short_[s] = true;
  if (context_.first_short && !context_.first_short(s)) return;
  context_.sink->warning(
      fault("ctf.too-few-values", name,
            counted(values, "value") + ", expected dim " + std::to_string(stream(s).dim) + "; the rest is 0",
            lookalike_or(sample_at(name),
                         "reported once for each stream and chunk; if it is the last line, was the file cut off?"),
            static_cast<int>(s)));
}

void FaultLog::overflow(std::size_t s, const char* name) {
  if (context_.quiet) return;
  const auto make = [&] {
    return fault("ctf.overflow", name, "a number is too large for the element type and becomes infinite", "",
                 static_cast<int>(s));
  };
  context_.sink->warning("ctf.overflow", make);
}

void FaultLog::duplicate_index(std::size_t s, std::int32_t index, const char* name) {
  if (context_.quiet) return;
  const auto make = [&] {
    return fault("ctf.duplicate-index", name, "index " + std::to_string(index) + " stands twice in a sample",
                 "both values are delivered, as they stand", static_cast<int>(s));
  };
  context_.sink->warning("ctf.duplicate-index", make);
}

void FaultLog::crowded_row(std::uint64_t samples, const char* at) {
  if (context_.quiet) return;
  const auto make = [&] {
    return fault("ctf.crowded-row", at,
                 counted(samples, "sample") + " in a row" + of_sequence() + ", more than the " +
                     counted(context_.schema->size(), "stream") + " declared");
  };
  context_.sink->warning("ctf.crowded-row", make);
}

void FaultLog::unknown(const char* name) {
  const auto make = [&] {
    const std::string_view nearest = context_.schema->nearest(name_at(name));
    return fault(
        "ctf.unknown-input", name, "input " + quoted(name_at(name)) + " is not declared and was skipped",
        lookalike_or(name_at(name), nearest.empty() ? std::string() : "did you mean '" + std::string(nearest) + "'?"));
  };
  context_.sink->info("ctf.unknown-input", make);
}

void FaultLog::loaded(std::uint64_t rows) {
  const auto make = [&] {
    return fault("ctf.loaded", nullptr, "sequence " + context_.key_text(key_) + " was read: " + counted(rows, "row"));
  };
  context_.sink->info("ctf.loaded", make);
}

void FaultLog::too_much(std::size_t s, std::uint64_t limit) {
  Fault f = fault("limit.chunk-values", nullptr,
                  "the chunk holds more than " + counted(limit, "value") + " or samples of this stream",
                  "use smaller chunks, `chunkSizeInBytes`, or shorter sequences", static_cast<int>(s));
  f.kind = FaultKind::limit;
  throw Error(std::move(f));
}

void FaultLog::too_short_rows(std::size_t s, std::uint64_t limit) {
  const StreamInfo& stream = context_.schema->streams()[s];
  Fault f = fault("limit.implied-values", nullptr,
                  "dim is " + std::to_string(stream.dim) + ", and more than " + counted(limit, "value") +
                      " of the chunk are not in the text",
                  "set dim to what the rows have, or raise limits.implied_samples", static_cast<int>(s));
  f.kind = FaultKind::limit;
  throw Error(std::move(f));
}

void FaultLog::too_many_lost(std::uint64_t limit) {
  Fault f = fault("limit.lost-sequences", nullptr,
                  "sequences of " + counted(context_.schema->size(), "stream") +
                      " were left out of the chunk until their places are more than " + std::to_string(limit),
                  "declare the inputs that the file has, or raise limits.implied_samples");
  f.kind = FaultKind::limit;
  throw Error(std::move(f));
}

void FaultLog::other_length(std::uint64_t key, std::uint64_t begin, std::uint64_t kept,
                            const std::string& cache) const {
  throw Error(Fault{
      .kind = FaultKind::stale,
      .id = "ctf.other-length",
      .at = {.file = context_.file, .byte = begin, .line = context_.line_of(begin), .column = 1, .has_byte = true},
      .what = "sequence " + context_.key_text(key) + " does not have " + counted(kept, "sample") +
              ", as the index cache says",
      .hint = "delete " + cache + "; it is built again"});
}

}  // namespace batchfeed::ctf
