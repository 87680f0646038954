// SPDX-License-Identifier: MIT
//
// Which format a file is in, by its first bytes.
#include <batchfeed/tools.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/byte_order_mark.h"
#include "io/file.h"
#include "text/trim.h"
#include "tools/refuse.h"

namespace batchfeed {

namespace {

constexpr std::size_t kHead = 64u << 10;
constexpr std::size_t kLines = 64;  // the most lines of a text file that are looked at

std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t n, bool big_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < n; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + (big_endian ? i : n - 1 - i)]);
  return value;
}

// An HTK header: int32 samples, int32 period, int16 bytes of a sample, int16 kind; then the samples.
bool is_htk(std::string_view head, std::uint64_t size, bool big_endian) {
  if (head.size() < 12) return false;
  const std::uint64_t samples = number(head, 0, 4, big_endian), each = number(head, 8, 2, big_endian);
  if (samples == 0 || each == 0 || samples > size) return false;
  const std::uint64_t data = samples * each;
  return size >= 12 + data && size <= 12 + data + 64 && (number(head, 10, 2, big_endian) & 0x3F) <= 13;
}

// Kaldi's binary mark "\0B" stands in front of an object; in an archive, behind its key and a blank.
bool is_kaldi(std::string_view head) {
  if (head.starts_with(std::string_view("\0B", 2))) return true;
  const std::size_t mark = head.substr(0, 4096).find(std::string_view(" \0B", 3));
  return mark != std::string_view::npos && head.substr(0, mark).find('\n') == std::string_view::npos;
}

// [id] |name ... or [id] |# comment
bool is_ctf_line(std::string_view line) {
  const std::size_t pipe = line.find('|');
  if (pipe == std::string_view::npos || pipe + 1 == line.size()) return false;
  const std::string_view id = text::trimmed(line.substr(0, pipe));
  return id.find_first_of("=[](){}\"") == std::string_view::npos && static_cast<unsigned char>(line[pipe + 1]) > 0x20;
}

bool is_word(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), letter);
}

// A line of a configuration: key = [, key = value, a comment, or only brackets.
bool is_config_line(std::string_view line) {
  if (line[0] == '#' || line.find_first_not_of("[](){} \t;") == std::string_view::npos) return true;
  const std::size_t equals = line.find('=');
  if (line.starts_with("include")) return true;
  if (equals == std::string_view::npos || !is_word(text::trimmed(line.substr(0, equals)))) return false;
  const std::string_view value = text::trimmed(line.substr(equals + 1));
  // `key=path[0,9]` is a line of an scp file.
  return value.empty() || value.back() != ']' || value.find('[') == 0 || line.find(" = ") != std::string_view::npos;
}

// Whether a line has index:value pairs, such as "1 3:0.5 7:1" of svmlight, and so holds no path.
bool has_pairs(std::string_view line) {
  for (std::size_t at = line.find(':'); at != std::string_view::npos; at = line.find(':', at + 1)) {
    const std::size_t before = line.substr(0, at).find_last_not_of("0123456789");
    if (before != std::string_view::npos && before + 1 < at && line[before] == ' ') return true;
  }
  return false;
}

bool is_number(std::string_view text) { return text.find_first_not_of("0123456789.+-eE") == std::string_view::npos; }

// Whether text may be a path: dir/name, or a name with an extension, but neither a row of a table nor prose.
bool is_path(std::string_view text) {
  if (text.find_first_of(",;\t") != std::string_view::npos) return false;
  if (text.find('/') != std::string_view::npos) return true;
  return text.find('.') != std::string_view::npos && text.find(' ') == std::string_view::npos && !is_number(text);
}

bool is_scp_line(std::string_view line) {
  if (line.find('|') != std::string_view::npos || line[0] == '#' || has_pairs(line)) return false;
  const std::size_t equals = line.find('=');
  if (equals != std::string_view::npos && line.back() == ']') return true;
  return line.find_first_of("=[]{}\"") == std::string_view::npos && is_path(line);
}

// A line of a Kaldi list: key path[:offset][range]; or of a text archive: key [ numbers, or key and integers.
bool is_kaldi_line(std::string_view line) {
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos || line.find('=') != std::string_view::npos || line[0] == '"') return false;
  if (has_pairs(line) && is_number(line.substr(0, blank))) return false;
  const std::string_view rest = text::trimmed(line.substr(blank));
  if (rest == "[" || rest.starts_with("[ ")) return true;
  if (rest.find_first_not_of("0123456789 \t") == std::string_view::npos) return line[0] > '9' || line[0] < '0';
  if (rest.find_first_of(" \t|{}\"") != std::string_view::npos) return false;
  return rest.find_first_of("/.:") != std::string_view::npos && !is_number(rest);
}

