// SPDX-License-Identifier: MIT
//
// zstd, read forward from the beginning of any frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressed/compressed.h"

namespace batchfeed::compressed {

class Unzstd {
 public:
  // A frame whose window is larger than `window_bytes` is Error(limit).
  explicit Unzstd(std::uint64_t window_bytes);
  Unzstd(Unzstd&&) noexcept;
  Unzstd& operator=(Unzstd&&) noexcept;
  ~Unzstd();

  // Goes to a frame, which takes no memory of what came before.
  void start(const Point& point);
  // Fills `out` as far as the file goes; less only at its end. Throws Error.
  std::size_t decode(const Stored& file, std::span<std::byte> out);
  // Returns at the end of a frame too. Then point() is where the next one begins.
  std::size_t decode_frame(const Stored& file, std::span<std::byte> out);
  // True if the frame is over; false if it has more to give.
  bool finish_frame(const Stored& file);
  bool at_point() const noexcept;  // between frames
  Point point() const noexcept;
  std::uint64_t at() const noexcept;  // unpacked bytes in front of what comes next
  bool at_end() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What the first frame says that it unpacks to, of its first 18 bytes; 0 if it does not say.
std::uint64_t told_frame_size(std::span<const std::byte> head) noexcept;

}  // namespace batchfeed::compressed
