// SPDX-License-Identifier: MIT
//
// Limits for files that we wrote ourselves a moment ago. What is in them was read within the caller's limits, which may
// be raised ones; here nobody could raise one.
#pragma once

#include <batchfeed/limits.h>

#include <cstdint>

namespace batchfeed {

inline Limits own_limits() {
  constexpr std::uint64_t kAny = 1ull << 62;  // leaves room to add to it
  Limits out;
  out.line_bytes = out.list_line_bytes = kAny;
  out.streams = out.name_bytes = out.key_bytes = kAny;
  out.label_frames = out.label_ratio = out.implied_samples = kAny;
  out.scp_entries = out.mlf_states = kAny;
  out.unpacked_bytes = out.unpack_ratio = out.unpack_held_ratio = kAny;
  return out;
}

}  // namespace batchfeed
