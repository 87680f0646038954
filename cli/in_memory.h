// SPDX-License-Identifier: MIT
//
// Text that is looked at in memory instead of in its file: the beginning of a large
// one, or what a compressed one unpacks to, which then is unpacked once. It goes by a
// name of its own inside, and by the file's in all that is said.
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/files.h>

#include <memory>
#include <string>

namespace batchfeed::cli {

// The name inside, and the file's again; other names stay as they are.
std::string memory_name(const std::string& file);
std::string own_name(const std::string& name);

// Opens the one name there is.
FileSystem memory_files(std::shared_ptr<const std::string> text);

// What is said of a fault, with the file's own name.
Fault under_own_name(Fault fault);
Report under_own_name(Report report);

}  // namespace batchfeed::cli
