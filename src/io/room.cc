// SPDX-License-Identifier: MIT
#include "io/room.h"

#include <algorithm>

#include "base/counted.h"
#include "base/saturate.h"

namespace batchfeed::io {
namespace {

Room room(const File& file, const Limits& limits, std::uint64_t any, Room plain) {
  if (!file.is_packed()) return plain;
  const std::uint64_t bytes = std::max(any, mul_sat(file.identity().size, limits.packed_ratio));
  return bytes < plain.bytes ? Room{bytes, "packed_ratio"} : plain;
}

}  // namespace

Room room_for_line(const File& file, const Limits& limits) {
  return room(file, limits, kAnyPacked, {limits.line_bytes, "line_bytes"});
}

Room room_for_index(const File& file, const Limits& limits) { return room(file, limits, kAnyPackedIndex, {~0ull, ""}); }

Fault large_index(const File& file, const Position& at, const Limits& limits) {
  return {.kind = FaultKind::limit,
          .id = "limit.packed-index",
          .at = at,
          .what = "up to here there are so many sequences that an index of them takes more than " +
                  std::to_string(limits.packed_ratio) + " times the " + counted(file.identity().size, "byte") +
                  " of the packed file",
          .hint = "if you trust it, raise limits.packed_ratio, or unpack it first"};
}

}  // namespace batchfeed::io
