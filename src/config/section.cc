// SPDX-License-Identifier: MIT
#include "config/section.h"

#include <memory>
#include <utility>

#include "config/parse.h"

namespace batchfeed::config {
namespace {

// Whether a key without a value holds punctuation: then the text was probably meant to be cut elsewhere.
bool odd_flag(std::string_view key) {
  if (key == "...") return false;  // documentation snippets
  for (const char c : key) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    if (!plain) return true;
  }
  return false;
}

// The value of an entry of `scope` with its variables replaced. A comment from the command line, cut there, may leave
// a blank behind the value.
Text expanded(const Section& scope, const Entry& entry) {
  const Text text = expand(scope, entry.value);
  const Span inner = trim(text.bytes(), {0, text.size()});
  return inner.size() == text.size() ? text : text.slice(inner.begin, inner.end);
}

}  // namespace

bool is_cut_off(std::string_view key) {
  return key.starts_with(':') || (!key.empty() && key.find_first_not_of("0123456789.:* ") == key.npos &&
                                  key.find_first_of("0123456789") != key.npos);
}

Section::Section(Document& doc) : doc_(&doc) { parse(doc.text()); }

Section::Section(Document& doc, const Text& text, const Section* parent, std::string path, Origin at)
    : doc_(&doc), parent_(parent), path_(std::move(path)), at_(at) {
  // why a limit: each key and each section inside stores its own path, which begins with this one.
  if (path_.size() > doc.limits().name_bytes) {
    doc.over_limit(at, "name_bytes", doc.limits().name_bytes,
                   "the path of a section has " + std::to_string(path_.size()) + " bytes");
  }
  parse(text);
}

void Section::parse(const Text& text) {
  for (const Record& record : scan_section(*doc_, text)) {
    const std::string_view key = text.bytes().substr(record.key.begin, record.key.size());
    const Origin key_at = text.origin(record.key.begin);
    if (record.flag) {
      Text yes;
      yes.append_at("true", key_at);
      insert(key, std::move(yes), key_at, true);
    } else {
      insert(key, text.slice(record.value.begin, record.value.end), key_at, false);
    }
  }
}

// Warns of keys that were hardly meant as keys.
void Section::warn_of_odd(std::string_view key, std::string_view value, Origin key_at, bool flag) const {
  if (is_cut_off(key)) {
    doc_->warn(key_at, "odd-key", "this belongs to no value any more and is taken as a key of its own: " + quoted(key),
               "',' and ';' end a value, and so do quotes and brackets: put a list in ( ), with ':' between its "
               "elements, and no separator into a number");
    return;
  }
  if (flag && odd_flag(key)) {
    doc_->warn(key_at, "odd-flag", "text without '=' is taken as a key of its own: " + quoted(key),
               key.size() == 1 && (key == "}" || key == "]" || key == ")")
                   ? "remove the bracket; it closes nothing"
                   : "quote the value it belongs to, or remove it");
  }
  if (!flag && key.find_first_of("]})") != std::string_view::npos) {
    doc_->warn(key_at, "odd-key", "a key holds a closing bracket: " + quoted(key),
               "remove the bracket; it closes nothing");
  }
  if (!flag && same_word(key, "include") && !value.starts_with('[') && !value.starts_with('{')) {
    doc_->warn(
        key_at, "not-included", quoted(key) + " is a key like any other here; no file is read for it",
        "write " + quoted("include=" + std::string(value)) + " from the first column on, without blanks or quotes");
  }
}

