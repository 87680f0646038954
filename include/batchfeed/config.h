// SPDX-License-Identifier: MIT
//
// `.cntk` configuration text to options (docs/reference/config.md).
#pragma once

#include <batchfeed/options.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// One reader section, and what it lacks is looked for around it.
struct ConfigRequest {
  std::vector<std::string> files = {};    // in order, as configFile=A+B
  std::vector<std::string> set = {};      // further text, as on CNTK's command line: later wins
  std::string section = {};               // dotted path of the reader section; empty: find it
  std::optional<Element> precision = {};  // overrides every `precision` key
  Limits limits = {};
  FileSystem file_system = {};  // reads URLs: `files`, what they include, and what the setup names
  Report report = {};           // unknown keys, dead keys, sloppy spelling
  // Goes on after a fault: `report` gets each of them as an error, and the first
  // is thrown at the end, if it is of the reader. Faults of the language itself (brackets) end it at once.
  bool all_faults = false;
};

// One key as the binding saw it.
struct ResolvedValue {
  enum class From : std::uint8_t {
    section,    // the section itself
    enclosing,  // inherited from a section around it
    fallback,   // not given: the default
  };
  std::string path = {};   // "Test.reader.input.features.dim"
  std::string value = {};  // as text, $variables$ replaced
  Position at = {};        // of the value; of the section for defaults
  From from = From::section;
};

struct LoadedConfig {
  Setup setup = {};
  std::string section = {};                        // the path that was used, as spelled in the file
  std::vector<std::uint64_t> minibatch_size = {};  // from the enclosing SGD section, if it says so
  std::optional<std::uint64_t> epoch_size = {};    // likewise
  // What is wrong with what it says, to be thrown by whoever has no size of its own to use.
  std::optional<Fault> wrong_minibatch_size = {}, wrong_epoch_size = {};
  std::vector<ResolvedValue> resolved = {};  // every key that was looked at, in that order
};

// Throws Error with file, line and column of the configuration.
LoadedConfig load_config(const ConfigRequest& request);

// Every reader section in the files, as dotted paths in file order.
std::vector<std::string> reader_sections(const ConfigRequest& request);

// Binds each of them, or the one that is asked for: `report` gets every notice, and every fault as an error. Returns
// what was looked at. Throws Error where the language itself is broken (brackets), so that nothing else can be told.
std::vector<std::string> check_config(const ConfigRequest& request);

// One key of a reader section (its texts live as long as the program): the table behind binding, warnings and
// docs/reference/config.md.
struct ConfigKey {
  std::string_view section;   // "CNTKTextFormatReader", "input.STREAM", ...
  std::string_view key;       // as documented, matched ignoring case
  std::string_view type;      // "bool", "int", "size", "string", "array", "section"
  std::string_view fallback;  // default as text; "required"
  std::string_view option;    // the options field it sets; empty if it has no effect here
  std::string_view note;      // one sentence; who ignores it and why
  bool quiet = false;         // without effect, and not worth a warning
};
std::vector<ConfigKey> config_keys();

// docs/reference/config.md: the same table as Markdown.
std::string config_reference();

}  // namespace batchfeed
