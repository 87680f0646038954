// SPDX-License-Identifier: MIT
//
// The first bytes of a text, compared with those of others at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "formats/ctf/bytes.h"

namespace batchfeed::ctf {

// At most N bytes; matches no text at first. All functions read N bytes of a text.
template <std::size_t N>
class Prefix {
  static_assert(N % 16 == 0);

 public:
  // The first n <= N bytes at p.
  void take(const char* p, std::size_t n) noexcept {
    const char* const keep = kKeep.data() + (N - n);
    for (std::size_t i = 0; i < N; i += sizeof(Word)) {
      const Word mask = word_at(keep + i), here = word_at(p + i) & mask;
      std::memcpy(mask_.data() + i, &mask, sizeof mask);
      std::memcpy(bytes_.data() + i, &here, sizeof here);
    }
  }
  void forget() noexcept { *this = Prefix(); }
  // Takes as many bytes as before, at p.
  void move_to(const char* p) noexcept {
    for (std::size_t i = 0; i < N; i += sizeof(Word)) {
      const Word here = word_at(p + i) & word_at(mask_.data() + i);
      std::memcpy(bytes_.data() + i, &here, sizeof here);
    }
  }

  bool same(const char* p) const noexcept {
    Word differs{};
    for (std::size_t i = 0; i < N; i += sizeof(Word))
      differs |= (word_at(p + i) & word_at(mask_.data() + i)) ^ word_at(bytes_.data() + i);
    return is_zero(differs);
  }
  // 0 if as many bytes are the same at p and at q; else below 2^16.
  unsigned differs(const char* p, const char* q) const noexcept {
    Word differs{};
    for (std::size_t i = 0; i < N; i += sizeof(Word))
      differs |= (word_at(p + i) ^ word_at(q + i)) & word_at(mask_.data() + i);
    return unlike_zero(differs);
  }
  // 0 if they are the same but for byte `at`, which is one more at q, and not 0xFF at p.
  unsigned differs_by_one(const char* p, const char* q, std::size_t at) const noexcept {
    const char* const one = kOne.data() + (N - at);
    Word differs{};
    for (std::size_t i = 0; i < N; i += sizeof(Word))
      differs |= ((word_at(p + i) + word_at(one + i)) ^ word_at(q + i)) & word_at(mask_.data() + i);
    return unlike_zero(differs);
  }

 private:
#if defined(__SSE2__)
  using Word = __m128i;
  static unsigned unlike_zero(Word word) noexcept {
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(word, Word{}))) ^ 0xFFFF;
  }
#else
  using Word = std::uint64_t;
  static unsigned unlike_zero(Word word) noexcept { return word != 0 ? 1 : 0; }
#endif
  static bool is_zero(Word word) noexcept { return unlike_zero(word) == 0; }
  static Word word_at(const char* p) noexcept {
    Word word;
    std::memcpy(&word, p, sizeof word);
    return word;
  }
  // N bytes to keep, and N that are not.
  static constexpr auto kKeep = [] {
    std::array<char, 2 * N> keep{};
    for (std::size_t i = 0; i < N; ++i) keep[i] = static_cast<char>(0xFF);
    return keep;
  }();

  // A 1 behind N bytes.
  static constexpr auto kOne = [] {
    std::array<char, 2 * N> one{};
    one[N] = 1;
    return one;
  }();

  alignas(16) std::array<char, N> bytes_{1};  // which are copied as they are compared: 16 at a time
  alignas(16) std::array<char, N> mask_{};
};

}  // namespace batchfeed::ctf
