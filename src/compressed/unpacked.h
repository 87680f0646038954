// SPDX-License-Identifier: MIT
//
// A compressed file as what it unpacks to, read at any offset: the points where
// unpacking can begin, and a few decoders that wait where the last reads ended
// (parked.h), so that reading on does not unpack anything twice.
#pragma once

#include <batchfeed/buffer.h>
#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressed/compressed.h"
#include "compressed/decoder.h"
#include "compressed/parked.h"

namespace batchfeed::compressed {

// How far apart points are noted where a file has no seek table. When there are `most`,
// every second one is dropped and the distance doubled: each point in gzip holds 32 KiB.
struct Spacing {
  std::uint64_t bytes = 1 << 20;
  std::size_t most = 2048;
};

class Unpacked {
 public:
  // Reads all of the file once, unless it has a seek table, and so finds what is
  // wrong with it. If it unpacks to `keep` bytes at most, they stay in memory. Throws Error.
  Unpacked(const Stored& file, Codec codec, const Limits& limits, std::size_t keep = 0, Spacing spacing = {});

  Codec codec() const noexcept { return codec_; }
  std::uint64_t size() const noexcept { return size_; }
  std::size_t kept() const noexcept { return kept_; }  // bytes in memory: all or none
  std::size_t point_bytes() const noexcept { return windows_.size() + points_.size() * sizeof(Point); }
  // The most bytes that are unpacked in vain before a wanted one is reached.
  std::uint64_t longest_way() const noexcept;

  // Fills all of `out` from `offset`, which must lie inside. `file` is the one it was
  // made of. Thread-safe. Throws Error.
  void read(const Stored& file, std::uint64_t offset, std::span<std::byte> out) const;

 private:
  void scan_gzip(const Stored& file, const Limits& limits);
  void scan_zstd(const Stored& file, const Limits& limits);
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  bool is_kept() const noexcept { return kept_ != 0 && kept_ == size_; }
  void keep_all(const Stored& file);
  void keep(std::span<const std::byte> more);
  void keep_nothing() noexcept;
  void read_kept(std::uint64_t offset, std::span<std::byte> out) const noexcept;
  void add(const Point& point, std::span<const std::byte> window);
  std::size_t decode_frame(const Stored& file, Decoder& decoder, std::span<std::byte> out) const;
  const Point& point_before(std::uint64_t offset) const noexcept;
  std::unique_ptr<Decoder> take(const Stored& file, std::uint64_t offset) const;

  Codec codec_;
  std::uint64_t window_bytes_;
  std::uint64_t size_ = 0;
  Spacing spacing_;
  bool table_ = false;         // the points are those of a seek table
  std::vector<Point> points_;  // by offset; the first is the beginning
  std::vector<std::byte> windows_;
  std::size_t room_ = 0;                   // unpacked bytes that may be kept in blocks_
  std::size_t kept_ = 0;                   // bytes in blocks_
  std::vector<Buffer<std::byte>> blocks_;  // of kBlock bytes: what grows in one piece is there twice while it grows
  Parked parked_;
};

// The first bytes of what a file unpacks to, at most `most`; the rest is not looked at.
std::string unpacked_head(const Stored& file, Codec codec, std::size_t most, const Limits& limits);

}  // namespace batchfeed::compressed
