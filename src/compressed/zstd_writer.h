// SPDX-License-Identifier: MIT
//
// Writes zstd that can be read from the middle: frames of 2 MiB of data each with
// its checksum, and the seek table behind them. `zstd -d` unpacks it like any other.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "compressed/seek_table.h"

namespace batchfeed::compressed {

class ZstdWriter {
 public:
  static constexpr std::size_t kFrame = std::size_t{2} << 20;
  using Put = std::function<void(std::span<const std::byte>)>;

  // `put` takes the compressed bytes, in order.
  explicit ZstdWriter(Put put);

  void append(std::span<const std::byte> bytes);
  // The rest and the seek table. Nothing may be appended behind it.
  void finish();

 private:
  void write_frame();

  Put put_;
  std::vector<std::byte> pending_, compressed_;
  std::vector<FrameSize> frames_;
};

}  // namespace batchfeed::compressed
