// SPDX-License-Identifier: MIT
//
// For the fuzz targets: files of the modern layout, built field by field from
// the fuzzer's bytes. Most fields are as they should be, some are wild, so that
// mutations reach what lies behind the first check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "formats/cbf/header.h"

namespace batchfeed::cbf::fuzz {

// Numbers out of the fuzzer's bytes; zeros when they are used up.
class Draw {
 public:
  Draw(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  std::uint8_t byte() { return at_ == end_ ? 0 : *at_++; }
  std::uint32_t below(std::uint32_t n) { return byte() % n; }
  // The value itself, or now and then one at a boundary.
  std::uint32_t field(std::uint32_t value) {
    const std::uint8_t how = byte();
    if (how < 0xE8) return value;
    static constexpr std::array<std::uint32_t, 12> kOdd = {
        0, 1, 2, 0x0FFFFFFF, 0x10000000, 0x3FFFFFFF, 0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, 5};
    if (how < 0xF4) return kOdd[how - 0xE8];
    if (how < 0xFA) return value + 1;
    return how < 0xFD ? value - 1 : byte() * 0x01010101u;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

template <class T>
void put(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

struct Table {
  std::vector<FileStream> streams;
  std::vector<FileChunk> rows;  // begin, sequences, samples
};

// The header and trailer behind `out`, which holds prefix and chunks. With
// `wild`, fields of the streams and counts are drawn; rows are as given.
inline void finish(std::string& out, const Table& table, Draw* wild = nullptr) {
  const auto field = [wild](std::uint32_t value) { return wild == nullptr ? value : wild->field(value); };
  const std::uint64_t at = out.size();
  put(out, kMagic);
  put(out, field(static_cast<std::uint32_t>(table.rows.size())));
  put(out, field(static_cast<std::uint32_t>(table.streams.size())));
  for (const FileStream& s : table.streams) {
    put(out, static_cast<std::uint8_t>(field(s.storage == Storage::dense ? 0 : 1)));
    put(out, field(static_cast<std::uint32_t>(s.name.size())));
    out += s.name;
    put(out, static_cast<std::uint8_t>(field(s.element == Element::f32 ? 0 : 1)));
    put(out, field(s.dim));
  }
  for (const FileChunk& row : table.rows) {
    put(out, row.begin);
    put(out, row.sequences);
    put(out, row.samples);
  }
  put(out, at + (wild == nullptr ? 0 : static_cast<std::uint64_t>(static_cast<std::int32_t>(field(0)))));
}

inline std::string prefix() {
  std::string out;
  put(out, kMagic);
  put(out, kVersion);
  return out;
}

}  // namespace batchfeed::cbf::fuzz
