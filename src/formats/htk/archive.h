// SPDX-License-Identifier: MIT
//
// One open HTK file and its frames as numbers.
#pragma once

#include <batchfeed/buffer.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "formats/htk/header.h"
#include "io/file.h"

namespace batchfeed::htk {

class Archive {
 public:
  // Throws Error.
  explicit Archive(io::File file);

  const Header& header() const noexcept { return header_; }
  const io::File& file() const noexcept { return file_; }

  // Frames [first, first + count) to `out`, header().dim values each; T is float
  // or double. The range must lie inside the file. `scratch` is reused memory.
  // False if a value is not finite. Thread-safe.
  template <class T>
  bool read(std::uint64_t first, std::uint64_t count, T* out, Buffer<std::byte>& scratch) const;
  // The same of frames whose bytes are in memory.
  template <class T>
  bool take(const std::byte* from, std::uint64_t count, T* out) const;

 private:
  io::File file_;
  Header header_;
  std::vector<float> scale_, bias_;  // compressed data: A and B
};

extern template bool Archive::read<float>(std::uint64_t, std::uint64_t, float*, Buffer<std::byte>&) const;
extern template bool Archive::read<double>(std::uint64_t, std::uint64_t, double*, Buffer<std::byte>&) const;
extern template bool Archive::take<float>(const std::byte*, std::uint64_t, float*) const;
extern template bool Archive::take<double>(const std::byte*, std::uint64_t, double*) const;

}  // namespace batchfeed::htk
