// SPDX-License-Identifier: MIT
//
// What the entry of a list may name: a file. Not a command, not a standard
// stream; devices and FIFOs are refused when they are opened (file.h).
#pragma once

#include <batchfeed/error.h>

#include <string>
#include <string_view>

namespace batchfeed::io {

// Throws Error(io) with `at` if `path` is empty, has a NUL byte, is `-`, or
// starts or ends in `|`.
void check_data_path(std::string_view path, const Position& at);

// The directory part of a path: up to its last `/` or `\`, without it; "." if
// there is none, "/" for a file in the root.
std::string_view directory_of(std::string_view path) noexcept;

// A path in a list as it is opened: relative to the list if that is a URL, else as
// it stands there.
std::string path_in_list(std::string_view path, std::string_view directory_of_list);

}  // namespace batchfeed::io
