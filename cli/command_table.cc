// SPDX-License-Identifier: MIT
#include "command_table.h"

#include <cstddef>
#include <sstream>
#include <utility>

namespace batchfeed::cli {

namespace {

// Splits CLI11's "TYPE:{float,double}" into type and choices.
void split_type(const std::string& text, OptionRow& row) {
  const std::size_t brace = text.find(":{");
  row.type = text.substr(0, brace);
  if (brace != std::string::npos) {
    std::istringstream list(text.substr(brace + 2, text.size() - brace - 3));
    for (std::string choice; std::getline(list, choice, ',');) row.choices.push_back(choice);
    row.value = Value::choice;
    return;
  }
  row.value = Value::text;
  if (row.type == "DIR") row.value = Value::folder;
  for (const char* file : {"FILE", "CONFIG", "IN", "OUT", "PATH"}) {
    if (row.type.find(file) != std::string::npos) row.value = Value::file;
  }
}

OptionRow option_row(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  row.group = option.get_group();
  row.summary = option.get_description();
  row.repeats = option.get_items_expected_max() > 1;
  if (option.get_type_size() != 0) split_type(option.get_type_name(), row);
  return row;
}

CommandRow row_of(const CLI::App& app, std::vector<std::string> path) {
  CommandRow row;
  row.path = std::move(path);
  row.summary = app.get_description();
  row.examples = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? row.positionals : row.options).push_back(option_row(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::vector<std::string> below = row.path;
    below.push_back(command->get_name());
    row.commands.push_back(row_of(*command, std::move(below)));
  }
  return row;
}

void flatten(const CommandRow& row, std::vector<const CommandRow*>& out) {
  out.push_back(&row);
  for (const CommandRow& below : row.commands) flatten(below, out);
}

}  // namespace

std::string CommandRow::words(char between) const {
  std::string out;
  for (const std::string& word : path) out += (out.empty() ? "" : std::string(1, between)) + word;
  return out;
}

CommandRow command_table(const CLI::App& app) { return row_of(app, {}); }

std::vector<const CommandRow*> flat(const CommandRow& table) {
  std::vector<const CommandRow*> out;
  flatten(table, out);
  return out;
}

}  // namespace batchfeed::cli
