// SPDX-License-Identifier: MIT
//
// Binary MLF (docs/reference/formats/mlf.md): utterances as runs of frames.
//   "MLF", int16 version, then per utterance: u32 number (version 1) or u16 length
//   and key (version 2), u32 frames, u16 segments, segments x { u16 class, u16 frames }
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "formats/mlf/labels.h"

namespace batchfeed::mlf {

// `bytes` from the number of segments on. Throws Error: a class that is too
// large, or runs that do not add up to `frames`.
void parse_binary(std::span<const std::byte> bytes, const Position& at, std::string_view key, std::uint32_t frames,
                  std::uint64_t classes, Labels& out);

}  // namespace batchfeed::mlf
