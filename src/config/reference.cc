// SPDX-License-Identifier: MIT
//
// docs/reference/config.md from the table of schema.cc.
#include <string>

#include "config/schema.h"

namespace batchfeed {

std::string config_reference() {
  std::string out =
      "# Reader sections\n\n"
      "<!-- made from the table in src/config/schema.cc; regenerate with BATCHFEED_REGENERATE=1 and the test `config` "
      "-->\n\n"
      "Every key of every reader section of a `.cntk` configuration, by the kind of section. Keys match in any\n"
      "case. A key that is not in its section is looked for in the sections around it, up to the top level, unless\n"
      "the last column says otherwise; elements of `deserializers` have no section around them. *Sets* is the option\n"
      "of the C++ library that a key sets, `-` where it has no effect. `X.input.STREAM` has the keys of a stream in\n"
      "the `input` section of an `X`; `speech.FEATURES` and `speech.LABELS` have those of the streams of\n"
      "`HTKMLFReader` and `HTKDeserializers`.\n";
  std::string_view section;
  const auto cell = [&out](std::string_view text) {
    out += ' ';
    for (const char c : text) {
      if (c == '|') out += '\\';
      out += c;
    }
    out += " |";
  };
  for (const ConfigKey& row : config::schema()) {
    if (row.section != section) {
      section = row.section;
      out += "\n## `" + std::string(section == "reader" ? "Every reader" : section) + "`\n\n";
      out += "| Key | Type | Default | Sets | Notes |\n|---|---|---|---|---|\n";
    }
    out += '|';
    cell("`" + std::string(row.key) + "`");
    cell(row.type);
    cell(row.fallback);
    cell(row.option.empty() ? "-" : row.option);
    cell(row.note);
    out += '\n';
  }
  return out;
}

}  // namespace batchfeed