// Binary data can look like a line of any format by chance; control characters show that it is not text.
bool has_controls(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; });
}

Format of_text(std::string_view head) {
  head.remove_prefix(utf8_mark_bytes(head));
  if (head.starts_with("#!MLF!#")) return Format::mlf;
  std::size_t ctf = 0, config = 0, scp = 0, kaldi = 0, lines = 0;
  while (!head.empty() && lines < kLines) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    const std::string_view line = text::trimmed(head.substr(0, end));
    head.remove_prefix(std::min(end + 1, head.size()));
    if (line.empty()) continue;
    ++lines;
    if (has_controls(line)) continue;
    if (is_ctf_line(line)) {
      ++ctf;
    } else if (is_config_line(line)) {
      ++config;
    } else if (is_kaldi_line(line)) {
      ++kaldi;
      if (line.back() == '[') return Format::kaldi;  // rows of a matrix follow
    } else if (is_scp_line(line)) {
      ++scp;
    }
  }
  const std::size_t most = std::max({ctf, config, scp, kaldi});
  if (most == 0 || most * 2 < lines) return Format::unknown;
  return most == ctf ? Format::ctf : most == config ? Format::config : most == kaldi ? Format::kaldi : Format::scp;
}

Format of_name(const std::string& path) {
  static constexpr std::array<std::pair<std::string_view, Format>, 10> kExtensions = {{{".ctf", Format::ctf},
                                                                                       {".cbf", Format::cbf},
                                                                                       {".scp", Format::scp},
                                                                                       {".mlf", Format::mlf},
                                                                                       {".ark", Format::kaldi},
                                                                                       {".cntk", Format::config},
                                                                                       {".htk", Format::htk},
                                                                                       {".mfc", Format::htk},
                                                                                       {".fea", Format::htk},
                                                                                       {".plp", Format::htk}}};
  std::filesystem::path name = path;
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  const std::string extension = name.extension().string();
  for (const auto& [known, format] : kExtensions) {
    if (extension == known) return format;
  }
  return Format::unknown;
}

}  // namespace

FirstBytes first_bytes(const std::string& path, std::size_t most, const Limits& limits) {
  io::Head head = io::read_head(path, most, {}, limits);
  const bool compressed = head.size == 0 && !head.bytes.empty();  // read_head() gives size 0 for compressed files
  const bool whole = head.bytes.size() < most;
  return {.bytes = std::move(head.bytes), .compressed = compressed, .whole = whole};
}

Format detect_format(const std::string& path, const FileSystem& file_system, const Limits& limits) {
  const auto [head, size] = io::read_head(path, kHead, file_system, limits);
  if (head.starts_with("nib_ktnc") || head.starts_with(std::string_view("\1\0\0\0\0\0\0\0", 8))) return Format::cbf;
  if (head.starts_with(std::string_view("MLF\1\0", 5)) || head.starts_with(std::string_view("MLF\2\0", 5)))
    return Format::mlf;
  if (is_kaldi(head)) return Format::kaldi;
  if (is_htk(head, size, true) || is_htk(head, size, false)) return Format::htk;
  const Format format = of_text(head);
  const Format named = of_name(path);
  // A damaged line of an scp list may look like an assignment of a configuration: then the file's extension decides.
  return format == Format::unknown || (format == Format::config && named == Format::scp) ? named : format;
}

Format detect_format(const std::vector<std::string>& files, const FileSystem& file_system, const Limits& limits) {
  if (files.empty()) refuse("infer.no-file", {}, "no file is given", "name at least one");
  const Format first = detect_format(files[0], file_system, limits);
  if (first != Format::ctf && first != Format::cbf) return first;
  const auto words = [](Format format) { return format == Format::ctf ? "text" : "binary"; };
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (is_url(files[i])) continue;  // looking at it would cost a request
    const Format other = detect_format(files[i], file_system, limits);
    if (other == first || (other != Format::ctf && other != Format::cbf)) continue;
    refuse("infer.mixed-formats", files[i],
           std::string("is in the ") + words(other) + " format, '" + files[0] + "' in the " + words(first) + " format",
           "the files of one corpus are read one after the other and are of one format");
  }
  return first;
}

}  // namespace batchfeed
