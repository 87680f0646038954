// SPDX-License-Identifier: MIT
//
// The `batchfeed` command: declares the subcommands, runs the one asked for,
// and turns an error into a message and an exit code.
#include <batchfeed/version.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "command.h"
#include "format.h"
#include "hints.h"
#include "usage.h"
#include "words.h"

namespace batchfeed::cli {

namespace {

// Bounds of the width of --help, and of the column in which descriptions begin; between them the terminal's width
// counts.
constexpr std::size_t kMostWidth = 100, kLeastWidth = 40, kMostColumn = 34;

std::size_t help_width() {
  std::size_t width = kMostWidth;
  ::winsize window{};
  const char* const columns = std::getenv("COLUMNS");
  const char* const end = columns == nullptr ? nullptr : columns + std::strlen(columns);
  std::size_t said = 0;
  if (columns != end && std::from_chars(columns, end, said).ptr == end && said != 0) {
    width = said;
  } else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col != 0) {
    width = window.ws_col;
  }
  return std::clamp(width, kLeastWidth, kMostWidth);
}

// The text in lines of at most `width` characters; longer words stay whole.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t begin = 0;
  while (text.size() - begin > width) {
    std::size_t end = text.rfind(' ', begin + width);
    if (end == std::string::npos || end <= begin) end = text.find(' ', begin + width);
    if (end == std::string::npos) break;
    out += text.substr(begin, end - begin) + '\n';
    begin = end + 1;
  }
  return out + text.substr(begin);
}

// Puts examples before usage and options: most people who ask for help want something to copy.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(column_); }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string out = app->get_description() + "\n";
    if (!app->get_footer().empty()) out += "\nExamples:\n" + app->get_footer() + "\n";
    out += "\n" + make_usage(app, std::move(name)) + make_positionals(app) + make_groups(app, mode) +
           make_subcommands(app, mode);
    while (!out.empty() && out.back() == '\n') out.pop_back();
    for (std::size_t at; (at = out.find("\n\n\n")) != std::string::npos;) out.erase(at, 1);
    return out + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string out = "Usage: " + path_of(*app);
    if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) return out + " COMMAND ...\n";
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); })) {
      out += make_option_opts(option) + (option->get_items_expected_max() > 1 ? "..." : "");
    }
    (void)name;
    return out + " [options]\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), width_ - column_);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    // The type name without choices and ranges, which stand in the description; a form such as M:N is kept whole.
    const std::string name = option->get_type_name();
    const bool is_whole = name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ:") == name.npos;
    return " " + (is_whole ? name : name.substr(0, name.find(':')));
  }

  std::size_t width_ = help_width(), column_ = std::min(kMostColumn, width_ * 2 / 5);
};

int fail_usage(Console& console, const std::string& what) {
  console.say("batchfeed: " + printable(what, 4 * what.size()));
  return kUsage;
}

// The fault that ended a command, in flags; for a fault in data the hint also names `check`, which lists all faults.
Fault with_next_step(Fault fault, const std::string& name) {
  fault = in_flags(std::move(fault));
  // Of the commands that print text, none can give ids.
  if (fault.id == "ctf.write-same-id")
    fault.hint = "batchfeed merge writes a file with ids of its own; --format jsonl needs none";
  // ctf2bin's header file is not checked by `check`.
  const bool of_header = name == "ctf2bin" && (fault.id == "ctf2bin.bad-header" || fault.id == "ctf.unknown-input");
  const bool in_data = fault.kind == FaultKind::format && fault.at.line != 0 && !of_header;
  if (in_data && name != "check" && fault.hint.find("batchfeed check") == std::string::npos)
    fault.hint += std::string(fault.hint.empty() ? "" : "; ") + "batchfeed check lists every fault";
  return fault;
}

int run(Console& console, const std::string& name, const Run& command) {
  try {
    return command();
  } catch (const UsageError& error) {
    return fail_usage(console, error.what());
  } catch (const Error& error) {
    console.fail(with_next_step(error.fault(), name));
    return error.fault().kind == FaultKind::internal ? kInternal : kInput;
  } catch (const interrupt::Interrupted&) {
    console.clear_progress();
    return interrupt::status();
  } catch (const std::bad_alloc&) {
    console.fail({.kind = FaultKind::limit,
                  .what = "out of memory",
                  .hint = "a smaller --window-chunks or chunk size needs less"});
    return kInput;
  } catch (const std::exception& error) {
    console.fail({.what = fmt::format("a defect of batchfeed: {}", error.what()),
                  .hint = "please report it with this command line"});
    return kInternal;
  }
}

