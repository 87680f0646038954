// SPDX-License-Identifier: MIT
//
// What the entry of a list may name: a file. Not a command, not a standard
// stream; devices and FIFOs are refused when they are opened (file.h). And where it
// may lie, if the caller says so (FileSystem::roots).
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/files.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_table.h"

namespace batchfeed::io {

// Throws Error(io) with `at` if `path` is empty, has a NUL byte, is `-`, or
// starts or ends in `|`.
void check_data_path(std::string_view path, const Position& at);

// Where a file lies that a list or a user names: relative paths count from the folder of `file_system`.
std::string located(const std::string& path, const FileSystem& file_system);

// The file that a path or URL names, its symbolic links resolved. Throws Error(io) with
// `at` if it does not lie in one of the roots, whether there is such a file or not.
std::string resolve_in_roots(const std::string& path, const FileSystem& file_system, const Position& at);

// Throws Error(io) that names the pattern if there are roots and a shell pattern may look outside of them: what it
// finds would tell what is there.
void expect_in_roots(const std::string& pattern, const FileSystem& file_system);
// The same if one of the files found lies outside the roots, where a link may lead; where to is not told.
void expect_no_way_out(const std::vector<std::string>& found, const std::string& pattern,
                       const FileSystem& file_system);

// The files that lists name, numbered in the order in which they come up. `paths`, which
// gets their names, and `file_system` must outlive it.
class FileNumbers {
 public:
  FileNumbers(std::vector<std::string>& paths, const FileSystem& file_system)
      : paths_(paths), file_system_(file_system) {}
  // Throws Error(io) with `at`, which names it, if the file does not lie in one of the roots, or if its path is
  // longer than the system takes: many short lines may have one long prefix.
  std::uint32_t operator()(const std::string& path, const Position& at);

 private:
  std::vector<std::string>& paths_;
  const FileSystem& file_system_;
  TextTable names_;
};

// The directory part of a path: up to its last `/` or `\`, without it; "." if
// there is none, "/" for a file in the root.
std::string_view directory_of(std::string_view path) noexcept;

// How a path in a list would have to be mapped (FROM=TO) to name the file of its name that
// lies beside the list; empty if there is none, or the path names it already.
std::string map_beside(std::string_view path, std::string_view list, const FileSystem& file_system);

// A path in a list as it is opened: relative to the list if that is a URL, else as
// it stands there.
std::string path_in_list(std::string_view path, std::string_view directory_of_list);

}  // namespace batchfeed::io
