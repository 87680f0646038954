// SPDX-License-Identifier: MIT
//
// Man pages from the same table as --help.
#include <batchfeed/version.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <sstream>

#include "command_table.h"

namespace batchfeed::cli {

namespace {

constexpr const char* kExitStatus = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
Faults were found, or the answer is no.
.TP
.B 2
The command line makes no sense.
.TP
.B 3
Input or configuration cannot be read, or output not written, or not with these data.
.TP
.B 4
A defect of batchfeed.
.TP
.B 130, 143, 129, 152
Ended by an interrupt, SIGTERM, SIGHUP or SIGXCPU (a limit of CPU time).
.TP
.B 141
Nobody reads standard output any more.
)";

constexpr const char* kEnvironment = R"(.SH ENVIRONMENT
.TP
.B NO_COLOR
Set to anything: no colours. They are used on a terminal only, and not if
.B TERM
is dumb.
.TP
.BR RANK ", " WORLD_SIZE " and those of SLURM, Open MPI and PMI"
The number of this worker and of all, where
.B batchfeed read
is not told by \-\-rank and \-\-workers.
.TP
.B XDG_CACHE_HOME
Where indexes are kept if the folder of the data cannot be written.
)";

// Text for roff, escaped so that nothing in it is a request or an escape sequence.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((out.empty() || out.back() == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_text(const OptionRow& option) {
  std::string out = ".TP\n";
  for (std::size_t i = 0; i < option.names.size(); ++i) {
    out += fmt::format("{}\\fB{}\\fR", i == 0 ? "" : ", ", escaped(option.names[i]));
  }
  if (option.value == Value::choice) {
    out += " ";
    for (std::size_t i = 0; i < option.choices.size(); ++i) {
      out += fmt::format("{}\\fB{}\\fR", i == 0 ? "" : "|", escaped(option.choices[i]));
    }
  } else if (option.value != Value::none) {
    out += fmt::format(" \\fI{}\\fR", escaped(option.type));
  }
  return out + "\n" + escaped(option.summary) + "\n";
}

// The options by group; groups in the order of their first options.
std::string options_text(const std::vector<OptionRow>& options) {
  std::vector<std::string> groups;
  for (const OptionRow& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string out;
  for (const std::string& group : groups) {
    out += group == "Options" ? std::string(".SH OPTIONS\n") : fmt::format(".SS {}\n", escaped(group));
    for (const OptionRow& option : options) {
      if (option.group == group) out += option_text(option);
    }
  }
  return out;
}

std::string synopsis(const CommandRow& command) {
  std::string out =
      fmt::format(".SH SYNOPSIS\n\\fBbatchfeed{}{}\\fR", command.path.empty() ? "" : " ", escaped(command.words(' ')));
  if (!command.commands.empty()) return out + " \\fICOMMAND\\fR ...\n";
  for (const OptionRow& p : command.positionals) {
    out += fmt::format(" \\fI{}\\fR{}", escaped(p.type), p.repeats ? "..." : "");
  }
  return out + " [\\fIoptions\\fR]\n";
}

std::string page_name(const CommandRow& command) {
  return command.path.empty() ? "batchfeed" : "batchfeed-" + command.words('-');
}

}  // namespace

std::string man_page(const CommandRow& command, const CommandRow& root) {
  const std::string name = page_name(command);
  std::string out = fmt::format(".\\\" Written by `batchfeed manual`.\n.TH {} 1 \"\" \"batchfeed {}\" \"batchfeed\"\n",
                                escaped(name), BATCHFEED_VERSION);
  out += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.summary));
  out += synopsis(command);
  if (!command.examples.empty()) out += ".SH EXAMPLES\n.nf\n" + escaped(command.examples) + "\n.fi\n";
  if (!command.commands.empty()) {
    out += ".SH COMMANDS\n";
    for (const CommandRow& below : command.commands) {
      out += fmt::format(".TP\n.BR {} (1)\n{}\n", escaped(page_name(below)), escaped(below.summary));
    }
  }
  if (!command.positionals.empty()) {
    out += ".SH ARGUMENTS\n";
    for (const OptionRow& p : command.positionals) {
      out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", escaped(p.type), escaped(p.summary));
    }
  }
  out += options_text(command.options);
  if (command.path.empty()) return out + kExitStatus + kEnvironment;
  if (command.commands.empty()) out += "Options of all commands stand in\n.BR batchfeed (1).\n";
  out += kExitStatus;
  out += ".SH SEE ALSO\n.BR batchfeed (1)";
  for (const CommandRow& other : root.commands) {
    if (other.name() != command.path.front()) out += fmt::format(",\n.BR {} (1)", escaped(page_name(other)));
  }
  return out + "\n";
}

}  // namespace batchfeed::cli