struct Command {
  const char* name;
  Run (*declare)(CLI::App&, Console&);
  bool of_all = false;  // needs the declarations of all commands
};
constexpr Command kCommands[] = {
    {"info", add_info},       {"head", add_head},           {"cat", add_cat},
    {"sample", add_sample},   {"grep", add_grep},           {"diff", add_diff},
    {"stats", add_stats},     {"schema", add_schema},       {"check", add_check},
    {"read", add_read},       {"resume", add_resume},       {"plan", add_plan},
    {"report", add_report},   {"index", add_index},         {"bench", add_bench},
    {"config", add_config},   {"split", add_split},         {"merge", add_merge},
    {"shuffle", add_shuffle}, {"convert", add_convert},     {"ctf2bin", add_ctf2bin},
    {"help", add_help, true}, {"manual", add_manual, true}, {"completion", add_completion, true},
    {"version", add_version}};

// The command of this name, if it can be declared alone: declaring all commands takes longer than a short run.
const Command* alone(const char* word) {
  const auto* const found = std::find_if(std::begin(kCommands), std::end(kCommands),
                                         [&](const Command& c) { return std::strcmp(c.name, word) == 0; });
  return found == std::end(kCommands) || found->of_all ? nullptr : found;
}

// Runs the command line. `only`: declares no other command, and returns nothing for arguments that do not fit, so that
// the caller tries again with all commands, for the right message.
std::optional<int> run_command(int argc, char** argv, Console& console, const Command* only) {
  CLI::App app("Reads, checks and converts training corpora in CNTK's formats, and feeds minibatches.", "batchfeed");
  app.footer(
      "  batchfeed info train.ctf              # what is in it\n"
      "  batchfeed check train.cntk            # every fault, with its place and cure\n"
      "  batchfeed read train.cntk --limit 3   # minibatches\n"
      "  batchfeed bench --help                # of any command: examples first");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "batchfeed " BATCHFEED_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("-q,--quiet", console.quiet, "No notices");
  app.add_flag("-v,--verbose", console.verbose, "More notices");
  app.add_flag("--no-progress", console.no_progress, "No progress bar, also on a terminal");

  std::vector<std::pair<std::string, Run>> commands;
  for (const Command& c : kCommands) {
    if (only == nullptr || only == &c) commands.emplace_back(c.name, c.declare(app, console));
  }
  expect_words(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return run(console, {}, [&] { return put_text(app.help()); });
  } catch (const CLI::CallForVersion& version) {
    return run(console, {}, [&] { return put_text(std::string(version.what()) + '\n'); });
  } catch (const UsageError& error) {
    return fail_usage(console, error.what());
  } catch (const CLI::ParseError& error) {
    if (only != nullptr) return std::nullopt;
    return fail_usage(console, usage_text(app, error));
  }
  for (const auto& [name, command] : commands) {
    if (!app.got_subcommand(name)) continue;
    set_running(*app.get_subcommand(name));
    return run(console, name, command);
  }
  return fail_usage(console, "no command given; hint: batchfeed --help");
}

// Opens /dev/null for standard streams that are closed, as a daemon's may be: a file opened later would get the number
// of one, and messages would be written into it. /dev/null is opened in the wrong direction, so that using the stream
// still fails.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// Raises the soft limit of open files, often 1,024, to the hard one, as a command may write more files at a time. (The
// limit is low for programs that call select(), which is not called here.)
void allow_many_files() {
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int run_command(int argc, char** argv) {
  Console console;
  interrupt::install();
  if (const Command* const only = argc > 1 ? alone(argv[1]) : nullptr) {
    if (const std::optional<int> done = run_command(argc, argv, console, only)) return *done;
  }
  return *run_command(argc, argv, console, nullptr);
}

int main_of(int argc, char** argv) {
  occupy_standard_streams();
  allow_many_files();
  try {
    return run_command(argc, argv);
  } catch (const std::bad_alloc&) {  // too little memory to declare the command, or to make a message
    static constexpr char kMessage[] = "batchfeed: out of memory\n";
    [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
    return kInput;
  }
}

}  // namespace

int put_text(std::string_view text) {
  Output output;
  output.append(text);
  output.flush();
  return kDone;
}

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& summary, const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer(indented(examples, "  "));
  return *command;
}

}  // namespace batchfeed::cli

int main(int argc, char** argv) { return batchfeed::cli::main_of(argc, argv); }
