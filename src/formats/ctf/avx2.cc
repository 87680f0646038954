// SPDX-License-Identifier: MIT
//
// Values of 64 bytes of text at a time: multiply-adds make numbers of four tokens
// (avx2_tokens.h) at once. A block with anything else in it is left to scan.h.
#include "formats/ctf/avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "formats/ctf/avx2_tokens.h"

namespace batchfeed::ctf {
namespace avx2 {
namespace {

// Numbers of 4 digits, as they lie in two tokens.
BATCHFEED_AVX2_INLINE __m256i four_digits(__m128i low, __m128i high) noexcept {
  const __m256i digits = _mm256_subs_epu8(_mm256_set_m128i(high, low), _mm256_set1_epi8('0'));
  return _mm256_madd_epi16(_mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A)), _mm256_set1_epi32(0x00010064));
}
// The first 8 of the 16 digits of the first token, the last 8, the first 8 of the second ...
BATCHFEED_AVX2_INLINE __m256i eight_digits(__m128i a, __m128i b, __m128i c, __m128i d) noexcept {
  return _mm256_madd_epi16(_mm256_packus_epi32(four_digits(a, c), four_digits(b, d)), _mm256_set1_epi32(0x00012710));
}
// Numbers of 16 digits as doubles: exact up to 15 digits, else rounded once.
BATCHFEED_AVX2_INLINE __m256d mantissas(__m128i high, __m128i low) noexcept {
  return _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(1e8)), _mm256_cvtepi32_pd(low));
}
// Four values, scaled. Notes in `doubt` where scan.h must decide.
BATCHFEED_AVX2_INLINE __m128 scaled(__m128i high, __m128i low, __m256d scale, __m256i& doubt, float /*as*/) noexcept {
  const __m256d d = _mm256_mul_pd(mantissas(high, low), scale);
  // See text/number.h: in doubt only near the middle between two floats, where the low 29 bits less 2^28 - 4 are at
  // most 8. Here they are at the upper end of 64 bits, and the order is that of signed numbers.
  const __m256i near = _mm256_sub_epi64(_mm256_slli_epi64(_mm256_castpd_si256(d), 35),
                                        _mm256_set1_epi64x(((0x10000000LL - 4) << 35) ^ INT64_MIN));
  doubt = _mm256_or_si256(doubt, _mm256_cmpgt_epi64(_mm256_set1_epi64x((9LL << 35) ^ INT64_MIN), near));
  return _mm256_cvtpd_ps(d);
}
BATCHFEED_AVX2_INLINE __m256d scaled(__m128i high, __m128i low, __m256d scale, __m256i& doubt, double /*as*/) noexcept {
  const __m128i many = _mm_cmpgt_epi32(high, _mm_set1_epi32(9'999'999));
  doubt = _mm256_or_si256(doubt, _mm256_cvtepi32_epi64(many));
  return _mm256_div_pd(mantissas(high, low), scale);
}

BATCHFEED_AVX2_INLINE void put_four(float* out, __m128 values) noexcept { _mm_storeu_ps(out, values); }
BATCHFEED_AVX2_INLINE void put_four(double* out, __m256d values) noexcept { _mm256_storeu_pd(out, values); }
BATCHFEED_AVX2_INLINE void put_two(float* out, __m128 values) noexcept {
  _mm_storel_pi(reinterpret_cast<__m64*>(out), values);
}
BATCHFEED_AVX2_INLINE void put_two(double* out, __m256d values) noexcept {
  _mm_storeu_pd(out, _mm256_castpd256_pd128(values));
}

BATCHFEED_AVX2_INLINE bool any(__m256i doubt) noexcept { return _mm256_movemask_epi8(doubt) != 0; }

template <class T>
constexpr const Scales& scales_for() noexcept {
  return std::is_same_v<T, double> ? kTens : kTenths;
}

// n (1..31) numbers, rounded up to four, to out. False where scan.h must decide about one of them.
template <class T>
BATCHFEED_AVX2_INLINE bool store(Tokens tokens, unsigned n, T* out) noexcept {
  const Scales& scales = scales_for<T>();
  __m256i doubt = _mm256_setzero_si256();
  for (unsigned i = 0; i < n; i += 4) {
    const double *s0, *s1, *s2, *s3;
    const __m128i a = tokens.next(scales, s0), b = tokens.next(scales, s1);
    const __m128i c = tokens.next(scales, s2), d = tokens.next(scales, s3);
    const __m256i halves =
        _mm256_permutevar8x32_epi32(eight_digits(a, b, c, d), _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
    put_four(out + i, scaled(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1),
                             _mm256_setr_pd(*s0, *s1, *s2, *s3), doubt, T()));
  }
  return !any(doubt);
}

