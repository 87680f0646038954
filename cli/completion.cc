// SPDX-License-Identifier: MIT
//
// Completion scripts for bash, zsh and fish. They hold all words themselves: to complete one, a
// shell need not start batchfeed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_table.h"

namespace batchfeed::cli {

namespace {

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> names_of(const std::vector<CommandRow>& commands) {
  std::vector<std::string> out;
  for (const CommandRow& command : commands) out.push_back(command.name());
  return out;
}

// The words that can follow a command, if they are known: its subcommands, or the choices of its only argument.
std::vector<std::string> words_of(const CommandRow& command, const CommandRow& root) {
  if (!command.commands.empty()) return names_of(command.commands);
  if (command.positionals.size() != 1) return {};
  const OptionRow& argument = command.positionals.front();
  return argument.type == "[COMMAND]" ? names_of(root.commands) : argument.choices;
}

// The options that hold everywhere, then the command's own.
std::vector<const OptionRow*> options_of(const CommandRow& command, const CommandRow& root) {
  std::vector<const OptionRow*> out;
  for (const OptionRow& option : command.options) out.push_back(&option);
  if (command.path.empty()) return out;
  for (const OptionRow& option : root.options) {
    if (option.names.back() != "--version" && option.names.back() != "--help") out.push_back(&option);
  }
  return out;
}

// The text in single quotes for a shell.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string in_fish_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += (c == '\'' || c == '\\') ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

const char* bash_files(Value value) { return value == Value::folder ? "-d" : "-f"; }

// The bash code that completes the value of an option.
std::string bash_reply(const OptionRow& option) {
  switch (option.value) {
    case Value::choice:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\")); return", in_quotes(joined(option.choices)));
    case Value::none:
    case Value::text: return "return";  // a number or a word only the user knows
    default: return fmt::format("mapfile -t COMPREPLY < <(compgen {} -- \"$cur\"); return", bash_files(option.value));
  }
}

std::string bash(const CommandRow& root) {
  std::string known, values, words;
  for (const CommandRow* command : flat(root)) {
    const std::string path = command->words(' ');
    if (!path.empty()) known += fmt::format("{}{}", known.empty() ? "" : " | ", in_quotes(path));
    std::vector<std::string> all;
    for (const OptionRow* option : options_of(*command, root)) {
      std::vector<std::string> at;
      for (const std::string& name : option->names) {
        all.push_back(name);
        at.push_back(in_quotes(path + ":" + name));
      }
      if (option->value == Value::none) continue;
      values += fmt::format("    {}) {} ;;\n", joined(at, " | "), bash_reply(*option));
    }
    words += fmt::format("    {}) options={} commands={} ;;\n", in_quotes(path), in_quotes(joined(all)),
                         in_quotes(joined(words_of(*command, root))));
  }
  return fmt::format(R"(# bash completion for batchfeed, written by `batchfeed completion bash`
_batchfeed() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} command= options= commands= i
  COMPREPLY=()
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{command:+$command }}${{COMP_WORDS[i]}}" in
    {}) command="${{command:+$command }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command:$prev" in
{}  esac
  case "$command" in
{}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}}
complete -o filenames -F _batchfeed batchfeed
)",
                     known, values, words);
}

// One specification of zsh's _arguments: '(-q --quiet)'{-q,--quiet}'[No notices]:TYPE:(a b)'.
std::string zsh_option(const OptionRow& option) {
  std::string summary;
  for (const char c : option.summary)
    summary += (c == '[' || c == ']' || c == ':') ? fmt::format("\\{}", c) : std::string(1, c);
  std::string type;
  for (const char c : option.type) type += c == ':' ? std::string("\\:") : std::string(1, c);
  std::string rest = fmt::format("[{}]", summary);
  if (option.value == Value::text) rest += fmt::format(":{}: ", type);
  if (option.value == Value::choice) rest += fmt::format(":{}:({})", type, joined(option.choices));
  if (option.value == Value::file) rest += fmt::format(":{}:_files", type);
  if (option.value == Value::folder) rest += fmt::format(":{}:_files -/", type);
  if (option.names.size() == 1) return in_quotes("*" + option.names.front() + rest);
  return fmt::format("'({0})'{{{1}}}{2}", joined(option.names), joined(option.names, ","), in_quotes(rest));
}

