// SPDX-License-Identifier: MIT
//
// $variables$: textual, line by line, in the scope of the container of the text.
#include <algorithm>
#include <utility>

#include "config/parse.h"
#include "config/section.h"

namespace batchfeed::config {
namespace {

constexpr std::string_view kNotInNames = " \t,/<>?;':\"[]{}\\|!@#%^&*()+=~`";

// Expansion recurses for variables that hold variables, and the stack is bounded even if config_depth is raised.
constexpr std::size_t kDeepest = 1000;

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Expander {
 public:
  explicit Expander(const Section& scope) : scope_(scope), doc_(scope.doc()) {}

  // Appends bytes [begin, end) of `text`, a line or a part of one, expanded.
  // `at` is where expanded bytes come from: the outermost '$'.
  void line(const Text& text, std::size_t begin, std::size_t end, const Origin* at, Text& out) {
    const std::string_view bytes = text.bytes().substr(0, end);
    std::size_t done = begin;
    for (std::size_t dollar = bytes.find('$', begin); dollar != std::string_view::npos;
         dollar = bytes.find('$', dollar + 1)) {
      const std::size_t close = bytes.find('$', dollar + 1);
      if (close == std::string_view::npos) break;
      const std::string_view name = bytes.substr(dollar + 1, close - dollar - 1);
      if (name.empty() || !starts_name(name.front()) || name.find_first_of(kNotInNames) != std::string_view::npos)
        continue;
      copy(text, done, dollar, at, out);
      done = close + 1;
      try {
        replace(name, at != nullptr ? *at : text.origin(dollar), out);
      } catch (const Error& error) {
        // Inside a variable's text (`at` is set) only the first fault is told: all would be at the same place, and
        // there may be any number of them.
        if (at != nullptr || error.fault().kind == FaultKind::limit) throw;
        doc_.hold(error);
        active_.clear();
        done = dollar;  // the variable stays as it is written
      }
      dollar = close;
    }
    copy(text, done, end, at, out);
  }

 private:
  static void copy(const Text& text, std::size_t begin, std::size_t end, const Origin* at, Text& out) {
    if (at == nullptr) {
      out.append(text, begin, end);
    } else if (begin < end) {
      out.append_at(text.bytes().substr(begin, end - begin), *at);
    }
  }

  void replace(std::string_view name, Origin at, Text& out) {
    const std::string key = lower(name);
    if (const auto loop = std::find(active_.begin(), active_.end(), key); loop != active_.end()) {
      std::string chain;
      for (auto i = loop; i != active_.end(); ++i) chain += '$' + *i + "$ -> ";
      doc_.fail(at, "variable-loop", "variable '" + key + "' is defined by itself: " + chain + '$' + key + '$',
                "give one of them a plain value");
    }
    if (active_.size() >= doc_.limits().config_depth) {
      doc_.over_limit(at, "config_depth", doc_.limits().config_depth,
                      "variables that hold variables are nested too deep");
    }
    if (active_.size() >= kDeepest) {
      doc_.fail(at, "variable-depth",
                "variables that hold variables are nested more than " + std::to_string(kDeepest) + " deep",
                "give some of them plain values");
    }
    const Section* section = &scope_;
    const Entry* found = nullptr;
    for (; section != nullptr && found == nullptr; section = section->parent()) found = section->entry(key);
    if (found == nullptr) unknown(name, at);
    if (found->value.bytes().find('\n') != std::string_view::npos) {
      doc_.fail(at, "multiline-variable", "variable '" + std::string(name) + "' stands for a text of several lines",
                "write its value on one line, entries separated by ';'");
    }
    doc_.count_expansion(at, found->value.size());
    active_.push_back(key);
    line(found->value, 0, found->value.size(), &at, out);
    active_.pop_back();
  }

  [[noreturn]] void unknown(std::string_view name, Origin at) {
    std::string hint = "define it at the top level of the file or with `set = " + std::string(name) + "=...`";
    // why: users expect that variables of the section being read count, too.
    hint += "; a variable defined inside the section that is being read does not count";
    doc_.fail(at, "unknown-variable", "no variable '" + std::string(name) + "' is known here", std::move(hint));
  }

  const Section& scope_;
  Document& doc_;
  std::vector<std::string> active_;
};

// Removes the comment of an expanded line: text of the command line and of variables may still have one.
Text without_comment(const Text& line) {
  const std::string_view bytes = line.bytes();
  const std::size_t hash = bytes.find('#');
  if (hash == std::string_view::npos || hash == 0 || !is_blank(bytes[hash - 1])) return line;
  const std::size_t first = std::min(bytes.find_first_not_of(" \t"), hash);
  return line.slice(first, hash);
}

}  // namespace

Text expand(const Section& scope, const Text& text) {
  if (text.bytes().find_first_of("$#") == std::string_view::npos) return text;
  Expander expander(scope);
  Text out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.bytes().find('\n', begin), text.size());
    Text line;
    expander.line(text, begin, end, nullptr, line);
    out.append(without_comment(line));
    if (end < text.size()) out.append(text, end, end + 1);
    begin = end + 1;
  }
  return out;
}

}  // namespace batchfeed::config
