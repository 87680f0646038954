// SPDX-License-Identifier: MIT
#include "class_names.h"

#include <batchfeed/tools.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

#include "convert.h"
#include "format.h"

namespace batchfeed::cli {

namespace {

constexpr std::size_t kLook = 16u << 20;  // bytes of a text that are looked at
constexpr std::size_t kStreams = 32;      // the most streams of a file; each takes a pass over these bytes
constexpr std::uint64_t kMostNamed = 1u << 20;

bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view skip_blanks(std::string_view text) noexcept {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  return text;
}

// The comment at the beginning of `text`: up to the next '|'; "|#" in it stands for a '|'.
std::string comment_of(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '|') {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '#') {
      out += '|';
      ++i;
    } else {
      break;
    }
  }
  while (!out.empty() && blank(out.back())) out.pop_back();
  return out.substr(out.size() - skip_blanks(out).size());
}

// Parses "178:1 |# flight" into index and name. False for anything else.
bool named_entry(std::string_view sample, std::uint64_t& index, std::string& name) {
  sample = skip_blanks(sample);
  const auto digits = std::from_chars(sample.data(), sample.data() + sample.size(), index);
  if (digits.ec != std::errc() || digits.ptr == sample.data() + sample.size() || *digits.ptr != ':') return false;
  sample.remove_prefix(static_cast<std::size_t>(digits.ptr - sample.data()) + 1);
  sample.remove_prefix(std::min(sample.find_first_of(" \t\r|"), sample.size()));  // the value
  sample = skip_blanks(sample);
  if (!sample.starts_with("|#")) return false;
  name = comment_of(sample.substr(2));
  return !name.empty();
}

// The names that comments give to indices below `dim`, as converters of vocabularies write
// them: `|NAME 178:1 |# flight`. Empty if an index has different names, or if none is named twice: then nothing
// shows that comments name classes.
std::vector<std::string> commented_names(std::string_view text, std::string_view name, std::uint64_t dim) {
  std::vector<std::string> out;
  if (dim > kMostNamed) return out;
  out.resize(static_cast<std::size_t>(dim));
  bool repeated = false;
  std::uint64_t index = 0;
  std::string said;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    for (std::size_t at = line.find('|'); at != line.npos; at = line.find('|', at + 1)) {
      const std::string_view sample = line.substr(at + 1);
      if (!sample.starts_with(name) || sample.size() == name.size() || !blank(sample[name.size()])) continue;
      if (!named_entry(sample.substr(name.size()), index, said) || index >= dim) continue;
      std::string& known = out[static_cast<std::size_t>(index)];
      if (!known.empty() && known != said) return {};  // the comments are not the names of classes
      repeated = repeated || !known.empty();
      known = said;
    }
  }
  return repeated ? out : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> class_names(const StreamSurvey& stream, const Setup& setup) {
  if (!stream.one_hot || stream.stream.storage != Storage::sparse) return {};
  if (std::vector<std::string> names = label_names({}, setup, {stream.stream.name}); !names.empty()) return names;
  for (const SourceOptions& source : setup.sources) {
    const auto* ctf = std::get_if<CtfOptions>(&source);
    if (ctf == nullptr) continue;
    for (const StreamSpec& spec : std::span(ctf->streams).first(std::min(kStreams, ctf->streams.size()))) {
      if (spec.name != stream.stream.name) continue;
      const std::string file = expand_files(ctf->files, {}, setup.limits).front();
      return commented_names(first_bytes(file, kLook, setup.limits).bytes, spec.alias.empty() ? spec.name : spec.alias,
                             stream.stream.dim);
    }
  }
  return {};
}

std::string class_text(std::uint64_t index, const std::vector<std::string>& names) {
  std::string number = std::to_string(index);
  if (index >= names.size() || names[static_cast<std::size_t>(index)].empty()) return number;
  return number + ' ' + printable(names[static_cast<std::size_t>(index)], 40);
}

}  // namespace batchfeed::cli
