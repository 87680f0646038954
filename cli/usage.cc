// SPDX-License-Identifier: MIT
#include "usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string_view>
#include <system_error>
#include <vector>

#include "format.h"

namespace batchfeed::cli {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t corner = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// The candidate most similar to `word`, if it is similar enough; leading dashes do not count.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto bare = [](std::string_view text) {
    return text.substr(std::min(text.size(), text.find_first_not_of('-')));
  };
  word = bare(word);
  std::string best;
  std::size_t distance = 1 + word.size() / 3;
  for (const std::string& candidate : candidates) {
    const std::string_view name = bare(candidate);
    const std::size_t d = edit_distance(word, name);
    if (d <= distance && d < std::max(word.size(), name.size())) {
      if (d == distance && !best.empty()) continue;
      best = candidate;
      distance = d;
    }
  }
  return best;
}

std::vector<std::string> commands(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(command->get_name());
  return out;
}

std::vector<std::string> options(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

const CLI::App& chosen(const CLI::App& app) {
  const auto selected = app.get_subcommands();
  return selected.empty() ? app : chosen(*selected.front());
}

std::string way_on(const CLI::App& command, const std::string& word, const std::string& guess) {
  if (guess == word) return fmt::format("it belongs behind the command: {} {}", path_of(command), word);
  std::error_code none;
  if (word[0] == '-' && std::filesystem::exists(word, none)) return fmt::format("./{} names the file", printable(word));
  if (!guess.empty()) return fmt::format("did you mean {}?", guess);
  if (command.get_parent() == nullptr && std::filesystem::is_regular_file(word, none))  // no command, but a file
    return fmt::format("batchfeed info {} says what is in it", printable(word));
  return fmt::format("{} --help", path_of(command));
}

std::string unexpected(const CLI::App& command) {
  std::vector<std::string> left = command.remaining(true);
  for (const CLI::App* up = command.get_parent(); left.empty() && up != nullptr; up = up->get_parent())
    left = up->remaining(true);
  if (left.empty()) return {};
  const std::string& word = left.front();
  const bool option = word.size() > 1 && word[0] == '-';
  const std::string guess = nearest(word.substr(0, word.find('=')), option ? options(command) : commands(command));
  return fmt::format("unknown {} '{}'; hint: {}",
                     option                      ? "option"
                     : commands(command).empty() ? "argument"
                                                 : "command",
                     printable(word), way_on(command, word, guess));
}

// "a, b or c" of "a,b,c".
std::string any_of(std::string words) {
  if (const std::size_t last = words.rfind(','); last != std::string::npos) words.replace(last, 1, " or ");
  for (std::size_t at = 0; (at = words.find(',', at)) != std::string::npos; at += 2) words.replace(at, 1, ", ");
  return words;
}

// A message of CLI11 in the words of this program's messages.
std::string in_our_words(const std::string& what) {
  std::smatch is;
  const auto like = [&](const char* pattern) { return std::regex_match(what, is, std::regex(pattern)); };
  if (like("(.*): [0-9]+ required .*\\{(.*)\\} missing"))
    return fmt::format("{}: a value is missing, expected {}", is.str(1), any_of(is.str(2)));
  if (like("(.*): [0-9]+ required (.*) missing"))
    return fmt::format("{}: a value is missing, {}", is.str(1), is.str(2));
  if (like("(.*): At Most 1 required but received ([0-9]+)"))
    return fmt::format("{}: given {} times, expected once", is.str(1), is.str(2));
  if (like("(.*): (.*) not in \\{(.*)\\}"))
    return fmt::format("{}: expected {}, found '{}'", is.str(1), any_of(is.str(3)), is.str(2));
  if (like("(--.*): Value (.*) not in range (.*) to (.*)"))
    return fmt::format("{}: expected {} to {}, found {}", is.str(1), is.str(3), is.str(4), is.str(2));
  if (like("(--.*) excludes (--.*)")) return fmt::format("{} and {}: give one of them", is.str(1), is.str(2));
  if (like("(--.*) requires (--.*)")) return fmt::format("{} is for {} only", is.str(1), is.str(2));
  // digits.cc has checked that the number fits in 64 bits, so it is too large for an option of 32 bits.
  if (like("Could not convert: (--.*) = ([0-9]+)"))
    return fmt::format("{}: '{}' is too large a number, expected at most 4294967295", is.str(1), is.str(2));
  if (like("Could not convert: (--.*) = (.*)"))
    return fmt::format("{}: expected a number, found '{}'", is.str(1), is.str(2));
  if (like("file is required")) return "a corpus is missing: name a configuration or a file";
  if (like("(.*) is required")) return fmt::format("{} is missing", is.str(1));
  return what;
}

}  // namespace

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "batchfeed" : path_of(*app.get_parent()) + " " + app.get_name();
}

std::string usage_text(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = chosen(app);
  if (std::string text = unexpected(command); !text.empty()) return text;
  if (&command == &app || (!commands(command).empty() && command.get_subcommands().empty())) {
    return fmt::format("no command given; hint: {} --help", path_of(command));
  }
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  what = in_our_words(what);
  if (!what.empty() && what[0] >= 'A' && what[0] <= 'Z' && what.size() > 1 && what[1] >= 'a')
    what[0] = static_cast<char>(what[0] - 'A' + 'a');
  return fmt::format("{}; hint: {} --help", what, path_of(command));
}

}  // namespace batchfeed::cli
