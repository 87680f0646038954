// SPDX-License-Identifier: MIT
#include "formats/htk/header.h"

#include <array>
#include <utility>

#include "base/counted.h"
#include "base/cursor.h"
#include "base/hex.h"

namespace batchfeed::htk {
namespace {

constexpr std::uint16_t kAnonymous = 12;
constexpr std::size_t kHeaderBytes = 12, kGuidBytes = 16;

struct Fields {
  std::int32_t samples = 0;
  std::uint32_t period = 0;
  std::uint16_t size = 0, kind = 0;
};

template <std::endian order>
Fields fields(const std::byte* p) noexcept {
  return {load<std::int32_t, order>(p), load<std::uint32_t, order>(p + 4), load<std::uint16_t, order>(p + 8),
          load<std::uint16_t, order>(p + 10)};
}

bool plausible(const Fields& f, std::uint64_t file_size) {
  if (kind_text(f.kind).empty() || f.size == 0 || f.samples < 0) return false;
  return static_cast<std::uint64_t>(f.samples) * f.size <= file_size;
}

// Decided by the period alone, as ordinary periods are small numbers. If that is the same in both
// orders (0), by which order makes the rest of the header plausible.
bool is_big_endian(const std::byte* p, std::uint64_t file_size) {
  const Fields big = fields<std::endian::big>(p), little = fields<std::endian::little>(p);
  if (big.period != little.period) return big.period < little.period;
  return plausible(big, file_size) && !plausible(little, file_size);
}

Header idx_header(const io::File& file) {
  std::array<std::byte, 16> raw;
  if (file.size() < raw.size())
    io::fail_at(file, file.size(), "htk.idx",
                "an IDX file has a header of 16 bytes, this one has " + std::to_string(file.size()));
  file.read(0, raw);
  const auto field = [&](std::size_t i) { return load<std::uint32_t, std::endian::big>(raw.data() + 4 * i); };
  if (field(0) != 2051)
    io::fail_at(file, 0, "htk.idx",
                "the magic number of an IDX file of images is 2051, found " + std::to_string(field(0)));
  const std::uint64_t dim = std::uint64_t{field(2)} * field(3);
  if (dim == 0 || dim > 65535)
    io::fail_at(file, 8, "htk.idx", "images have 1 to 65535 pixels, found " + std::to_string(dim));
  Header h;
  h.frames = field(1);
  h.data = raw.size();
  h.dim = h.frame_bytes = static_cast<std::uint32_t>(dim);
  h.held = (file.size() - h.data) / h.frame_bytes;
  h.encoding = Encoding::bytes;
  h.kind_code = 9;
  h.kind = "USER";
  return h;
}

void take_kind(const io::File& file, std::uint16_t code, Header& h) {
  h.kind_code = code;
  h.kind = kind_text(code);
  const std::string number = std::to_string(code);
  if (h.kind.empty()) {
    io::fail_at(file, 10, "htk.kind",
                "kind " + number + " has base kind " + std::to_string(code & 077) +
                    ", expected MFCC (6), FBANK (7), USER (9) or PLP (11)",
                "is this an HTK parameter file of features?");
  }
  if (code & kVq)
    io::fail_at(file, 10, "htk.kind",
                "kind " + number + " (" + h.kind + ") is vector quantised (_V), which holds no feature values");
}

void take_frame_size(const io::File& file, std::uint16_t bytes, Header& h) {
  const unsigned width = (h.kind_code & kCompressed) ? 2 : 4;
  if (bytes == 0 || bytes % width != 0) {
    io::fail_at(
        file, 8, "htk.frame-size",
        "a frame has " + counted(bytes, "byte") + ", expected a multiple of " + std::to_string(width) + " above 0");
  }
  h.frame_bytes = bytes;
  h.dim = bytes / width;
}

void take_guid(const io::File& file, Header& h) {
  std::array<std::byte, kGuidBytes> guid;
  if (file.size() < kHeaderBytes + kGuidBytes)
    io::fail_at(file, file.size(), "htk.header", "the file ends in its GUID");
  file.read(kHeaderBytes, guid);
  h.kind += ";guid=";
  for (const std::byte byte : guid) append_hex(h.kind, std::to_integer<unsigned char>(byte));
  h.data += kGuidBytes;
}

}  // namespace

std::string kind_text(std::uint16_t code) {
  std::string text;
  switch (code & 077) {
    case 6: text = "MFCC"; break;
    case 7: text = "FBANK"; break;
    case 9:
    case 12: text = "USER"; break;
    case 11: text = "PLP"; break;
    default: return {};
  }
  constexpr std::array<std::pair<unsigned, const char*>, 7> kQualifiers{
      {{0100, "_E"}, {0400, "_D"}, {0200, "_N"}, {01000, "_A"}, {0100000, "_T"}, {04000, "_Z"}, {020000, "_0"}}};
  for (const auto& [bit, name] : kQualifiers) {
    if (code & bit) text += name;
  }
  return text;
}

namespace {

Header htk_header(const io::File& file) {
  std::array<std::byte, kHeaderBytes> raw;
  if (file.size() < kHeaderBytes) {
    io::fail_at(file, file.size(), "htk.header",
                "not an HTK parameter file: it has " + counted(file.size(), "byte") + ", its header alone has 12");
  }
  file.read(0, raw);
  Header h;
  h.big_endian = is_big_endian(raw.data(), file.size());
  const Fields f = h.big_endian ? fields<std::endian::big>(raw.data()) : fields<std::endian::little>(raw.data());
  h.period = f.period;
  take_kind(file, f.kind, h);
  take_frame_size(file, f.size, h);
  h.data = kHeaderBytes;
  std::int64_t frames = f.samples;
  if (f.kind & kCompressed) {
    // The header counts A and B, dim floats each in front of the frames, as 4 frames.
    h.encoding = Encoding::compressed;
    frames -= 4;
    h.data += std::uint64_t{8} * h.dim;
  } else if (f.kind == kAnonymous) {
    take_guid(file, h);
  }
  if (frames < 0) {
    io::fail_at(file, 0, "htk.frames",
                "the header counts " + counted(f.samples, "frame") +
                    (h.encoding == Encoding::compressed ? ", compressed files have at least 4" : ""));
  }
  if (file.size() < h.data)
    io::fail_at(file, file.size(), "htk.header",
                "the file ends in its scales, which take " + counted(h.data, "byte") + " with the header");
  h.frames = static_cast<std::uint64_t>(frames);
  h.held = (file.size() - h.data) / h.frame_bytes;
  return h;
}

}  // namespace

Header read_header(const io::File& file) {
  if (file.path().ends_with("-ubyte")) return idx_header(file);
  try {
    return htk_header(file);
  } catch (const Error& error) {
    throw Error(io::of_archive(error.fault(), file));
  }
}

}  // namespace batchfeed::htk
