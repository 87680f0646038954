// SPDX-License-Identifier: MIT
//
// gzip or zstd, read forward from any point where unpacking can begin.
//
// Between two frames of zstd nothing is remembered. A gzip file has no points of its
// own: a first pass over it notes, at the ends of deflate blocks, the position in bits
// and the 32 KiB in front of it, which is all that inflating from there needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressed/compressed.h"

namespace batchfeed::compressed {

constexpr std::size_t kWindow = std::size_t{32} << 10;  // in front of a point in gzip

// One thread at a time. What throws, throws Error.
class Decoder {
 public:
  virtual ~Decoder() = default;

  // Goes to a point; `window` is empty where a member or a frame begins.
  virtual void start(const Stored& file, const Point& point, std::span<const std::byte> window) = 0;
  // Fills `out` as far as the file goes; less only at its end.
  virtual std::size_t decode(const Stored& file, std::span<std::byte> out) = 0;
  // As decode(), but returns at the end of a deflate block or a frame too. If unpacking can
  // begin there, at_point() is true, and point() is the place; its `window` is not set.
  virtual std::size_t decode_to_point(const Stored& file, std::span<std::byte> out) = 0;
  virtual bool at_point() const noexcept = 0;
  virtual Point point() const noexcept = 0;
  // Behind the last unpacked byte of a zstd frame: reads its checksum. False if the frame has more bytes.
  virtual bool finish_frame(const Stored& file) = 0;

  virtual std::uint64_t at() const noexcept = 0;  // unpacked bytes in front of what comes next
  virtual bool at_end() const noexcept = 0;
  virtual std::size_t bytes() const noexcept = 0;  // of memory, with what the library holds for it
};

// Null where batchfeed was built without the library. A frame of zstd whose window is larger than `window_bytes` is
// Error(limit).
std::unique_ptr<Decoder> make_inflater();
std::unique_ptr<Decoder> make_unzstd(std::uint64_t window_bytes);
// Of a codec that is supported().
inline std::unique_ptr<Decoder> make_decoder(Codec codec, std::uint64_t window_bytes) {
  return codec == Codec::gzip ? make_inflater() : make_unzstd(window_bytes);
}

// The unpacked size that the header of the first zstd frame states; `head`: its first 18 bytes. 0 if it states none.
std::uint64_t stated_frame_size(std::span<const std::byte> head) noexcept;

}  // namespace batchfeed::compressed
