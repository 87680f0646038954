// SPDX-License-Identifier: MIT
//
// The header of an HTK parameter file (docs/reference/formats/htk.md):
//   int32 frames, int32 period in 100 ns, uint16 bytes a frame, uint16 kind
// in either byte order, then, by kind, a GUID or the scales of compressed data.
// Also IDX files of bytes, which the legacy reader takes for features.
#pragma once

#include <cstdint>
#include <string>

#include "io/file.h"

namespace batchfeed::htk {

// Bits of the kind: compressed, with a checksum, vector quantised (_C, _K, _V).
inline constexpr std::uint16_t kCompressed = 02000, kChecksum = 010000, kVq = 040000;

enum class Encoding : std::uint8_t { f32, compressed, bytes };

struct Header {
  std::uint64_t frames = 0;  // as the header says, compressed data corrected
  std::uint64_t held = 0;    // whole frames in the file; may be fewer than `frames`
  std::uint64_t data = 0;    // offset of the first frame
  std::uint32_t period = 0;  // of a frame, in 100 ns
  std::uint32_t frame_bytes = 0;
  std::uint32_t dim = 0;
  std::uint16_t kind_code = 0;
  bool big_endian = true;
  Encoding encoding = Encoding::f32;
  std::string kind;  // "FBANK_D_A_Z"
};

// Base name and qualifiers in HTK's order, without _C and _K; "" for a base kind
// that is not features.
std::string kind_text(std::uint16_t code);

// Reads and checks the header of `file`, which is an IDX file where its name ends
// in -ubyte. Throws Error(format).
Header read_header(const io::File& file);

}  // namespace batchfeed::htk
