// SPDX-License-Identifier: MIT
//
// Refuses files that were taken for text corpora because of their name or a few bytes, and are something else.
#pragma once

#include <batchfeed/tools.h>

#include <string>

#include "io/file.h"

namespace batchfeed::tools {

// Throws Error for bytes that are no text. NULs are not counted: they are what a failing disk leaves of text.
void expect_text(const io::File& file);

// Throws Error where there are streams, but not one value: a table with '|' between its columns looks so.
void expect_values(const std::string& file, const Inferred& inferred);

}  // namespace batchfeed::tools
