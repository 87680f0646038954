// SPDX-License-Identifier: MIT
//
// An index on disk, so that the next run need not read all of the data first.
// A derived file: whatever is odd about it means that it is built again.
//
// Layout, little-endian (docs/reference/formats/index-cache.md):
//     0  magic "bfindex\n"
//     8  u32 version, u32 0
//    16  u64 size of the data     24  i64 its mtime in ns     32  u64 fingerprint of its content
//    40  u64 bytes of `options`   48  u64 bytes of `extra`    56  u64 entries
//    64  u64 texts                72  u64 bytes of all texts  80  u64 checksum (XXH3) of all bytes but these 8
//    88  options, extra, entries (32 bytes each: key, begin, bytes, u32 samples, u32 aux),
//        u32 length of each text, the texts
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text_list.h"
#include "io/file.h"
#include "model/index.h"

namespace batchfeed::index_cache {

// What a cache belongs to. All of it must be equal for the cache to count.
struct Binding {
  std::string options;  // of the format, opaque: whatever its index depends on
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t fingerprint = 0;  // of the content
};

struct Payload {
  IndexEntries entries;  // where keys are text: key = place in `texts`, the same as in `entries`
  TextList texts;
  std::string extra;  // the format's own, of at most kMostExtra bytes
};
constexpr std::uint64_t kMostExtra = std::uint64_t{1} << 20;

// A hash of a file's size and of some of its bytes: the first and last 64 KiB, and 4 KiB at 16 places between (all of a
// small file). Cheap for files of any size; independent of name and time. Throws Error.
std::uint64_t content_fingerprint(const io::File& file);

// Where the cache of a data file may lie, best first: beside it, else in the
// user's cache folder; or only in `directory` if that is given. `ending`: of its name, for what else is kept of a file.
std::vector<std::string> places(const std::string& name, const std::string& directory,
                                const FileSystem& file_system = {}, const std::string& ending = ".bfindex");

struct Loaded {
  std::optional<Payload> payload;
  std::string path;  // of the cache used, or of the last one refused
  std::string why;   // it was refused; empty where there is none at all
};
Loaded load(const std::vector<std::string>& places, const Binding& binding);

struct Stored {
  std::string path;  // of the cache, whole, in the first place that could be written; empty if none could
  std::string why;   // no place could, of each
};
// Also removes temporary files of the cache that killed runs left in the place. Who may not read the file `data` may
// not read the cache either.
Stored store(const std::vector<std::string>& places, const Binding& binding, const Payload& payload,
             const std::string& data = {});

// The fault for the notice that store() kept no cache.
Fault not_kept(const std::string& data, const Stored& stored);

}  // namespace batchfeed::index_cache
