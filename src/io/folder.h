// SPDX-License-Identifier: MIT
//
// Folders of temporary files. Unlike the standard library's iterators these
// functions survive a lack of memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace batchfeed::io {

// Deletes a folder and all that is in it, or a file, as far as possible. Of a link only itself: what it leads to stays.
void remove_tree(const std::string& path);

// The size of a file; 0 if it cannot be told, as of one that somebody has removed.
std::uint64_t size_or_none(const std::string& path);

// What the temporary name of a file begins with, before ".tmp.": its name, cut if it leaves no room for the rest.
std::string_view temporary_stem(std::string_view name) noexcept;

// Deletes temporary files of `target` (and of its keys) that a killed run of this user left; those of the last hour may
// be in use, and those that are locked are. Follows no link in them: the folder may have come with somebody else's
// corpus. Reads the folder of the last call again after half an hour only.
void remove_leftovers(const std::string& target);

}  // namespace batchfeed::io
