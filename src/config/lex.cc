// SPDX-License-Identifier: MIT
//
// Files and command-line texts to one joined text: byte order mark, line ends,
// comments, includes (docs/reference/config-language.md, "From files to text").
#include <algorithm>
#include <set>
#include <utility>

#include "base/byte_order_mark.h"
#include "config/document.h"
#include "config/parse.h"

namespace batchfeed::config {

class Lexer {
 public:
  Lexer(Document& doc, const Open& open) : doc_(doc), open_(open) {}

  void file(const std::string& path, const Position& from) {
    if (++files_ > doc_.limits_.config_includes) {
      throw Error({.kind = FaultKind::limit,
                   .id = "config.limit",
                   .at = from,
                   .what = "too many configuration files: above the limit config_includes = " +
                           std::to_string(doc_.limits_.config_includes),
                   .hint = "raise limits.config_includes if the configuration is meant so"});
    }
    seen_.insert(path);
    lines_of(content_of(path, from), path);
  }

  // Comments in text of the command line are removed later: see expand().
  void argument(const Input& input) {
    const std::uint32_t id = doc_.map_.add_file(input.name);
    std::string_view rest = input.text;
    std::uint64_t line = 1;
    std::uint64_t byte = 0;
    for (bool more = true; more; ++line) {
      const std::size_t end = rest.find('\n');
      more = end != std::string_view::npos;
      const std::string_view bytes = rest.substr(0, end);
      joined_line(bytes, id, line, 1, byte);
      byte += bytes.size() + 1;
      rest.remove_prefix(more ? end + 1 : rest.size());
    }
  }

  // Notes a file that the user names: it is read at its place among the inputs, and includes of it are passed over.
  // False if it was named before.
  bool give(const std::string& path) { return seen_.insert(path).second; }
  std::string take() { return std::move(joined_); }

 private:
  std::string content_of(const std::string& path, const Position& from) const {
    try {
      return open_(path);
    } catch (const Error& error) {
      // The fault's position is the include, not the file: that may not exist.
      if (from.file.empty()) throw;
      Fault fault = error.fault();
      fault.what = "included file " + quoted(path) + ": " + fault.what;
      fault.at = from;
      throw Error(std::move(fault));
    }
  }

  void lines_of(std::string_view content, const std::string& path) {
    const std::uint32_t id = doc_.map_.add_file(path);
    if (is_utf16(content)) {
      throw Error({.kind = FaultKind::config,
                   .id = "config.utf16",
                   .at = {.file = path, .line = 1, .column = 1},
                   .what = "the file is UTF-16; a configuration is plain bytes or UTF-8",
                   .hint = "save it as UTF-8"});
    }
    std::size_t begin = utf8_mark_bytes(content);
    for (std::uint64_t line = 1; begin < content.size(); ++line) {
      const std::size_t end = std::min(content.find('\n', begin), content.size());
      std::string_view bytes = content.substr(begin, end - begin);
      if (end < content.size() && bytes.ends_with('\r')) bytes.remove_suffix(1);
      if (const std::size_t cr = bytes.find('\r'); cr != std::string_view::npos) {
        throw Error({.kind = FaultKind::config,
                     .id = "config.lone-cr",
                     .at = {.file = path, .line = line, .column = cr + 1},
                     .what = "a carriage return without a line feed",
                     .hint = "end lines with LF or CRLF"});
      }
      bytes = bytes.substr(0, bytes.find('\0'));
      file_line(bytes, id, line, begin);
      begin = end + 1;
    }
  }

  void file_line(std::string_view bytes, std::uint32_t id, std::uint64_t line, std::uint64_t byte) {
    std::size_t first = 0;
    while (first < bytes.size() && is_blank(bytes[first])) ++first;
    if (first == bytes.size() || bytes[first] == '#') return;
    const std::size_t hash = bytes.find('#');
    std::size_t skip = 0;
    if (hash != std::string_view::npos && hash > 0 && is_blank(bytes[hash - 1])) {
      bytes = bytes.substr(0, hash);
      skip = first;
    }
    joined_line(bytes.substr(skip), id, line, 1 + skip, byte + skip);
  }

  void joined_line(std::string_view bytes, std::uint32_t id, std::uint64_t line, std::uint64_t column,
                   std::uint64_t byte) {
    constexpr std::string_view kInclude = "include=";
    if (bytes.starts_with(kInclude)) {
      include(bytes.substr(kInclude.size()),
              {.file = doc_.map_.file_name(id), .byte = byte, .line = line, .column = column + kInclude.size()});
      return;
    }
    // why the second bound: an Origin, an offset in the joined text, has 32 bits.
    if (joined_.size() + bytes.size() + 1 > std::min<std::uint64_t>(doc_.limits_.config_bytes, 1u << 31)) {
      throw Error({.kind = FaultKind::limit,
                   .id = "config.limit",
                   .at = {.file = doc_.map_.file_name(id), .line = line, .column = column},
                   .what = "the configuration with its includes is too long: above the limit config_bytes = " +
                           std::to_string(doc_.limits_.config_bytes),
                   .hint = "raise limits.config_bytes if the configuration is meant so"});
    }
    doc_.map_.add_line(static_cast<Origin>(joined_.size()), id, line, column, byte);
    joined_.append(bytes);
    joined_ += '\n';
  }

  void include(std::string_view list, const Position& at) {
    if (list.find('$') != std::string_view::npos) {
      throw Error({.kind = FaultKind::config,
                   .id = "config.include-variable",
                   .at = at,
                   .what = "the name of an included file holds a '$'; variables are not replaced there",
                   .hint = "write the path out"});
    }
    while (!list.empty() && is_blank(list.back())) list.remove_suffix(1);
    while (true) {
      const std::size_t plus = list.find('+');
      const std::string path(list.substr(0, plus));
      if (seen_.contains(path)) {
        if (doc_.report_ && !doc_.quiet_) {
          doc_.report_({Severity::warning,
                        {.kind = FaultKind::config,
                         .id = "config.include-repeated",
                         .at = at,
                         .what = "file " + quoted(path) + " is read elsewhere; it is not included again",
                         .hint = {},
                         .stream = {}}});
        }
      } else {
        file(path, at);
      }
      if (plus == std::string_view::npos) break;
      list.remove_prefix(plus + 1);
    }
  }

  Document& doc_;
  const Open& open_;
  std::set<std::string> seen_;
  std::uint64_t files_ = 0;
  std::string joined_;
};

void Document::load(const std::vector<Input>& inputs, const Open& open) {
  open_ = open;
  Lexer lexer(*this, open_);
  for (const Input& input : inputs) {
    if (!input.is_file || lexer.give(input.name)) continue;
    throw Error({.kind = FaultKind::config,
                 .id = "config.same-file-twice",
                 .at = {.file = input.name},
                 .what = "the configuration file is given twice",
                 .hint = "give each file once"});
  }
  for (const Input& input : inputs) {
    if (input.is_file) {
      lexer.file(input.name, {});
    } else {
      lexer.argument(input);
    }
  }
  text_ = Text(lexer.take(), 0);
}

}  // namespace batchfeed::config
