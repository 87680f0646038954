// SPDX-License-Identifier: MIT
//
// Text that is read from memory instead of its file: the beginning of a large file, or an
// unpacked compressed one, which is so unpacked only once. For the library it has a name of
// its own; messages name the file.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/files.h>

#include <memory>
#include <string>

namespace batchfeed::cli {

// The library's name for a file's text in memory, and the file's name again; own_name() leaves other names alone.
std::string memory_name(const std::string& file);
std::string own_name(const std::string& name);

// Opens any name as this text.
FileSystem memory_files(std::shared_ptr<const std::string> text);

// The fault, and a report, with the file's own name.
Fault under_own_name(Fault fault);
Report under_own_name(Report report);

}  // namespace batchfeed::cli
