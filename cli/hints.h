// SPDX-License-Identifier: MIT
//
// What the library tells to do, in the words of the command line.
#pragma once

#include <batchfeed/error.h>

#include <string>

namespace CLI {
class App;
}

namespace batchfeed::cli {

// Which command runs. An option that it lacks is named as what it has instead, or as that of another command.
void set_running(const CLI::App& command);

// The fault with `section = A.B` of its hint as --section A.B, and `check()` as batchfeed check.
Fault in_flags(Fault fault);

// A message for people, of 4 KiB and what is written out of them. It holds names out of files: they may not steer the
// terminal, nor begin a line.
std::string message_text(const Fault& fault);

// A line of a list of findings: of warnings it says that they are.
std::string finding_text(const Notice& notice);

}  // namespace batchfeed::cli
