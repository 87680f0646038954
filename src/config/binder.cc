// SPDX-License-Identifier: MIT
#include "config/binder.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/parse.h"
#include "config/schema.h"
#include "config/value.h"

namespace batchfeed::config {

namespace {
constexpr std::int32_t kTraceLevel = 1;  // the default
}

std::optional<Value> Binder::value(const Section& section, std::string_view key, Reach reach) {
  std::optional<Value> found = reach == Reach::own ? section.own(key) : section.find(key);
  if (!found) return std::nullopt;
  if (found->is_default()) return std::nullopt;
  if (found->inherited) doc_.count_copy(found->key_at, found->text.size());
  if (reach == Reach::surprising && found->inherited) {
    doc_.warn(found->key_at, "inherited-key",
              "key " + quoted(key) + " stands outside the section it belongs to; it is used for " + section.path(),
              "move it into " + section.path());
  }
  resolved_.push_back({.path = found->path,
                       .value = std::string(found->text.bytes()),
                       .at = doc_.position(found->at()),
                       .from = found->inherited ? ResolvedValue::From::enclosing : ResolvedValue::From::section});
  return found;
}

void Binder::fallback(const Section& section, std::string_view key, std::string text) {
  resolved_.push_back({.path = section.path_of(key),
                       .value = std::move(text),
                       .at = doc_.position(section.at()),
                       .from = ResolvedValue::From::fallback});
}

namespace {
// The text of a value; an empty one gets the position of its key, for messages.
Text placed(const Value& value) {
  Text text = value.text;
  if (text.empty()) text.append_at("", value.key_at);
  return text;
}
}  // namespace

template <class T, class Convert>
std::optional<T> Binder::converted(const Section& section, std::string_view key, Reach reach, Convert convert) {
  std::optional<T> out;
  attempt([&] {
    const std::optional<Value> found = value(section, key, reach);
    if (found) out = convert(doc_, placed(*found), found->path);
  });
  return out;
}

bool Binder::flag(const Section& section, std::string_view key, bool otherwise, Reach reach) {
  const auto found = converted<bool>(section, key, reach, parse_bool);
  if (!found) fallback(section, key, otherwise ? "true" : "false");
  return found.value_or(otherwise);
}

std::int32_t Binder::integer(const Section& section, std::string_view key, std::int32_t otherwise, Reach reach) {
  const auto found = converted<std::int32_t>(section, key, reach, parse_int);
  if (!found) fallback(section, key, std::to_string(otherwise));
  return found.value_or(otherwise);
}

std::optional<std::uint64_t> Binder::maybe_size(const Section& section, std::string_view key, Reach reach) {
  return converted<std::uint64_t>(section, key, reach, parse_size);
}

std::uint64_t Binder::size(const Section& section, std::string_view key, std::uint64_t otherwise, Reach reach) {
  const auto found = maybe_size(section, key, reach);
  if (!found) fallback(section, key, std::to_string(otherwise));
  return found.value_or(otherwise);
}

std::string Binder::text(const Section& section, std::string_view key, std::string otherwise) {
  attempt([&] {
    if (const std::optional<Value> found = value(section, key)) {
      otherwise = std::string(found->text.bytes());
    } else {
      fallback(section, key, otherwise);
    }
  });
  return otherwise;
}

std::uint64_t Binder::count(const Section& section, std::string_view key, std::uint64_t otherwise, Reach reach) {
  const auto found =
      converted<std::uint64_t>(section, key, reach, [](Document& doc, const Text& digits, const std::string& path) {
        if (digits.bytes().starts_with('-')) {
          doc.fail(digits.origin(0), "bad-value", path + ": expected 0 or more, found " + quoted(digits.bytes()));
        }
        return parse_size(doc, digits, path);
      });
  if (!found) fallback(section, key, std::to_string(otherwise));
  return found.value_or(otherwise);
}

std::uint64_t Binder::small_count(const Section& section, std::string_view key, std::int32_t otherwise, Reach reach,
                                  std::string hint) {
  const std::int32_t n = integer(section, key, otherwise, reach);
  attempt([&] {
    if (n >= 0) return;
    const Value given = *section.find(key);
    fail(given, "bad-value", given.path + ": expected 0 or more, found " + std::to_string(n), std::move(hint));
  });
  return static_cast<std::uint64_t>(n);
}

std::string Binder::required(const Section& section, std::string_view key, Reach reach, std::string hint) {
  const std::optional<Value> found = value(section, key, reach);
  if (!found) {
    const auto given = reach == Reach::own ? section.own(key) : section.find(key);
    if (given)
      fail(*given, "missing-required", given->path + ": a value is required, it has no default",
           hint.empty() ? "write the value that is meant" : std::move(hint));
    missing(section, key, {}, std::move(hint));
  }
  if (found->text.empty()) missing(section, key, found->key_at, std::move(hint));
  return std::string(found->text.bytes());
}

std::optional<bool> Binder::randomize(const Section& section) {
  using Word = std::optional<bool>;
  const auto found = converted<Word>(section, "randomize", Reach::outwards,
                                     [](Document& doc, const Text& word, const std::string& path) -> Word {
                                       if (same_word(word.bytes(), "none")) return std::nullopt;
                                       return parse_bool(doc, word, path);
                                     });
  if (!found) fallback(section, "randomize", "true");
  return found.value_or(true);
}

Element Binder::precision(const Section& section, bool exact) {
  Element element = Element::f32;
  attempt([&] {
    const auto is = [&](std::string_view text, std::string_view word) {
      return exact ? text == word : same_word(text, word);
    };
    const std::optional<Value> found = value(section, "precision");
    if (!found) {
      fallback(section, "precision", "float");
    } else if (is(found->text.bytes(), "double")) {
      element = Element::f64;
    } else if (!is(found->text.bytes(), "float")) {
      fail(*found, "bad-precision", found->path + ": expected float or double, found " + quoted(found->text.bytes()),
           "write precision = \"float\"");
    }
  });
  return precision_.value_or(element);
}

int Binder::trace_level(const Section& section, bool any) {
  const std::int32_t level = integer(section, "traceLevel", kTraceLevel);
  attempt([&] {
    const auto given = section.own("traceLevel");  // an inherited one is the command's, and may have other values
    if (!given || any || (level >= 0 && level <= 2)) return;
    fail(*given, "bad-value", given->path + ": expected 0, 1 or 2, found " + std::to_string(level), "2 reports most");
  });
  return std::clamp(level, 0, 2);
}

int Binder::unread_trace_level(const Section& section) {
  std::optional<Value> found;
  attempt([&] { found = value(section, "traceLevel"); });
  if (!found) {
    fallback(section, "traceLevel", std::to_string(kTraceLevel));
    return kTraceLevel;
  }
  const std::string_view digits = found->text.bytes();
  int level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (error == std::errc{} && end == digits.data() + digits.size()) return std::clamp(level, 0, 2);
  doc_.warn(found->at(), "dead-key",
            found->path + ": expected 0, 1 or 2, found " + quoted(digits) + "; it has no effect", "2 reports most");
  return kTraceLevel;
}

void Binder::expect(Form form, const Section& section, std::string_view key) {
  attempt([&] {
    const auto found = section.find(key);
    if (!found || found->is_default()) return;
    const Text text = placed(*found);
    switch (form) {
      case Form::flag: parse_bool(doc_, text, found->path); return;
      case Form::integer: parse_int(doc_, text, found->path); return;
      case Form::size: parse_size(doc_, text, found->path); return;
    }
  });
}

std::vector<std::int32_t> Binder::integers(const Section& section, std::string_view key, std::int32_t otherwise) {
  std::vector<std::int32_t> out;
  attempt([&] {
    const std::optional<Value> found = value(section, key);
    if (!found) return fallback(section, key, std::to_string(otherwise));
    for (const Text& element : scan_array(doc_, found->text))
      out.push_back(parse_int_element(doc_, element, found->path));
    if (out.empty()) fail(*found, "bad-int", found->path + ": expected numbers, found " + quoted(found->text.bytes()));
  });
  if (out.empty()) out.push_back(otherwise);
  return out;
}

void Binder::name_file(std::string path, const Position& at) {
  const bool same = !named_.empty() && *named_.back().where == at.file;
  named_.push_back({.path = std::move(path),
                    .where = same ? named_.back().where : std::make_shared<const std::string>(at.file),
                    .line = at.line,
                    .column = at.column});
}

std::vector<std::string> Binder::paths(const Value& array) {
  std::vector<std::string> out;
  for (const Text& element : scan_array(doc_, array.text)) {
    if (element.empty()) continue;
    out.emplace_back(element.bytes());
    name_file(out.back(), doc_.position(element.origin(0)));
  }
  return out;
}

std::vector<std::string> Binder::files(const Section& section, Reach reach) {
  if (const std::optional<Value> list = value(section, "files", Reach::own)) {
    if (section.has("file")) {
      fail(*list, "conflict", section.path() + ": both 'file' and 'files' are given", "keep one of them");
    }
    std::vector<std::string> out = paths(*list);
    if (out.empty()) missing(section, "files", list->key_at);
    return out;
  }
  return {required(section, "file", reach)};
}

void Binder::missing(const Section& section, std::string_view key, std::optional<Origin> at, std::string hint) {
  const std::string path = section.path_of(key);
  if (hint.empty())
    hint = "add " + std::string(key) + " = ... to " + (section.path().empty() ? "the file" : section.path());
  doc_.fail(at.value_or(section.at()), "missing-required", path + ": a value is required" + (at ? ", found none" : ""),
            std::move(hint));
}

void Binder::fail(const Value& value, std::string id, std::string what, std::string hint) {
  doc_.fail(value.at(), std::move(id), std::move(what), std::move(hint));
}

namespace {
// Whether `key` is a stream's key that streams of this reader inherit from its section (config.md 10.4).
bool is_inherited(std::string_view section, std::string_view key) {
  if (section != "HTKDeserializers" && section != "HTKMLFReader") return false;
  const auto has = [&](std::string_view streams) {
    const ConfigKey* const known = find_key(streams, key);
    return known != nullptr && !known->option.empty();
  };
  return has("speech.FEATURES") || has("speech.LABELS");
}

// Both old speech readers use one table for the keys of their streams. A note that begins "READER only" marks a key
// of one reader; true if that is not `reader`.
bool is_of_another(const ConfigKey& key, std::string_view reader) {
  const std::size_t end = key.note.find(" only");
  return !reader.empty() && end != key.note.npos && key.note.substr(0, end) != reader;
}
}  // namespace

void Binder::check_keys(const Section& section, std::string_view name, const std::vector<std::string>& skip,
                        std::string_view reader) {
  for (const auto& [key, entry] : section.entries()) {
    if (std::find(skip.begin(), skip.end(), key) != skip.end() || is_cut_off(key)) continue;  // the latter are told
    const ConfigKey* known = find_key(name, key);
    if (known == nullptr && is_inherited(name, key)) continue;
    const std::string path = section.path_of(entry.key);
    if (known == nullptr) {
      const std::string_view nearest = nearest_key(name, key);
      doc_.warn(entry.key_at, "unknown-key", path + ": no such key in a section of kind " + std::string(name),
                nearest.empty() ? "remove it; it has no effect" : "did you mean '" + std::string(nearest) + "'?");
    } else if ((known->option.empty() && !known->quiet) || is_of_another(*known, reader)) {
      doc_.warn(entry.key_at, "dead-key", path + ": has no effect here: " + std::string(known->note), "remove it");
    }
  }
}

}  // namespace batchfeed::config
