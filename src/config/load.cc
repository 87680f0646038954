// SPDX-License-Identifier: MIT
//
// From a request to a reader section, and from there to the binder of its type.
#include "config/load.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "base/words.h"
#include "config/binder.h"
#include "config/order_keys.h"
#include "config/parse.h"
#include "config/schema.h"
#include "config/value.h"
#include "io/file.h"

namespace batchfeed::config {
namespace {

using Bind = void (*)(Binder&, const Section&, Setup&);
struct ReaderType {
  std::string_view name;
  std::string_view other_name;
  Bind bind;
};
constexpr std::array kReaders = {
    ReaderType{"CNTKTextFormatReader", "Cntk.Deserializers.TextFormat", bind_ctf_reader},
    ReaderType{"CNTKBinaryReader", "Cntk.Deserializers.Binary", bind_cbf_reader},
    ReaderType{"CompositeDataReader", "Cntk.Composite", bind_composite},
    ReaderType{"HTKDeserializers", "Cntk.Deserializers.HTK", bind_speech_shim},
    ReaderType{"HTKMLFReader", "Cntk.Reader.HTKMLF", bind_speech_legacy},
};

// Whether a value can be a section. Any kind of bracket counts, also behind a word, as the reference takes any text
// for a section: `Test = reader [...]` is a section Test that holds a section `reader`.
bool is_group(std::string_view text) {
  const std::size_t open = text.find_first_of("[{(");
  return open == 0 || (open != text.npos && std::string_view("]})").find(text.back()) != std::string_view::npos);
}

bool is_section(const Entry& entry) { return is_group(entry.value.bytes()); }

// As is_section(), also where the value is a variable that holds a section. Throws Error if the variable is unknown.
bool holds_section(const Section& section, const Entry& entry) {
  return is_section(entry) || (entry.value.bytes().starts_with('$') && is_group(section.own(entry.key)->text.bytes()));
}

bool is_named_reader(std::string_view key) {
  constexpr std::string_view kReader = "reader";
  return key.size() >= kReader.size() && same_word(key.substr(key.size() - kReader.size()), kReader);
}

bool is_reader(std::string_view key, const Section& section) {
  if (section.has("readerType") || section.has("deserializers") || section.has("readers")) return true;
  return is_named_reader(key) && (section.has("file") || section.has("files") || section.has("input"));
}

// Whether text, even if it does not parse, was meant to be a reader's section or to hold one.
bool means_reader(std::string_view key, std::string_view text) {
  const auto mentions = [&](std::string_view word) {
    return std::search(text.begin(), text.end(), word.begin(), word.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end();
  };
  return is_named_reader(key) || mentions("readerType") || mentions("deserializers");
}

// Appends the position and path of every reader section in `section`. Looks at unexpanded text only: sections that
// nobody asked for may hold unknown variables, and a network description need not parse. Ends early with one
// reader more than the limit.
void walk(Document& doc, Section& section, std::vector<std::pair<Origin, std::string>>& out) {
  for (const auto& [key, entry] : section.entries()) {
    if (out.size() > doc.limits().streams) return;
    if (!is_section(entry)) continue;
    const bool reader_meant = means_reader(key, entry.value.bytes());
    try {
      Section inner(doc, section.take(key), &section, section.path_of(entry.key), entry.key_at);
      if (is_reader(key, inner)) {
        out.emplace_back(entry.first_at, inner.path());
      } else {
        walk(doc, inner, out);
      }
    } catch (const Error&) {  // who asks for this section by its path gets the fault
      if (reader_meant) out.emplace_back(entry.first_at, section.path_of(entry.key));
    }
  }
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) out += (out.empty() ? "" : ", ") + names[i];
  return names.size() > kMost ? out + " and " + std::to_string(names.size() - kMost) + " more" : out;
}

// The section at a dotted path. Keys may hold dots themselves, so at each level the shortest prefix of the path that
// is a key is taken.
const Section& descend(Document& doc, const Section& root, std::string_view path) {
  const Section* section = &root;
  std::string_view rest = path;
  while (!rest.empty()) {
    const Entry* entry = nullptr;
    std::size_t end = 0;
    for (end = rest.find('.');; end = rest.find('.', end + 1)) {
      entry = section->entry(rest.substr(0, end));
      if (entry != nullptr || end == std::string_view::npos) break;
    }
    if (entry == nullptr || !holds_section(*section, *entry)) {
      const std::string_view wanted = rest.substr(0, rest.find('.'));
      std::string nearest;
      Nearest keys(wanted, std::max<std::size_t>(2, wanted.size() / 2));
      for (const auto& [key, other] : section->entries())
        if (is_section(other) && keys.offer(key)) nearest = section->path_of(other.key);
      const std::vector<std::string> readers = find_readers(doc);
      const bool is_flag = entry != nullptr && entry->value.bytes() == "true";
      std::string hint = is_flag            ? "put its bracket on the line of its name; "
                         : !nearest.empty() ? "did you mean '" + nearest + "'? "
                                            : "";
      hint += readers.empty() ? "" : "reader sections here: " + list_of(readers);
      if (readers.empty()) hint = hint.substr(0, hint.find_last_not_of("; ") + 1);
      doc.fail(entry != nullptr ? entry->key_at : section->at(), "no-section",
               entry != nullptr ? section->path_of(entry->key) + " is no section"
                                : "no section " + quoted(path) + ": " +
                                      (section->path().empty() ? "the configuration" : section->path()) + " has no " +
                                      quoted(wanted),
               std::move(hint));
    }
    section = &section->child(entry->key);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return *section;
}

const Section& choose(Document& doc, const Section& root, const std::string& asked) {
  std::string path = asked;
  if (path.empty()) {
    const std::vector<std::string> readers = find_readers(doc);
    if (readers.size() > 1) {
      doc.fail(root.at(), "several-readers", "the configuration has several reader sections: " + list_of(readers),
               "choose one: `section = " + readers.front() + "`");
    }
    if (readers.empty()) {
      // The keys of a reader may stand at the top level of the file.
      if (is_reader("reader", root)) return root;
      doc.fail(root.at(), "no-reader", "the configuration has no reader section",
               "a reader section has readerType = \"...\" or deserializers = ( ... )");
    }
    path = readers.front();
  }
  const Section& section = descend(doc, root, path);
  if (!is_reader("", section) && !section.has("input")) {
    const Entry* reader = section.entry("reader");
    if (reader != nullptr && holds_section(section, *reader)) return section.child("reader");
  }
  return section;
}

Bind binder_of(Document& doc, Binder& binder, const Section& reader) {
  // A reader named by the list `readers` inherits that key from the section around it, and is no list itself.
  if (const auto names = reader.find("readers"); names && !(names->inherited && reader.has("readerType"))) {
    std::string sections;
    for (const Text& one : scan_array(doc, names->text))
      sections += (sections.empty() ? "`section = " : " or `section = ") + reader.path_of(one.bytes()) + "`";
    doc.fail(names->at(), "unsupported", names->path + ": several readers in one section are not supported",
             sections.empty() ? "" : "read them one by one: " + sections);
  }
  const auto type = binder.value(reader, "readerType");
  if (!type) {
    const bool composite = reader.find("deserializers").has_value();
    binder.fallback(reader, "readerType", composite ? "CompositeDataReader" : "CNTKTextFormatReader");
    return composite ? bind_composite : bind_ctf_reader;
  }
  const std::string_view name = type->text.bytes();
  Nearest nearest(name, 6);
  for (const ReaderType& one : kReaders) {
    if (name == one.name || name == one.other_name) return one.bind;
    nearest.offer(one.name);
  }
  binder.fail(*type, "unknown-reader", type->path + ": no reader is called " + quoted(name),
              nearest.best().empty()
                  ? "known are CNTKTextFormatReader, CNTKBinaryReader, HTKMLFReader, HTKDeserializers and "
                    "CompositeDataReader"
                  : "did you mean '" + std::string(nearest.best()) + "'? case matters");
}

// `owner`: the section that has the minibatch and epoch sizes, SGD beside the reader or else the command.
std::vector<std::uint64_t> minibatch_sizes(Document& doc, const Section& owner) {
  std::vector<std::uint64_t> out;
  const auto sizes = owner.find("minibatchSize");
  if (!sizes || sizes->is_default()) return out;
  for (const Text& element : scan_array(doc, sizes->text)) {
    const std::int32_t size = parse_int(doc, element, sizes->path);
    if (size <= 0) {
      doc.fail(element.origin(0), "bad-value", sizes->path + ": expected at least 1, found " + quoted(element.bytes()));
    }
    out.push_back(static_cast<std::uint64_t>(size));
  }
  return out;
}

std::optional<std::uint64_t> epoch_size(Document& doc, const Section& owner) {
  const auto size = owner.find("epochSize");
  if (!size || size->is_default() || size->text.empty()) return std::nullopt;
  return parse_size(doc, size->text, size->path);
}

// Not needed to read data, so a wrong size is no fault here: it is kept in `out` for callers that use the size.
void bind_sizes(Document& doc, const Section& reader, LoadedConfig& out) {
  if (reader.parent() == nullptr) return;
  const auto owner = [&]() -> const Section& {
    const Section& around = *reader.parent();
    const Entry* sgd = around.entry("SGD");
    return sgd != nullptr && is_section(*sgd) ? around.child("SGD") : around;
  };
  const auto attempt = [&](std::optional<Fault>& wrong, const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      if (doc.collects_faults() || error.fault().kind == FaultKind::internal) doc.hold(error);
      wrong = error.fault();
    }
  };
  attempt(out.wrong_minibatch_size, [&] { out.minibatch_size = minibatch_sizes(doc, owner()); });
  attempt(out.wrong_epoch_size, [&] { out.epoch_size = epoch_size(doc, owner()); });
}

// Warns if `truncated` is not in the SGD section, too: the reference's trainer looks for it there.
void check_truncated(Document& doc, const Section& reader, const LoadedConfig& out) {
  const Section* owner = reader.parent();
  if (out.setup.reader.pack.kind != Packing::truncated || owner == nullptr || !reader.has("truncated")) return;
  const Entry* entry = owner->entry("SGD");
  if (entry == nullptr || !is_section(*entry)) return;
  try {
    if (owner->child("SGD").find("truncated")) return;
  } catch (const Error&) {
    return;  // the SGD section cannot be read: bind_sizes() reports that
  }
  doc.warn(reader.find("truncated")->key_at, "truncated-not-in-sgd",
           reader.path_of("truncated") + ": is not in " + owner->child("SGD").path() +
               " too, and CNTK does not train with it in one place alone",
           "add truncated = true to the SGD section, if CNTK is to read this configuration");
}

}  // namespace

Command command_of(const Section& reader) {
  Command out;
  const auto action = reader.find("action");
  if (!action) return out;
  out.action = lower(action->text.bytes());
  out.writes = out.action == "write";
  out.forces_file_order = out.writes || out.action == "test" || out.action == "eval";
  return out;
}

std::vector<std::string> find_readers(Document& doc) {
  doc.set_quiet(true);
  std::vector<std::pair<Origin, std::string>> found;
  Section root(doc);
  walk(doc, root, found);
  doc.set_quiet(false);
  std::sort(found.begin(), found.end());
  // why a limit: some callers bind every section found, or even read its data.
  if (const std::uint64_t most = doc.limits().streams; found.size() > most)
    doc.over_limit(found[static_cast<std::size_t>(most)].first, "streams", most, "too many reader sections");
  std::vector<std::string> out;
  for (auto& [at, path] : found) out.push_back(std::move(path));
  return out;
}

namespace {

// Warns of arguments of CNTK's command line that are not configuration text: --set has no effect for them.
void warn_of_arguments(Document& doc, const Entry& entry) {
  if (same_word(entry.key, "configFile")) {
    doc.warn(entry.key_at, "dead-key", quoted(entry.key) + ": no file is read for it here",
             "name it beside the other configuration files, from left to right");
  }
  if (same_word(entry.key, "currentDirectory")) {
    doc.warn(entry.key_at, "dead-key", quoted(entry.key) + ": paths count from where the program runs all the same",
             "change to that folder before");
  }
}

bool is_of_set(Document& doc, Origin at) { return doc.position(at).file.starts_with("set#"); }

// Warns of a section that only --set has, if a file's section beside it has nearly the same name: nothing reads it.
void warn_of_misspelt_sets(Document& doc, const Section& reader) {
  for (const Section *inner = &reader, *around = reader.parent(); around != nullptr;
       inner = around, around = around->parent()) {
    for (const auto& [key, entry] : around->entries()) {
      if (!is_of_set(doc, entry.first_at) || !is_section(entry) || around->path_of(entry.key) == inner->path())
        continue;
      Nearest nearest(entry.key, 3);
      for (const auto& [_, other] : around->entries())
        if (is_section(other) && !is_of_set(doc, other.first_at)) nearest.offer(other.key);
      if (nearest.best().empty()) continue;
      doc.warn(entry.key_at, "dead-section",
               around->path_of(entry.key) + ": no file of the configuration has such a section, and nothing reads it",
               "did you mean " + quoted(around->path_of(nearest.best())) + "?");
    }
  }
}

// "Train=[reader=[file=...]]" for Train.reader.file.
std::string nested(std::string_view path) {
  std::string out, end;
  for (const char c : path) {
    out += c == '.' ? std::string("=[") : std::string(1, c);
    if (c == '.') end += ']';
  }
  return out + "=..." + end;
}

// Warns of a value that --set gives to a section around the reader's, where one further in has its own: that one
// counts, unless it is made from the other ($name$).
void warn_of_hidden_sets(Document& doc, const Section& reader) {
  for (const Section* around = reader.parent(); around != nullptr; around = around->parent()) {
    for (const auto& [key, entry] : around->entries()) {
      if (!is_of_set(doc, entry.key_at) || is_section(entry)) continue;
      const Section* inner = &reader;
      while (inner != around && !inner->has(key)) inner = inner->parent();
      if (inner == around || is_of_set(doc, inner->entry(key)->key_at)) continue;
      if (lower(doc.text().bytes()).find('$' + key + '$') != std::string::npos) continue;
      const std::string path = inner->path_of(entry.key);
      doc.warn(entry.key_at, "dead-key",
               quoted(entry.key) + ": section " + inner->path() + " has its own, which counts",
               "write " + quoted(nested(path)));
    }
  }
}

// Keys may hold dots: `--set 'Train.reader.file=x'` sets a key of that name, and not the nested key that was meant.
void warn_of_sets(Document& doc, const Section& root) {
  for (const auto& [key, entry] : root.entries()) {
    if (!is_of_set(doc, entry.key_at)) continue;
    warn_of_arguments(doc, entry);
    const std::size_t dot = entry.key.find('.');
    if (dot == std::string::npos) continue;
    const Entry* const outer = root.entry(std::string_view(entry.key).substr(0, dot));
    if (outer == nullptr || !is_section(*outer)) continue;
    doc.warn(entry.key_at, "dotted-key",
             quoted(entry.key) + " is one key, whose name has dots; it is nothing in section " + quoted(outer->key),
             "write " + quoted(nested(entry.key)));
  }
}

// The files that the configuration names, with the positions that name them, sorted by path; for one path, those from
// arrays and list files first.
std::vector<NamedFile> files_named(Binder& binder, const std::vector<ResolvedValue>& resolved) {
  constexpr std::array kKeys = {"file",        "scpFile",          "mlfFile",
                                "mlfFileList", "labelMappingFile", "labelToTargetMappingFile"};
  for (const ResolvedValue& value : resolved) {
    const std::string_view key = std::string_view(value.path).substr(value.path.rfind('.') + 1);
    if (value.from == ResolvedValue::From::fallback || value.at.line == 0 ||
        std::none_of(kKeys.begin(), kKeys.end(), [&](const char* k) { return same_word(key, k); }))
      continue;
    binder.name_file(value.value, value.at);
  }
  std::vector<NamedFile> out = binder.take_named();
  std::ranges::stable_sort(out, {}, &NamedFile::path);
  return out;
}

// Removes what is there already: the reader's keys that several deserializers take over are looked up by each.
void leave_once(std::vector<ResolvedValue>& values) {
  std::set<std::tuple<std::string, std::string, ResolvedValue::From>> seen;
  std::erase_if(values, [&](const ResolvedValue& v) { return !seen.emplace(v.path, v.value, v.from).second; });
}

// The whole document as a section. A fault in it is held like any other, and thrown.
const Section& root_of(Document& doc) {
  try {
    return doc.keep(std::make_unique<Section>(doc));
  } catch (const Error& error) {
    doc.hold(error);
    throw;
  }
}

LoadedConfig bind_section(Document& doc, const Section& root, const ConfigRequest& request,
                          const std::string& section) {
  LoadedConfig out;
  Binder binder(doc, request.precision, out.resolved);
  const Section* chosen = nullptr;
  binder.attempt([&] {
    chosen = &choose(doc, root, section);
    const Bind bind = binder_of(doc, binder, *chosen);
    bind_common(binder, *chosen, out.setup);
    bind(binder, *chosen, out.setup);
  });
  if (!doc.faults().empty()) throw Error(doc.faults().front());
  leave_once(out.resolved);
  const Section& reader = *chosen;
  out.section = reader.path();
  warn_of_misspelt_sets(doc, reader);
  warn_of_hidden_sets(doc, reader);
  check_truncated(doc, reader, out);
  bind_sizes(doc, reader, out);
  out.setup.limits = request.limits;
  out.setup.file_system = request.file_system;
  if (!request.files.empty()) {  // positions in a text without a file would be of no use to the user
    out.setup.file_system.configuration = request.files.front();
    out.setup.file_system.named_at = std::make_shared<const std::vector<NamedFile>>(files_named(binder, out.resolved));
  }
  out.setup.report = request.report;
  return out;
}

}  // namespace

LoadedConfig load(Document& doc, const ConfigRequest& request) {
  const Section& root = root_of(doc);
  warn_of_sets(doc, root);
  return bind_section(doc, root, request, request.section);
}

std::vector<std::string> check(Document& doc, const ConfigRequest& request) {
  std::vector<std::string> sections =
      request.section.empty() ? find_readers(doc) : std::vector<std::string>{request.section};
  const Section& root = root_of(doc);
  warn_of_sets(doc, root);
  for (const std::string& section : sections) {
    doc.start_anew();
    try {
      static_cast<void>(bind_section(doc, root, request, section));
    } catch (const Error& error) {
      if (doc.faults().empty() && request.report) request.report({Severity::error, error.fault()});
    }
  }
  return sections;
}

namespace {

std::unique_ptr<Document> read(const ConfigRequest& request) {
  auto doc = std::make_unique<Document>(request.limits, request.report);
  doc->collect_faults(request.all_faults);
  std::vector<Input> inputs;
  for (const std::string& file : request.files) inputs.push_back({.name = file, .text = {}, .is_file = true});
  for (std::size_t i = 0; i < request.set.size(); ++i) {
    inputs.push_back({.name = "set#" + std::to_string(i + 1), .text = request.set[i], .is_file = false});
  }
  try {
    doc->load(inputs, [&](const std::string& path) {
      FileSystem file_system = request.file_system;
      const auto& named = request.files;
      if (std::find(named.begin(), named.end(), path) != named.end()) {
        file_system.roots.clear();
      } else if (!named.empty()) {  // an included one, or a list, may lie beside the one that names it
        file_system.configuration = named.front();
      }
      return io::read_whole(path, request.limits.config_bytes, "config_bytes", file_system, &request.limits);
    });
  } catch (const Error& error) {
    doc->hold(error);
    throw;
  }
  return doc;
}

}  // namespace
}  // namespace batchfeed::config

namespace batchfeed {

LoadedConfig load_config(const ConfigRequest& request) {
  const auto doc = config::read(request);
  return config::load(*doc, request);
}

std::vector<std::string> check_config(const ConfigRequest& request) {
  ConfigRequest all = request;
  all.all_faults = true;
  const auto doc = config::read(all);
  return config::check(*doc, all);
}

std::vector<std::string> reader_sections(const ConfigRequest& request) {
  const auto doc = config::read(request);
  return config::find_readers(*doc);
}

}  // namespace batchfeed
