// SPDX-License-Identifier: MIT
//
// Folders of temporary files. Unlike the standard library's iterators these
// functions survive a lack of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace batchfeed::io {

// Names of the entries, in no order; empty if the folder cannot be read.
std::vector<std::string> names_in(const std::string& folder);

// Deletes a folder and all that is in it, or a file, as far as possible.
void remove_tree(const std::string& path);

// The size of a file; 0 if it cannot be told, as of one that somebody has removed.
std::uint64_t size_or_none(const std::string& path);

// Deletes temporary files of `target` (and of its keys) that a killed run left; younger ones may be in use.
void remove_leftovers(const std::string& target);

}  // namespace batchfeed::io