std::string zsh(const CommandRow& root) {
  std::string out = "#compdef batchfeed\n# zsh completion for batchfeed, written by `batchfeed completion zsh`\n";
  for (const CommandRow* command : flat(root)) {
    out += fmt::format("\n_batchfeed{}{}() {{\n", command->path.empty() ? "" : "_", command->words('_'));
    if (!command->commands.empty()) out += "  local line state\n";
    out += command->commands.empty() ? "  _arguments -s \\\n" : "  _arguments -s -C \\\n";
    for (const OptionRow* option : options_of(*command, root)) out += "    " + zsh_option(*option) + " \\\n";
    if (command->commands.empty()) {
      const std::vector<std::string> words = words_of(*command, root);
      out += command->positionals.empty() ? "    && return\n"
             : words.empty()              ? "    '*:file:_files' && return\n"
                                          : fmt::format("    '1:word:({})' && return\n", joined(words));
    } else {
      out +=
          "    '1: :->command' '*::argument:->rest' && return\n  case $state in\n  command)\n    local -a commands=(\n";
      for (const CommandRow& below : command->commands) {
        out += fmt::format("      {}\n", in_quotes(below.name() + ":" + below.summary));
      }
      out += "    )\n    _describe command commands ;;\n  rest)\n    case $line[1] in\n";
      for (const CommandRow& below : command->commands) {
        out += fmt::format("    {}) _batchfeed_{} ;;\n", below.name(), below.words('_'));
      }
      out += "    esac ;;\n  esac\n";
    }
    out += "}\n";
  }
  return out +
         "\nif [ \"$funcstack[1]\" = _batchfeed ]; then _batchfeed \"$@\"; else compdef _batchfeed batchfeed; fi\n";
}

std::string fish_option(const std::string& condition, const OptionRow& option) {
  std::string out = fmt::format("complete -c batchfeed -n {}", in_fish_quotes(condition));
  for (const std::string& name : option.names) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  switch (option.value) {
    case Value::none: break;
    case Value::text: out += " -x"; break;
    case Value::choice: out += " -xa " + in_fish_quotes(joined(option.choices)); break;
    case Value::file: out += " -rF"; break;
    case Value::folder: out += " -xa '(__fish_complete_directories)'"; break;
  }
  return out + " -d " + in_fish_quotes(option.summary) + "\n";
}

std::string fish(const CommandRow& root) {
  std::string out =
      "# fish completion for batchfeed, written by `batchfeed completion fish`\n"
      "# True if the words so far name exactly this command.\n"
      "function __batchfeed_at\n"
      "    set -l words\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        string match -q -- '-*' $word; or set -a words $word\n"
      "    end\n"
      "    set -l n (count $argv)\n"
      "    test $n -eq 0; and test (count $words) -eq 0; and return 0\n"
      "    test $n -gt 0; and test (count $words) -ge $n; and test \"$words[1..$n]\" = \"$argv\"\n"
      "end\n"
      "complete -c batchfeed -n __batchfeed_at -f\n";
  for (const CommandRow* command : flat(root)) {
    const std::string at = "__batchfeed_at" + (command->path.empty() ? std::string() : " " + command->words(' '));
    std::string here = at;
    if (!command->commands.empty()) {
      for (const CommandRow& below : command->commands) here += "; and not __batchfeed_at " + below.words(' ');
      for (const CommandRow& below : command->commands) {
        out += fmt::format("complete -c batchfeed -n {} -fa {} -d {}\n", in_fish_quotes(here), below.name(),
                           in_fish_quotes(below.summary));
      }
    }
    if (const auto words = words_of(*command, root); command->commands.empty() && !words.empty())
      out += fmt::format("complete -c batchfeed -n {} -fa {}\n", in_fish_quotes(here), in_fish_quotes(joined(words)));
    for (const OptionRow* option : options_of(*command, root)) out += fish_option(here, *option);
  }
  return out;
}

}  // namespace

std::string completion_script(const CommandRow& root, const std::string& shell) {
  if (shell == "bash") return bash(root);
  if (shell == "zsh") return zsh(root);
  return fish(root);
}

}  // namespace batchfeed::cli
