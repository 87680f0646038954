// SPDX-License-Identifier: MIT
//
// The commands and their options as plain data: what man pages and completion
// scripts are written from, so that they say what --help says.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::cli {

enum class Value : std::uint8_t { none, text, choice, file, folder };

struct OptionRow {
  std::vector<std::string> names;  // with their dashes, the long one last; of a positional none
  std::string group, summary;
  std::string type;                  // what --help calls the value, without the choices
  std::vector<std::string> choices;  // if Value::choice
  Value value = Value::none;
  bool repeats = false;  // of a positional
};

struct CommandRow {
  std::vector<std::string> path;  // {} the program itself, {"config", "check"}
  std::string summary, examples;
  std::vector<OptionRow> options, positionals;
  std::vector<CommandRow> commands;  // below it

  std::string name() const { return path.empty() ? std::string() : path.back(); }
  std::string words(char between) const;  // "config check"
};

// `app` and all below it.
CommandRow command_table(const CLI::App& app);

// All of `table` that can be run or has commands below it, itself first.
std::vector<const CommandRow*> flat(const CommandRow& table);

// Man pages in roff: of a command, or of the program if it is the table's root.
std::string man_page(const CommandRow& command, const CommandRow& root);

// What a shell is to source; `shell` is bash, zsh or fish.
std::string completion_script(const CommandRow& root, const std::string& shell);

}  // namespace batchfeed::cli
