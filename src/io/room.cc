// SPDX-License-Identifier: MIT
#include "io/room.h"

#include <algorithm>

#include "base/counted.h"
#include "base/saturate.h"

namespace batchfeed::io {
namespace {

Room room(const File& file, const Limits& limits, std::uint64_t any, Room plain) {
  if (!file.is_compressed()) return plain;
  const std::uint64_t bytes = std::max(any, mul_sat(file.identity().size, limits.unpack_held_ratio));
  return bytes < plain.bytes ? Room{bytes, "unpack_held_ratio"} : plain;
}

}  // namespace

Room room_for_line(const File& file, const Limits& limits) {
  return room(file, limits, kAnyCompressed, {limits.line_bytes, "line_bytes"});
}

Room room_for_index(const File& file, const Limits& limits) {
  return room(file, limits, kAnyCompressedIndex, {~0ull, ""});
}

Fault large_index(const File& file, const Position& at, const Limits& limits) {
  return {.kind = FaultKind::limit,
          .id = "limit.compressed-index",
          .at = at,
          .what = "up to here there are so many sequences that an index of them takes more than " +
                  std::to_string(limits.unpack_held_ratio) + " times the " + counted(file.identity().size, "byte") +
                  " of the compressed file",
          .hint = "if you trust it, raise limits.unpack_held_ratio, or unpack it first"};
}

}  // namespace batchfeed::io
