// SPDX-License-Identifier: MIT
//
// Files that the operating system does not open (in an object store, on a web
// server, in an archive): the caller's functions that read them. A Setup without
// these reads local files only, whatever their names look like. Also which folders
// may be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// A remote file that is open. Its functions may be called from several threads at
// once, and throw Error.
struct RemoteFile {
  std::uint64_t size = 0;
  // Differs where the bytes differ (an ETag, a checksum, a time); empty: not known.
  std::string version = {};
  // Fills all of `out` from `offset`; the range lies inside the file.
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read = {};
  // Bytes [begin, end) will be read soon, front to back. May be empty.
  std::function<void(std::uint64_t begin, std::uint64_t end)> will_read = {};
  // False if the file is no longer the one that was opened. May be empty.
  std::function<bool()> unchanged = {};
};

// What identifies the bytes of a file without reading them. For a remote file: its size, and a hash of its
// version as `mtime_ns`.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t mtime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// A file, and where the configuration, or a list that the configuration names, names it.
struct NamedFile {
  std::string path;
  std::shared_ptr<const std::string> where;  // never null; shared, as there may be many names in one file
  std::uint64_t line = 0, column = 0;        // column 0: all of the line
};

class UnpackedFiles;

struct FileSystem {
  // Opens a name for which is_url() is true. Throws where it cannot; never null.
  std::function<std::shared_ptr<const RemoteFile>(const std::string& url)> open = {};
  // The files that a shell pattern names, sorted. May be empty: no patterns.
  std::function<std::vector<std::string>(const std::string& pattern)> glob = {};
  // Folders (or URLs of folders) in which every file that is opened must lie, symbolic
  // links resolved: for configurations and lists that come from others. A configuration
  // that the caller names is read wherever it lies. Empty: anywhere.
  std::vector<std::string> roots = {};
  // The base of relative paths; empty: the working directory at the time a corpus is opened,
  // also for files that are opened again later. Faults and notices name paths as given.
  std::string folder = {};
  // The configuration that names the files, if any. When a relative path does not exist, the
  // error says whether it would exist beside this configuration.
  std::string configuration = {};
  // The files that this configuration names, sorted by path, so that the fault of a missing file tells where it is
  // named. Shared, as every source keeps a copy of the FileSystem. May be null.
  std::shared_ptr<const std::vector<NamedFile>> named_at = {};
  // What was found when compressed files were opened, for opening them again; see share_unpacked().
  std::shared_ptr<UnpackedFiles> unpacked = {};
};

// For callers who open compressed files several times, as when a corpus is inspected: the pass over a
// whole file that finds the places where unpacking can begin is made only once, and unpacked files are
// kept in memory, up to `text_bytes` for all of them together.
std::shared_ptr<UnpackedFiles> share_unpacked(std::size_t text_bytes = 0);

// SCHEME://..., or as fsspec chains them, SCHEME::SCHEME://...
bool is_url(std::string_view name) noexcept;

}  // namespace batchfeed
