// SPDX-License-Identifier: MIT
#include "compressed/seek_table.h"

#include <algorithm>
#include <array>

#include "base/cursor.h"

namespace batchfeed::compressed {

namespace {

constexpr std::uint32_t kSkippable = 0x184D2A5E, kMagic = 0x8F92EAB1;
constexpr std::uint64_t kHeader = 8, kFooter = 9;

std::uint32_t u32(const std::byte* at) { return batchfeed::load<std::uint32_t>(at); }

void put(std::vector<std::byte>& out, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>((value >> shift) & 0xFF));
}

}  // namespace

std::optional<SeekTable> read_seek_table(const Stored& file) {
  std::array<std::byte, kFooter> footer{};
  if (file.size < kHeader + kFooter) return std::nullopt;
  file.read(file.size - kFooter, footer);
  if (u32(footer.data() + 5) != kMagic) return std::nullopt;
  const auto descriptor = std::to_integer<unsigned>(footer[4]);
  const std::uint64_t frames = u32(footer.data()), each = (descriptor & 0x80) != 0 ? 12 : 8;
  const std::uint64_t bytes = frames * each;  // below 2^36
  const auto bad = [&](const char* why) { fail_seek_table(file, file.size - kFooter, why); };
  if ((descriptor & 0x7C) != 0) bad("its seek table has bits that mean nothing");
  if (bytes > file.size - kHeader - kFooter) bad("its seek table lists more frames than the file can hold");
  const std::uint64_t begin = file.size - kFooter - bytes - kHeader;
  std::array<std::byte, kHeader> header{};
  file.read(begin, header);
  if (u32(header.data()) != kSkippable || u32(header.data() + 4) != bytes + kFooter) return std::nullopt;

  SeekTable table;
  table.frames.reserve(static_cast<std::size_t>(frames));
  std::vector<std::byte> part;
  std::uint64_t compressed = 0;
  constexpr std::uint64_t kEntries = 4096;
  for (std::uint64_t done = 0; done < frames; done += kEntries) {
    const std::uint64_t n = std::min(kEntries, frames - done);
    part.resize(static_cast<std::size_t>(n * each));
    file.read(begin + kHeader + done * each, part);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::byte* const entry = part.data() + i * each;
      table.frames.push_back({.compressed = compressed, .unpacked = table.unpacked});
      compressed += u32(entry);
      table.unpacked += u32(entry + 4);
    }
  }
  // Of several files that were concatenated, this table covers only the last.
  if (compressed != begin) return std::nullopt;
  return table;
}

std::vector<std::byte> seek_table_bytes(const std::vector<FrameSize>& frames) {
  std::vector<std::byte> out;
  out.reserve(kHeader + frames.size() * 8 + kFooter);
  put(out, kSkippable);
  put(out, static_cast<std::uint32_t>(frames.size() * 8 + kFooter));
  for (const FrameSize& frame : frames) {
    put(out, frame.compressed);
    put(out, frame.unpacked);
  }
  put(out, static_cast<std::uint32_t>(frames.size()));
  out.push_back(std::byte{0});
  put(out, kMagic);
  return out;
}

}  // namespace batchfeed::compressed
