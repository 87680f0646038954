// SPDX-License-Identifier: MIT
//
// gzip, read forward from any access point. A gzip file has none of its own: a
// first pass over it notes, at the ends of deflate blocks, the position in bits and
// the 32 KiB in front of it, which is all that inflating from there needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressed/compressed.h"

namespace batchfeed::compressed {

constexpr std::size_t kWindow = std::size_t{32} << 10;

class Inflater {
 public:
  Inflater();
  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;
  ~Inflater();

  // Goes to a point; `window` is empty where a member begins.
  void start(const Stored& file, const Point& point, std::span<const std::byte> window);
  // Fills `out` as far as the file goes; less only at its end. Throws Error.
  std::size_t decode(const Stored& file, std::span<std::byte> out);
  // Returns at the end of a deflate block too. Then point() says where, if something
  // can begin there; its `window` is not set.
  std::size_t decode_block(const Stored& file, std::span<std::byte> out);
  bool at_point() const noexcept;
  Point point() const noexcept;
  std::uint64_t at() const noexcept;  // unpacked bytes in front of what comes next
  bool at_end() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchfeed::compressed
