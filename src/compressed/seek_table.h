// SPDX-License-Identifier: MIT
//
// The seek table at the end of a zstd file, as zstd's contrib/seekable_format
// describes it: a skippable frame, which other readers pass over.
//
//   0x184D2A5E, bytes of what follows                          4 + 4
//   for each frame: compressed bytes, unpacked bytes[, checksum]   4 + 4 [+ 4]
//   number of frames, descriptor, 0x8F92EAB1                   4 + 1 + 4
//
// All little-endian. Bit 7 of the descriptor: there are checksums; bits 2 to 6 are 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compressed/compressed.h"

namespace batchfeed::compressed {

struct SeekTable {
  std::vector<Point> frames;
  std::uint64_t unpacked = 0;  // all of them
};

// nullopt: there is no table, or not one of the whole file (but of the last of several put together). Throws
// Error(format) for one that cannot be right for any file.
std::optional<SeekTable> read_seek_table(const Stored& file);

struct FrameSize {
  std::uint32_t compressed = 0, unpacked = 0;
};

std::vector<std::byte> seek_table_bytes(const std::vector<FrameSize>& frames);

}  // namespace batchfeed::compressed
