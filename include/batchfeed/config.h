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

// One reader section; keys that it lacks are looked up in the sections around it.
struct ConfigRequest {
  std::vector<std::string> files = {};    // in order, as configFile=A+B
  std::vector<std::string> set = {};      // further text, as on CNTK's command line: later wins
  std::string section = {};               // dotted path of the reader section; empty: find it
  std::optional<Element> precision = {};  // overrides every `precision` key
  Limits limits = {};
  FileSystem file_system = {};  // reads URLs: `files`, what they include, and what the setup names
  Report report = {};           // unknown keys, dead keys, sloppy spelling
  // Goes on after a fault: `report` gets each fault as an error, and the first one of the reader section is
  // thrown at the end. Faults of the language itself (brackets) are thrown at once.
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
  // The fault of a size that cannot be used, to be thrown by callers that have no size of their own.
  std::optional<Fault> wrong_minibatch_size = {}, wrong_epoch_size = {};
  std::vector<ResolvedValue> resolved = {};  // every key that was looked at, in that order
};

// Throws Error with file, line and column of the configuration.
LoadedConfig load_config(const ConfigRequest& request);

// Every reader section in the files, as dotted paths in file order.
std::vector<std::string> reader_sections(const ConfigRequest& request);

// Binds every reader section, or only request.section: `report` gets every notice, and every fault as an error. Returns
// the sections it bound. Throws Error for faults of the language itself (brackets), as nothing can be bound then.
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
