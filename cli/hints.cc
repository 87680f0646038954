// SPDX-License-Identifier: MIT
#include "hints.h"

#include <batchfeed/hint.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "format.h"

namespace batchfeed::cli {

namespace {

// Names in hints, and the options or commands of other names that stand for them.
constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
    {"path_map", "map-path"}, {"epoch_samples", "epoch-size"}, {"reader_section()", "schema()"}, {"roots", "root"}};

// Keys of a configuration are left as they are. They have a capital letter, except for these.
constexpr std::string_view kKeys[] = {"truncated", "format", "nbruttsineachrecurrentiter"};

// The command whose options hints name.
const CLI::App* running = nullptr;

bool is_key(std::string_view name) {
  return std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) ||
         std::find(std::begin(kKeys), std::end(kKeys), name) != std::end(kKeys);
}

// Quoted for a shell if necessary; a name with a single quote is not handled.
std::string quoted_for_shell(std::string_view value) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./,:=+@%";
  const std::string text(value);
  return value.find_first_not_of(kPlain) == value.npos ? text : '\'' + text + '\'';
}

std::string flag(std::string_view name, std::string_view value) {
  if (is_key(name)) return std::string(name) + (value.empty() ? "" : " = ") + std::string(value);
  for (const auto& [ours, commands] : kOthers) {
    if (name == ours) name = commands;
  }
  if (name.ends_with("()")) return "batchfeed " + std::string(name.substr(0, name.size() - 2));
  if (name == "keys" && value == "text") return "hashSequenceKeys = false";  // keys are hashed only in a configuration
  std::string out = "--" + std::string(name);
  std::replace(out.begin(), out.end(), '_', '-');
  if (running != nullptr && running->get_option_no_throw(out) == nullptr) {
    if (name == "keys") out = "batchfeed convert --keys";
    if (name == "shuffle_memory") out = "--memory";
  }
  return value.empty() ? out : out + ' ' + quoted_for_shell(value);
}

}  // namespace

void set_running(const CLI::App& command) { running = &command; }

Fault in_flags(Fault fault) {
  fault.hint = with_names(fault.hint, flag);
  // "raise limits.line_bytes" becomes --raise line_bytes=N
  constexpr std::string_view kRaise = "raise limits.";
  if (const std::size_t at = fault.hint.find(kRaise); at != std::string::npos) {
    const std::size_t begin = at + kRaise.size();
    const std::size_t end =
        std::min(fault.hint.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin), fault.hint.size());
    fault.hint.insert(end, "=N");
    fault.hint.replace(at, kRaise.size(), "allow more with --raise ");
  }
  return fault;
}

std::string message_text(const Fault& fault) {
  // A message can be as long as a name from a file. If it is too long its middle is cut, as the place is in front and
  // the hint at the end.
  constexpr std::size_t kMost = 4096, kEnd = 1024;
  const std::string text = in_flags(fault).text();
  if (text.size() <= kMost) return printable(text, std::string::npos);
  const std::string_view whole = text;
  return printable(whole.substr(0, kMost - kEnd), std::string::npos) +
         fmt::format(" [{} left out] ", plural(whole.size() - kMost, "byte")) +
         printable(whole.substr(whole.size() - kEnd), std::string::npos);
}

std::string finding_text(const Notice& notice) {
  Fault fault = notice.fault;
  if (notice.severity == Severity::warning) fault.what = "warning: " + fault.what;
  return message_text(fault);
}

}  // namespace batchfeed::cli
