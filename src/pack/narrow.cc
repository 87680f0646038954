// SPDX-License-Identifier: MIT
#include "pack/narrow.h"

#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace batchfeed::pack {
namespace {

bool narrow_one(float from, std::uint8_t& to) noexcept {
  if (!(from >= 0 && from <= 255)) return false;
  to = static_cast<std::uint8_t>(from);
  return std::bit_cast<std::uint32_t>(from) == std::bit_cast<std::uint32_t>(static_cast<float>(to));
}

#ifdef __SSE2__
// Four values as whole numbers. Sets bits of `odd` if one of them is not a whole number from 0 to 255.
__m128i whole(const float* from, __m128i& odd) noexcept {
  const __m128 values = _mm_loadu_ps(from);
  const __m128i out = _mm_cvttps_epi32(values);
  odd = _mm_or_si128(odd, _mm_xor_si128(_mm_castps_si128(values), _mm_castps_si128(_mm_cvtepi32_ps(out))));
  odd = _mm_or_si128(odd, _mm_andnot_si128(_mm_set1_epi32(255), out));
  return out;
}

void widen_four(__m128i words, float* to) noexcept { _mm_storeu_ps(to, _mm_cvtepi32_ps(words)); }
#endif

}  // namespace

bool narrow(const float* from, std::size_t n, std::uint8_t* to) noexcept {
  std::size_t i = 0;
#ifdef __SSE2__
  for (; i + 16 <= n; i += 16) {
    __m128i odd = _mm_setzero_si128();
    const __m128i a = whole(from + i, odd), b = whole(from + i + 4, odd);
    const __m128i c = whole(from + i + 8, odd), d = whole(from + i + 12, odd);
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(odd, _mm_setzero_si128())) != 0xFFFF) return false;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d)));
  }
#endif
  for (; i < n; ++i) {
    if (!narrow_one(from[i], to[i])) return false;
  }
  return true;
}

void widen(const std::uint8_t* from, std::size_t n, float* to) noexcept {
  std::size_t i = 0;
#ifdef __SSE2__
  const __m128i zero = _mm_setzero_si128();
  for (; i + 16 <= n; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i low = _mm_unpacklo_epi8(bytes, zero), high = _mm_unpackhi_epi8(bytes, zero);
    widen_four(_mm_unpacklo_epi16(low, zero), to + i);
    widen_four(_mm_unpackhi_epi16(low, zero), to + i + 4);
    widen_four(_mm_unpacklo_epi16(high, zero), to + i + 8);
    widen_four(_mm_unpackhi_epi16(high, zero), to + i + 12);
  }
#endif
  for (; i < n; ++i) to[i] = from[i];
}

}  // namespace batchfeed::pack
