// SPDX-License-Identifier: MIT
//
// What was taken for a text corpus because of its name, or of a few bytes, and is something else.
#pragma once

#include <batchfeed/files.h>
#include <batchfeed/tools.h>

#include <string>

namespace batchfeed::tools {

// Throws Error for bytes that are no text. NULs are not counted: they are what a failing disk leaves of text.
void expect_text(const std::string& file, const FileSystem& file_system, const Limits& limits);

// Throws Error where there are streams, but not one value: a table with '|' between its columns looks so.
void expect_values(const std::string& file, const Inferred& inferred);

}  // namespace batchfeed::tools