template <class T>
BATCHFEED_AVX2_INLINE const char* dense(const char* p, T* const out, DenseRoom& room) noexcept {
  if (!is_blank(*p)) return p;
  T* at = out + room.count;
  for (T* const full = out + room.dim;;) {
    Block block = block_at<false>(p);
    const char* const end = block.others == 0 ? nullptr : cut(block, p);
    const char* const next = p + width(block.blanks) - 1;
    const auto n = std::popcount(block.blanks) - 1;
    if (n != 0) {
      const Tokens tokens = Tokens::of<false>(block, p, block.blanks, 0);
      if (!tokens.plain() || full - at < n) break;
      if (full - at >= n + 3) {
        if (!store(tokens, static_cast<unsigned>(n), at)) break;
      } else {
        std::array<T, 36> some;  // NOLINT(cppcoreguidelines-pro-type-member-init): n of them are read
        if (!store(tokens, static_cast<unsigned>(n), some.data())) break;
        std::copy_n(some.data(), n, at);
      }
      at += n;
    }
    if (end != nullptr || n == 0) {
      p = end == nullptr ? p : end;
      break;
    }
    p = next;
  }
  room.count = static_cast<std::uint64_t>(at - out);
  return p;
}

// n (1..15) pairs, rounded up to two. False where scan.h must decide about one of them.
template <class T>
BATCHFEED_AVX2_INLINE bool store_pairs(Tokens tokens, unsigned n, std::uint64_t dim, T* values,
                                       std::int32_t* indices) noexcept {
  const Scales& scales = scales_for<T>();
  const auto highest = static_cast<int>(dim - 1);
  const __m128i most = _mm_setr_epi32(0, highest, 0, highest);  // of the first 8 digits and of the last
  __m128i too_high = _mm_setzero_si128();
  __m256i doubt = _mm256_setzero_si256();
  for (unsigned i = 0; i < n; i += 2) {
    const double *none, *s0, *s1;
    const __m128i a = tokens.next(scales, none), c = tokens.next(scales, s0);
    const __m128i b = tokens.next(scales, none), d = tokens.next(scales, s1);
    const __m256i eights = eight_digits(a, b, c, d);
    const __m128i index = _mm256_castsi256_si128(eights);
    too_high = _mm_or_si128(too_high, _mm_cmpgt_epi32(index, most));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(indices + i), _mm_shuffle_epi32(index, 0b00'00'11'01));
    const __m128i value = _mm256_extracti128_si256(eights, 1);
    const __m128i high = _mm_shuffle_epi32(value, 0b10'00'10'00), low = _mm_shuffle_epi32(value, 0b11'01'11'01);
    put_two(values + i, scaled(high, low, _mm256_setr_pd(*s0, *s1, *s0, *s1), doubt, T()));
  }
  return _mm_movemask_epi8(too_high) == 0 && !any(doubt);
}

template <class T>
BATCHFEED_AVX2_INLINE const char* sparse(const char* p, SparseRoom<T>& room) noexcept {
  if (!is_blank(*p)) return p;
  for (;;) {
    Block block = block_at<true>(p);
    const char* const end = block.others == 0 ? nullptr : cut(block, p);
    const unsigned last = width(block.blanks) - 1;
    const char* const next = p + last;
    const auto n = static_cast<unsigned>(std::popcount(block.blanks)) - 1;
    if (n != 0) {
      const std::uint64_t colons = block.colons & first(last);
      // One colon between two blanks.
      const std::uint64_t carried = colons - block.blanks - 1;
      if (((carried & colons) | ((block.blanks & ~carried) ^ 1)) != 0) break;
      const Tokens tokens = Tokens::of<true>(block, p, block.blanks | colons, colons);
      const std::uint64_t left = room.capacity - room.count;
      if (!tokens.plain() || left < n) break;
      if (left > n) {
        if (!store_pairs(tokens, n, room.dim, room.values + room.count, room.indices + room.count)) break;
      } else {
        std::array<T, 16> values;              // NOLINT(cppcoreguidelines-pro-type-member-init): n of
        std::array<std::int32_t, 16> indices;  // NOLINT(cppcoreguidelines-pro-type-member-init): each are read
        if (!store_pairs(tokens, n, room.dim, values.data(), indices.data())) break;
        std::copy_n(values.data(), n, room.values + room.count);
        std::copy_n(indices.data(), n, room.indices + room.count);
      }
      room.count += n;
    }
    if (end != nullptr || n == 0) {
      p = end == nullptr ? p : end;
      break;
    }
    p = next;
  }
  return p;
}

}  // namespace
}  // namespace avx2

BATCHFEED_AVX2 const char* dense_avx2(const char* p, float* out, DenseRoom& room) noexcept {
  return avx2::dense(p, out, room);
}
BATCHFEED_AVX2 const char* dense_avx2(const char* p, double* out, DenseRoom& room) noexcept {
  return avx2::dense(p, out, room);
}
BATCHFEED_AVX2 const char* sparse_avx2(const char* p, SparseRoom<float>& room) noexcept {
  return avx2::sparse(p, room);
}
BATCHFEED_AVX2 const char* sparse_avx2(const char* p, SparseRoom<double>& room) noexcept {
  return avx2::sparse(p, room);
}

}  // namespace batchfeed::ctf

#endif
