// SPDX-License-Identifier: MIT
//
// A section: keys in case-insensitive order, each with its raw text. Nested
// sections stay text until they are asked for; then $variables$ are replaced in
// the scope of the container, and the text is parsed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/document.h"

namespace batchfeed::config {

struct Entry {
  std::string key;             // as first spelled
  Text value;                  // raw
  Origin key_at = 0;           // of the latest assignment
  Origin first_at = 0;         // of the first one
  std::string other_spelling;  // set if the same file spells the key in another case too
  Origin other_at = 0;
};

// A key found in a section or one that encloses it.
struct Value {
  Text text;         // expanded
  std::string path;  // "Test.reader.file", of the section that was asked
  Origin key_at = 0;
  bool inherited = false;
  Origin at() const noexcept { return text.empty() ? key_at : text.origin(0); }
  bool is_default() const noexcept { return text.bytes() == "default"; }
};

// Whether a key is the rest of a list or a number that a delimiter has cut, as `512` is in `minibatchSize = 256,512`,
// and `:` in `files = "a":"b"`.
bool is_cut_off(std::string_view key);

class Section {
 public:
  // The whole document.
  explicit Section(Document& doc);
  // `parent` is where lookup goes on; null for elements of an array.
  Section(Document& doc, const Text& text, const Section* parent, std::string path, Origin at);

  Document& doc() const noexcept { return *doc_; }
  const std::string& path() const noexcept { return path_; }
  const Section* parent() const noexcept { return parent_; }
  Origin at() const noexcept { return at_; }  // of the key that holds it
  std::string path_of(std::string_view key) const;

  // By lower-cased key: the order in which a section is enumerated.
  const std::map<std::string, Entry>& entries() const noexcept { return entries_; }
  const Entry* entry(std::string_view key) const;  // this section only
  bool has(std::string_view key) const { return entry(key) != nullptr; }

  // Moves the raw text of a key out: for code that looks at each section once, so that nested text is not kept on every
  // level.
  Text take(const std::string& lower_key) { return std::exchange(entries_.at(lower_key).value, {}); }

  std::optional<Value> own(std::string_view key) const;
  std::optional<Value> find(std::string_view key) const;  // outwards to the root

  // The section held by a key of this one.
  const Section& child(std::string_view key) const;
  // The elements of an array of sections; they inherit from nobody.
  std::vector<const Section*> elements(std::string_view key, const Value& array) const;

 private:
  void parse(const Text& text);
  void insert(std::string_view key, Text value, Origin key_at, bool flag);
  void warn_of_odd(std::string_view key, std::string_view value, Origin key_at, bool flag) const;
  void warn_of_repeat(std::string_view key, std::string_view old, Origin old_at, std::string_view value,
                      Origin key_at) const;

  Document* doc_;
  const Section* parent_ = nullptr;
  std::string path_;
  Origin at_ = 0;
  std::map<std::string, Entry> entries_;
  mutable std::map<std::string, const Section*> children_;
};

// `text` with every $name$ replaced by what `scope` or its ancestors say.
// Throws Error: unknown variable, several lines, a loop, a limit.
Text expand(const Section& scope, const Text& text);

}  // namespace batchfeed::config
