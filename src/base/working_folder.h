// SPDX-License-Identifier: MIT
//
// Where relative paths count from at this moment, for files that are opened again, or get their names, when the process
// may be elsewhere.
#pragma once

#include <string>

namespace batchfeed {

// The absolute path of the working folder. Empty if the system does not tell it, or if that path leads elsewhere or
// through folders that may not be passed: then only relative paths reach the folder.
std::string working_folder();

// An absolute path of what a path leads to now; the path itself where it is empty, or a name beside what it leads to
// (".tmp." and six letters) would be longer than the system takes.
std::string from_anywhere(const std::string& path);

}  // namespace batchfeed
