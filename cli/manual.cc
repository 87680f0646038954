// SPDX-License-Identifier: MIT
//
// `batchfeed manual` and `batchfeed completion`: man pages and completion scripts, which a package
// installs, from the same table as --help; and `batchfeed help`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "command.h"
#include "command_table.h"
#include "usage.h"

namespace batchfeed::cli {

namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code code;
  std::filesystem::create_directories(path.parent_path(), code);
  if (code) {
    throw Error(Fault{.kind = FaultKind::io,
                      .id = "io.create",
                      .at = {.file = path.parent_path().string()},
                      .what = fmt::format("cannot create: {}", code.message())});
  }
  as_asked([&] { save_file(path.string(), text, true); });
}

[[noreturn]] void no_command(const std::vector<std::string>& words) {
  throw UsageError(fmt::format("no command '{}'; hint: batchfeed --help", fmt::join(words, " ")));
}

int run_manual(const CLI::App& app, const std::vector<std::string>& words, const std::string& folder) {
  const CommandRow root = command_table(app);
  if (!folder.empty()) {
    for (const CommandRow* command : flat(root)) {
      const std::string path = command->words('-');
      write_file(std::filesystem::path(folder) / fmt::format("batchfeed{}{}.1", path.empty() ? "" : "-", path),
                 man_page(*command, root));
    }
    return kDone;
  }
  for (const CommandRow* command : flat(root)) {
    if (command->path == words) return put_text(man_page(*command, root));
  }
  no_command(words);
}

int run_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const auto found = command->get_subcommands([&](const CLI::App* below) { return below->get_name() == word; });
    if (found.empty()) no_command(words);
    command = found.front();
  }
  // help() would print the help of the command that is running, `help`.
  return put_text(command->get_formatter()->make_help(command, path_of(*command), CLI::AppFormatMode::Normal));
}

}  // namespace

Run add_help(CLI::App& app, Console&) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App& command = add_command(app, "help", "The help of a command, as --help prints it",
                                  "batchfeed help read              # as batchfeed read --help\n"
                                  "batchfeed help config check");
  command.add_option("command", *words, "The command; without one, batchfeed itself")->type_name("[COMMAND]");
  return [words, &app] { return run_help(app, *words); };
}

Run add_manual(CLI::App& app, Console&) {
  auto words = std::make_shared<std::vector<std::string>>();
  auto folder = std::make_shared<std::string>();
  CLI::App& command =
      add_command(app, "manual", "The man page of a command, or all of them into a folder",
                  "batchfeed manual read | man -l -\n"
                  "batchfeed manual --into ~/.local/share/man/man1   # for one user: man batchfeed-read");
  command.add_option("command", *words, "The command; without one, batchfeed itself")->type_name("[COMMAND]");
  command.add_option("--into", *folder, "Write all pages to this folder")->type_name("DIR");
  return [words, folder, &app] { return run_manual(app, *words, *folder); };
}

Run add_completion(CLI::App& app, Console&) {
  auto shell = std::make_shared<std::string>();
  CLI::App& command = add_command(app, "completion", "What bash, zsh or fish needs to complete commands and options",
                                  "source <(batchfeed completion bash)                 # in ~/.bashrc\n"
                                  "source <(batchfeed completion zsh)                  # in ~/.zshrc, behind compinit\n"
                                  "batchfeed completion fish > ~/.config/fish/completions/batchfeed.fish");
  command.add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
  return [shell, &app] { return put_text(completion_script(command_table(app), *shell)); };
}

}  // namespace batchfeed::cli
