// SPDX-License-Identifier: MIT
#include "looks.h"

#include <batchfeed/tools.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "command.h"
#include "format.h"
#include "in_memory.h"

namespace batchfeed::cli {

bool looks_like_config(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  return extension == ".cntk" || extension == ".cfg" || extension == ".config";
}

namespace {

constexpr std::size_t kLookedAt = 1u << 16;  // bytes of a file that are looked at

Error unusable(const std::string& file, std::string what, std::string hint) {
  return Error(Fault{.kind = FaultKind::usage,
                     .id = "cli.not-a-corpus",
                     .at = {.file = file},
                     .what = std::move(what),
                     .hint = std::move(hint)});
}

// Whether text may be UTF-16 without a byte order mark: every other byte of ASCII characters is 0.
bool looks_like_utf16(std::string_view head) {
  std::size_t zeros[2] = {0, 0};
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\0') ++zeros[i % 2];
  }
  const auto [few, many] = std::minmax(zeros[0], zeros[1]);
  return few == 0 && many > head.size() / 3;
}

// A hint what a file with this beginning may be, and what to do with it.
std::string way_out(const std::string& head) {
  if (looks_like_utf16(head)) {
    return fmt::format("text in UTF-16? convert it, for example with iconv -f UTF-16{} -t UTF-8",
                       head[0] == '\0' ? "BE" : "LE");
  }
  const auto is_text = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\r' || c == '\t';
  };
  const std::string line = head.substr(0, head.find('\n'));
  if (std::all_of(head.begin(), head.end(), is_text) && line.size() < head.size()) {
    const bool is_markup = line.find_first_of("{[<|") != std::string::npos;
    const bool is_numbers = line.find_first_not_of("0123456789.+-eE \t\r") == std::string::npos;
    if (!is_markup && (is_numbers || line.find_first_of(",;\t") != std::string::npos))
      return "a table? from_pandas() of the Python package takes one; in a text corpus a row is |x 1 2 |y 3";
    if (!is_markup && line.find(':') != std::string::npos && line.find_first_of("0123456789+-") == 0)
      return "svmlight? from_svmlight() of the Python package takes it; in a text corpus a row is |x 3:0.5 |y 1";
    if (head.find_first_of(" \t") == std::string::npos && std::count(head.begin(), head.end(), '\n') > 1)
      return "a word a line: as --state-list it names the classes of MLF labels";
  }
  return {};
}

bool is_corpus(const std::string& path, const Limits& limits) {
  const Format format = detect_format(path, {}, limits);
  return format == Format::ctf || format == Format::cbf || format == Format::htk || format == Format::mlf;
}

}  // namespace

void expect_config(const std::string& first, const CorpusArguments& arguments) {
  if (!is_corpus(first, arguments.limits())) return;
  throw unusable(
      first,
      std::string("is no configuration, which ") + (arguments.section.empty() ? "--set" : "--section") + " is for",
      "leave it out");
}

void expect_no_overrides(const std::vector<std::string>& files) {
  constexpr std::string_view kConfigFile = "configfile=";
  for (const std::string& file : files) {
    std::error_code none;
    const std::size_t equals = file.find('=');
    if (equals == 0 || equals == file.npos || std::filesystem::exists(file, none)) continue;
    std::string beginning = file.substr(0, kConfigFile.size());
    for (char& c : beginning) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const std::string whole = printable(file, std::string::npos);
    if (beginning == kConfigFile) {
      throw UsageError(fmt::format("'{}': there is no such file; hint: give the name alone: {}", whole,
                                   whole.substr(kConfigFile.size())));
    }
    const bool word = file.find_first_of("/.*?") > equals;
    if (word && files.size() > 1 && std::any_of(files.begin(), files.end(), looks_like_config))
      throw UsageError(fmt::format("'{0}' is configuration text, not a file; hint: --set '{0}'", whole));
  }
}

void expect_of_one_kind(const CorpusArguments& arguments) {
  const std::vector<std::string>& files = arguments.files;
  const auto config = std::find_if(files.begin(), files.end(), looks_like_config);
  if (config == files.end() || files.size() == 1) return;
  for (const std::string& file : files) {
    if (looks_like_config(file) || !is_corpus(file, arguments.limits())) continue;
    throw UsageError(
        fmt::format("{} is a configuration, {} is a corpus; hint: a configuration names its files itself: give one "
                    "or the other",
                    printable(*config), printable(file)));
  }
}

Error not_a_corpus(const std::string& path, const Limits& limits) {
  const std::string way = way_out(first_bytes(path, kLookedAt, limits).bytes);
  return unusable(path, "neither a configuration nor a corpus in a known format",
                  !way.empty() ? way
                               : "name a .cntk configuration, a file in CNTK's text or binary format, HTK features "
                                 "(scp), MLF labels or Kaldi files");
}

Error no_stream(const std::string& path, const Limits& limits) {
  const std::string way = way_out(first_bytes(path, kLookedAt, limits).bytes);
  return unusable(path, "no stream (|name ...) found in it",
                  !way.empty() ? way : "name a .cntk configuration, or a file in CNTK's text format");
}

}  // namespace batchfeed::cli
