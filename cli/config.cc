// SPDX-License-Identifier: MIT
//
// `batchfeed config`: explains and checks a configuration, key by key.
#include <batchfeed/config.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "format.h"
#include "hints.h"
#include "jsonl.h"
#include "raise.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct ConfigArguments {
  std::vector<std::string> files, set, raise;
  std::string section;
  bool json = false, given = false, resolved = false;

  ConfigRequest request(Report report) const {
    ConfigRequest out;
    out.files = files;
    out.set = set;
    out.section = section;
    out.limits = raised(raise);
    out.report = std::move(report);
    return out;
  }
};

bool on_command_line(const ResolvedValue& value) { return value.at.file.starts_with("set#"); }

const char* origin(const ResolvedValue& value) {
  if (value.from == ResolvedValue::From::fallback) return "default";
  if (on_command_line(value)) return "command line";
  return value.from == ResolvedValue::From::section ? "section" : "enclosing section";
}

std::string place(const Position& at) {
  const std::string file = printable(at.file, kPathLength);
  return file.empty() || at.line == 0 ? file : fmt::format("{}:{}:{}", file, at.line, at.column);
}

int run_show(const ConfigArguments& a, Console& console) {
  const LoadedConfig config = load_config(a.request(console.report()));
  Output output;
  if (a.json) {
    ordered_json all;
    all["section"] = config.section;
    all["values"] = ordered_json::array();
    for (const ResolvedValue& value : config.resolved) {
      const bool given = value.from != ResolvedValue::From::fallback;
      if (!given && a.given) continue;
      all["values"].push_back({{"path", value.path},
                               {"value", value.value},
                               {"from", origin(value)},
                               {"file", given ? ordered_json(value.at.file) : ordered_json()},
                               {"line", given ? ordered_json(value.at.line) : ordered_json()},
                               {"column", given ? ordered_json(value.at.column) : ordered_json()}});
    }
    output.append(dump(all, 2) + "\n");
  } else {
    output.append(fmt::format("reader section {}\n\n", printable(config.section)));
    Table table({"key", "value", "from"});
    for (const ResolvedValue& value : config.resolved) {
      const bool given = value.from != ResolvedValue::From::fallback;
      if (!given && a.given) continue;
      table.row({printable(value.path), "= " + printable(value.value, 60),
                 !given                   ? "default"
                 : on_command_line(value) ? "command line, " + place(value.at)
                                          : place(value.at)});
    }
    output.append(table.text());
  }
  output.flush();
  return kDone;
}

// Binds all reader sections, or the one named, and lists what is wrong with them.
int run_check(const ConfigArguments& a, Console& console) {
  std::vector<Notice> found;
  std::set<std::string> told;  // sections may share keys and variables, and so faults
  const Report report = [&](const Notice& notice) {
    if (told.insert(notice.fault.text()).second) found.push_back(notice);
  };
  std::vector<std::string> sections;
  try {
    sections = check_config(a.request(report));
    if (sections.empty()) {
      throw Error(Fault{.kind = FaultKind::config,
                        .id = "config.no-reader",
                        .at = {.file = a.files.front()},
                        .what = "no reader section found",
                        .hint = "a section with the key readerType is one"});
    }
  } catch (const Error&) {  // what was noticed before may say why, as of an include that is none
    for (const Notice& notice : found)
      if (notice.severity != Severity::error) console.notice(notice);
    throw;
  }
  const auto count = [&](Severity severity) {
    return static_cast<std::uint64_t>(
        std::count_if(found.begin(), found.end(), [&](const Notice& notice) { return notice.severity == severity; }));
  };
  const std::uint64_t faults = count(Severity::error), warnings = count(Severity::warning);
  Output output;
  if (a.json) {
    ordered_json all;
    all["sections"] = sections;
    all["faults"] = faults;
    all["findings"] = ordered_json::array();
    for (const Notice& notice : found) all["findings"].push_back(notice_json(notice));
    output.append(dump(all, 2) + "\n");
  } else {
    for (const Notice& notice : found) {
      if (notice.severity != Severity::info || console.verbose) output.append(finding_text(notice) + "\n");
    }
    output.append(fmt::format("checked {}: {}{}\n", plural(sections.size(), "reader section"),
                              faults == 0 ? "no fault" : plural(faults, "fault"),
                              warnings == 0 ? "" : ", " + plural(warnings, "warning")));
  }
  output.flush();
  return faults == 0 ? kDone : kFaults;
}

void add_options(CLI::App& command, ConfigArguments& a) {
  command.add_option("file", a.files, "A .cntk configuration (several: later ones override)")
      ->required()
      ->type_name("CONFIG");
  command.add_option("--section", a.section, "Reader section (default: check all, show the only one)")
      ->type_name("A.B");
  command.add_option("--set", a.set, "Configuration text that overrides; repeatable")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  add_raise(command, a.raise);
  command.add_flag("--json", a.json, "As JSON");
}

}  // namespace

Run add_config(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<ConfigArguments>();
  CLI::App& command = add_command(app, "config", "What a configuration says, and whether it is right",
                                  "batchfeed config check train.cntk\n"
                                  "batchfeed config show train.cntk --section Train.reader");
  command.require_subcommand(1);
  CLI::App& check = add_command(command, "check", "Keys that are wrong, unknown or without effect; no data is read",
                                "batchfeed config check train.cntk");
  CLI::App& show = add_command(command, "show", "Every key the reader looks at: its value, and where it comes from",
                               "batchfeed config show --resolved train.cntk\n"
                               "batchfeed config show train.cntk --given --set 'Train=[reader=[randomize=false]]'");
  add_options(check, *arguments);
  add_options(show, *arguments);
  auto* given = show.add_flag("--given", arguments->given, "Leave out the defaults");
  show.add_flag("--resolved", arguments->resolved, "Show the defaults too; this is the default")->excludes(given);
  return [arguments, &show, &console] {
    return show.parsed() ? run_show(*arguments, console) : run_check(*arguments, console);
  };
}

}  // namespace batchfeed::cli
