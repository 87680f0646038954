// SPDX-License-Identifier: MIT
//
// Whether a file is the one that was looked at before.
#pragma once

#include <batchfeed/files.h>

#include <string>

namespace batchfeed::io {

using Identity = FileIdentity;

// Of an open file. Throws Error(io) unless it is a regular one whose size is known.
Identity identify(int fd, const std::string& path);

// Throws Error(stale). "changed `when`", and how.
[[noreturn]] void fail_changed(const std::string& path, const char* when, const Identity& before, const Identity& now);

}  // namespace batchfeed::io
