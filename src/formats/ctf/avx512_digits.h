// SPDX-License-Identifier: MIT
//
// Lanes of digits (avx512_tokens.h) as numbers, and numbers as floats.
#pragma once

#include "formats/ctf/avx512_tokens.h"

namespace batchfeed::ctf::avx512 {

// Numbers of 4 digits in lanes of 32 bits, of 8 from both vectors, of 16 in lanes of 64 from both.
BATCHFEED_AVX512_INLINE __m512i four_digits(__m512i spread) noexcept {
  return _mm512_madd_epi16(_mm512_maddubs_epi16(spread, _mm512_set1_epi16(0x010A)), _mm512_set1_epi32(0x00010064));
}
BATCHFEED_AVX512_INLINE __m512i eight_digits(__m512i a, __m512i b) noexcept {
  return _mm512_madd_epi16(_mm512_packus_epi32(four_digits(a), four_digits(b)), _mm512_set1_epi32(0x00012710));
}
// Of 8 numbers in one vector, to the lower half.
BATCHFEED_AVX512_INLINE __m512i few_eight_digits(__m512i spread) noexcept {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13),
                                  eight_digits(spread, spread));
}
// The lower and the upper 8 digits of 8 numbers.
BATCHFEED_AVX512_INLINE __m512i few_sixteen_digits(__m512i low, __m512i high) noexcept {
  const __m512i eights = _mm512_shuffle_epi32(eight_digits(low, high), _MM_PERM_BDAC);
  return _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100'000'000)), _mm512_srli_epi64(eights, 32));
}
BATCHFEED_AVX512_INLINE __m512i sixteen_digits(__m512i a, __m512i b) noexcept {
  const __m512i eights = eight_digits(a, b);
  return _mm512_add_epi64(_mm512_mul_epu32(eights, _mm512_set1_epi64(100'000'000)), _mm512_srli_epi64(eights, 32));
}

// Those of the `taken` lanes, off by less than 4 units of their last place, whose rounding to float is in doubt: see
// text/scale.h, only near the middle between two floats.
BATCHFEED_AVX512_INLINE __mmask8 in_doubt(__m512d d, __mmask8 taken) noexcept {
  const __m512i low = _mm512_and_si512(_mm512_castpd_si512(d), _mm512_set1_epi64(0x1FFFFFFF));
  return _mm512_mask_cmple_epu64_mask(taken, _mm512_sub_epi64(low, _mm512_set1_epi64(0x10000000 - 4)),
                                      _mm512_set1_epi64(8));
}
// n (1..8) values as floats. Returns the lanes that are in doubt.
BATCHFEED_AVX512_INLINE __mmask8 store_rounded(__m512d d, std::uint64_t negative, unsigned n, float* out) noexcept {
  const auto taken = static_cast<__mmask8>(first(n));
  const __mmask8 doubt = in_doubt(d, taken);
  __m256 value = _mm512_cvtpd_ps(d);
  value = _mm256_mask_xor_ps(value, static_cast<__mmask8>(negative), value, _mm256_set1_ps(-0.0F));
  _mm256_mask_storeu_ps(out, taken, value);
  return doubt;
}
BATCHFEED_AVX512_INLINE __m512i fractions(const Tokens& t, const Lanes& which) noexcept {
  return _mm512_permutexvar_epi8(load(which), t.fractions);
}
// More than 15 digits, or so many behind a point.
BATCHFEED_AVX512_INLINE bool too_long(const Tokens& t) noexcept {
  return above_fifteen(t.runs) || _mm512_cmpeq_epi8_mask(t.fractions, all(15)) != 0;
}

}  // namespace batchfeed::ctf::avx512
