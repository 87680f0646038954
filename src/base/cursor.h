// SPDX-License-Identifier: MIT
//
// Cursor: little-endian fields out of bytes nobody trusts. Every count that
// comes from a file passes through take(), which compares it with what is left
// before anything is multiplied or allocated.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace batchfeed {

// Reverses the bytes of an integer or a floating-point number.
template <class T>
T byte_swap(T value) noexcept {
  static_assert(std::is_arithmetic_v<T>);
  if constexpr (sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return std::bit_cast<T>(__builtin_bswap16(std::bit_cast<std::uint16_t>(value)));
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(__builtin_bswap32(std::bit_cast<std::uint32_t>(value)));
  } else {
    return std::bit_cast<T>(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
  }
}

// A value as it is stored in the given byte order, and back.
template <std::endian stored = std::endian::little, class T>
T as_stored(T value) noexcept {
  return stored == std::endian::native ? value : byte_swap(value);
}

// A value stored in the given byte order, at any alignment.
template <class T, std::endian stored = std::endian::little>
T load(const void* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return as_stored<stored>(value);
}

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) noexcept : all_(bytes.size()), rest_(bytes) {}

  template <class T>
  std::optional<T> field() noexcept {
    if (rest_.size() < sizeof(T)) return std::nullopt;
    const T value = load<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }

  // count items of `each` bytes (each > 0), or nothing if fewer are left.
  std::optional<std::span<const std::byte>> take(std::uint64_t count, std::size_t each) noexcept {
    if (count > rest_.size() / each) return std::nullopt;
    const auto taken = rest_.first(static_cast<std::size_t>(count) * each);
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::size_t left() const noexcept { return rest_.size(); }
  std::size_t at() const noexcept { return all_ - rest_.size(); }

 private:
  std::size_t all_;
  std::span<const std::byte> rest_;
};

}  // namespace batchfeed
