// SPDX-License-Identifier: MIT
//
// The commands and their options as plain data, from which man pages and completion scripts
// are written, so that they agree with --help.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::cli {

enum class Value : std::uint8_t { none, text, choice, file, folder };

struct OptionRow {
  std::vector<std::string> names;  // with their dashes, the long one last; empty for a positional
  std::string group, summary;
  std::string type;                  // the word for the value in --help, without the choices
  std::vector<std::string> choices;  // if Value::choice
  Value value = Value::none;
  bool repeats = false;  // a positional that may be given several times
};

struct CommandRow {
  std::vector<std::string> path;  // {} the program itself, {"config", "check"}
  std::string summary, examples;
  std::vector<OptionRow> options, positionals;
  std::vector<CommandRow> commands;  // subcommands

  std::string name() const { return path.empty() ? std::string() : path.back(); }
  std::string words(char between) const;  // "config check"
};

// The rows of `app` and all its subcommands.
CommandRow command_table(const CLI::App& app);

// `table` and all commands below it that can be run or have subcommands themselves.
std::vector<const CommandRow*> flat(const CommandRow& table);

// The man page, in roff, of a command, or of the program if `command` is the root.
std::string man_page(const CommandRow& command, const CommandRow& root);

// The script that a shell sources; `shell` is bash, zsh or fish.
std::string completion_script(const CommandRow& root, const std::string& shell);

}  // namespace batchfeed::cli
