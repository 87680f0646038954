// SPDX-License-Identifier: MIT
//
// The library's hints, in the words of the command line.
#pragma once

#include <batchfeed/error.h>

#include <string>

namespace CLI {
class App;
}

namespace batchfeed::cli {

// Sets the command that runs. Where a hint names an option that this command lacks, it is replaced by the one that the
// command has instead, or named as one of another command.
void set_running(const CLI::App& command);

// The fault with `section = A.B` of its hint as --section A.B, and `check()` as batchfeed check.
Fault in_flags(Fault fault);

// The message of a fault, made from at most 4 KiB of its text. As that holds names from files, it is printable(): it
// cannot control the terminal, and is one line.
std::string message_text(const Fault& fault);

// A line of a list of findings; warnings are marked as such.
std::string finding_text(const Notice& notice);

}  // namespace batchfeed::cli
