// SPDX-License-Identifier: MIT
//
// The byte classes of the text format, on unsigned bytes, and the searches over
// them. Text is always a block of whole lines: '\n' ends it and 64 readable
// bytes follow, so no loop here needs an end.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/cursor.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace batchfeed::ctf {

enum class Byte : std::uint8_t { printable, blank, control, pipe, newline };

constexpr std::array<Byte, 256> kClasses = [] {
  std::array<Byte, 256> table{};
  for (unsigned c = 0; c < 256; ++c) table[c] = c < 0x20 || c >= 0x80 ? Byte::control : Byte::printable;
  table[' '] = table['\t'] = Byte::blank;
  table['|'] = Byte::pipe;
  table['\n'] = Byte::newline;
  return table;
}();

inline Byte class_of(char c) noexcept { return kClasses[static_cast<unsigned char>(c)]; }
inline bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }
// Ends the values of a sample.
inline bool ends_sample(char c) noexcept {
  const Byte k = class_of(c);
  return k != Byte::printable && k != Byte::blank;
}
// Ends a name. Bytes from 80 on belong to it, so that names may be UTF-8.
inline bool ends_name(char c) noexcept { return static_cast<unsigned char>(c) <= 0x20 || c == '|'; }
// What may stand in front of an id: bytes 00..20 but the newline.
inline const char* skip_margin(const char* p) noexcept {
  while (static_cast<unsigned char>(*p) <= 0x20 && *p != '\n') ++p;
  return p;
}
inline const char* skip_blanks(const char* p) noexcept {
  while (is_blank(*p)) ++p;
  return p;
}

// The lowest bit that is set is the high bit of the first byte that is 0; bits above it may be wrong.
inline std::uint64_t zero_bytes(std::uint64_t bytes) noexcept {
  return (bytes - 0x0101010101010101u) & ~bytes & 0x8080808080808080u;
}

// std::popcount is a call where the CPU may have no instruction for it.
inline unsigned ones(std::uint64_t v) noexcept {
  v -= v >> 1 & 0x5555555555555555u;
  v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
  return static_cast<unsigned>(((v + (v >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}

// Which of 64 bytes are `c`, a bit for each.
inline std::uint64_t bytes_equal(const char* p, char c) noexcept {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  for (unsigned i = 0; i < 64; i += 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    bits |= std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c))))} << i;
  }
#else
  constexpr std::uint64_t kLow = 0x7F7F7F7F7F7F7F7Fu;
  for (unsigned i = 0; i < 64; i += 8) {
    const std::uint64_t v = load<std::uint64_t>(p + i) ^ 0x0101010101010101u * static_cast<unsigned char>(c);
    const std::uint64_t high = ~(((v & kLow) + kLow) | v | kLow);  // of the bytes that are 0
    bits |= (high >> 7) * 0x0102040810204080u >> 56 << i;
  }
#endif
  return bits;
}

// All '|' and '\n' from `begin` on, one after the other, 64 bytes at a time.
class Marks {
 public:
  explicit Marks(const char* begin) noexcept : block_(begin), bits_(look(begin)) {}

  // There must be one left.
  const char* next() noexcept {
    while (bits_ == 0) bits_ = look(block_ += 64);
    const char* const at = block_ + std::countr_zero(bits_);
    bits_ &= bits_ - 1;
    return at;
  }

 private:
  static std::uint64_t look(const char* p) noexcept {
    std::uint64_t bits = 0;
#if defined(__SSE2__)
    const __m128i pipe = _mm_set1_epi8('|');
    const __m128i newline = _mm_set1_epi8('\n');
    for (unsigned i = 0; i < 64; i += 16) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
      const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, pipe), _mm_cmpeq_epi8(v, newline)));
      bits |= static_cast<std::uint64_t>(static_cast<unsigned>(hits)) << i;
    }
#else
    for (unsigned i = 0; i < 64; ++i) bits |= static_cast<std::uint64_t>(p[i] == '|' || p[i] == '\n') << i;
#endif
    return bits;
  }

  const char* block_;
  std::uint64_t bits_;
};

// The next '|' or '\n' at or behind p.
inline const char* find_pipe_or_newline(const char* p) noexcept {
#if defined(__SSE2__)
  const __m128i pipe = _mm_set1_epi8('|');
  const __m128i newline = _mm_set1_epi8('\n');
  for (;; p += 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const int hits = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, pipe), _mm_cmpeq_epi8(v, newline)));
    if (hits != 0) return p + std::countr_zero(static_cast<unsigned>(hits));
  }
#else
  for (;; p += 8) {
    const std::uint64_t v = load<std::uint64_t>(p);
    const std::uint64_t hits = zero_bytes(v ^ 0x7C7C7C7C7C7C7C7Cu) | zero_bytes(v ^ 0x0A0A0A0A0A0A0A0Au);
    if (hits != 0) return p + std::countr_zero(hits) / 8;
  }
#endif
}

// The next byte at or behind p that ends a name.
inline const char* find_end_of_name(const char* p) noexcept {
#if defined(__SSE2__)
  const __m128i pipe = _mm_set1_epi8('|');
  const __m128i last_margin = _mm_set1_epi8(0x20);
  for (;; p += 16) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i margin = _mm_cmpeq_epi8(_mm_min_epu8(v, last_margin), v);
    const int hits = _mm_movemask_epi8(_mm_or_si128(margin, _mm_cmpeq_epi8(v, pipe)));
    if (hits != 0) return p + std::countr_zero(static_cast<unsigned>(hits));
  }
#else
  while (!ends_name(*p)) ++p;
  return p;
#endif
}

}  // namespace batchfeed::ctf
