// SPDX-License-Identifier: MIT
//
// A compressed file as what it unpacks to, read at any offset: the points where
// unpacking can begin, and a few decoders that wait where the last reads ended, so
// that who reads on does not unpack anything twice.
#pragma once

#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "packed/inflate.h"
#include "packed/packed.h"
#include "packed/unzstd.h"

namespace batchfeed::packed {

// How dense points are noted where a file has no seek table. When there are `most`,
// every second one goes and the rest lie twice as far apart: of gzip, each holds 32 KiB.
struct Spacing {
  std::uint64_t bytes = 1 << 20;
  std::size_t most = 2048;
};

class Unpacked {
 public:
  // Reads all of the file once, unless it has a seek table, and so finds what is
  // wrong with it. Throws Error.
  Unpacked(const Stored& file, Packing packing, const Limits& limits, Spacing spacing = {});

  Packing packing() const noexcept { return packing_; }
  std::uint64_t size() const noexcept { return size_; }
  // The most bytes that are unpacked in vain before a wanted one is reached.
  std::uint64_t longest_way() const noexcept;

  // Fills all of `out` from `offset`, which must lie inside. `file` is the one it was
  // made of. Thread-safe. Throws Error.
  void read(const Stored& file, std::uint64_t offset, std::span<std::byte> out) const;

 private:
  using Decoder = std::variant<Inflater, Unzstd>;

  void scan_gzip(const Stored& file, const Limits& limits);
  void scan_zstd(const Stored& file, const Limits& limits);
  void add(const Point& point, std::span<const std::byte> window);
  std::size_t decode_frame(const Stored& file, Unzstd& unzstd, std::span<std::byte> out) const;
  const Point& point_before(std::uint64_t offset) const noexcept;
  Decoder take(const Stored& file, std::uint64_t offset) const;
  void park(Decoder decoder) const;

  Packing packing_;
  std::uint64_t window_bytes_;
  std::uint64_t size_ = 0;
  Spacing spacing_;
  bool table_ = false;         // the points are those of a seek table
  std::vector<Point> points_;  // by offset; the first is the beginning
  std::vector<std::byte> windows_;
  mutable std::mutex mutex_;
  mutable std::vector<Decoder> parked_;  // least recently used first
};

// The first bytes of what a file unpacks to, at most `most`; the rest is not looked at.
std::string unpacked_head(const Stored& file, Packing packing, std::size_t most, const Limits& limits);

}  // namespace batchfeed::packed