// Warns of a key that one file gives twice; the new `value` replaces the old one, or is appended if it is a section.
void Section::warn_of_repeat(std::string_view key, std::string_view old, Origin old_at, std::string_view value,
                             Origin key_at) const {
  const std::string line = std::to_string(doc_->map().position(old_at).line);
  const bool merges = value.starts_with('[');
  if (merges && !old.starts_with('[') && !old.starts_with('{')) {
    doc_->warn(key_at, "merge-odd", "section " + quoted(key) + " is joined to the plain value of line " + line,
               "give the key one kind of value");
  } else if (value.starts_with('{')) {
    doc_->warn(key_at, "merge-braces", quoted(key) + " in braces replaces all of what line " + line + " says",
               "write [ ] instead of { } to add to the section");
  } else if (!merges) {
    doc_->warn(key_at, "duplicate-key",
               "key " + quoted(key) + " is given again; the value of line " + line + " is lost", "keep one of them");
  }
}

void Section::insert(std::string_view key, Text value, Origin key_at, bool flag) {
  warn_of_odd(key, value.bytes(), key_at, flag);
  auto [at, is_new] = entries_.try_emplace(lower(key));
  Entry& entry = at->second;
  if (is_new) {
    entry.key = std::string(key);
    entry.first_at = key_at;
  }
  const SourceMap& map = doc_->map();
  const bool same_file = !is_new && map.file(entry.key_at) == map.file(key_at);
  if (same_file && key != entry.key && entry.other_spelling.empty()) {
    entry.other_spelling = std::string(key);
    entry.other_at = key_at;
  }
  const Origin before = std::exchange(entry.key_at, key_at);
  if (is_new || entry.value.empty()) {
    entry.value = std::move(value);
    return;
  }
  if (same_file) warn_of_repeat(key, entry.value.bytes(), before, value.bytes(), key_at);
  if (value.bytes().starts_with('[')) {
    entry.value.append_at(" ", key_at);
    entry.value.append(value);
  } else {
    entry.value = std::move(value);
  }
}

std::string Section::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + '.' + std::string(key);
}

const Entry* Section::entry(std::string_view key) const {
  const auto at = entries_.find(lower(key));
  return at == entries_.end() ? nullptr : &at->second;
}

std::optional<Value> Section::own(std::string_view key) const {
  const Entry* found = entry(key);
  if (found == nullptr) return std::nullopt;
  return Value{.text = expanded(*this, *found), .path = path_of(key), .key_at = found->key_at};
}

std::optional<Value> Section::find(std::string_view key) const {
  const std::string name = lower(key);
  for (const Section* section = this; section != nullptr; section = section->parent_) {
    const auto at = section->entries_.find(name);
    if (at == section->entries_.end()) continue;
    return Value{.text = expanded(*section, at->second),
                 .path = path_of(key),
                 .key_at = at->second.key_at,
                 .inherited = section != this};
  }
  return std::nullopt;
}

const Section& Section::child(std::string_view key) const {
  const std::string name = lower(key);
  if (const auto at = children_.find(name); at != children_.end()) return *at->second;
  const Entry& found = entries_.at(name);
  const Section& made = doc_->keep(
      std::make_unique<Section>(*doc_, expand(*this, found.value), this, path_of(found.key), found.first_at));
  children_.emplace(name, &made);
  return made;
}

std::vector<const Section*> Section::elements(std::string_view key, const Value& array) const {
  std::vector<const Section*> out;
  for (const Text& element : scan_array(*doc_, array.text)) {
    if (out.size() >= doc_->limits().streams) {
      doc_->over_limit(element.origin(0), "streams", doc_->limits().streams,
                       path_of(key) + ": the list has too many sections");
    }
    if (!element.bytes().starts_with('[') && !element.bytes().starts_with('{') && !element.bytes().starts_with('(')) {
      doc_->warn(element.origin(0), "array-of-sections",
                 path_of(key) + ": an element is no section: " + quoted(element.bytes()),
                 "put the list in ( ), each section in [ ], and ':' between them");
    }
    std::string path = path_of(key) + '[' + std::to_string(out.size()) + ']';
    out.push_back(&doc_->keep(std::make_unique<Section>(*doc_, element, nullptr, std::move(path), element.origin(0))));
  }
  return out;
}

}  // namespace batchfeed::config
