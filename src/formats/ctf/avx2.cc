// SPDX-License-Identifier: MIT
//
// Dense values, 64 bytes of text at a time: one mask says where the blanks are,
// then each token is one 16-byte load that ends with it, a shuffle that drops the
// point and the sign, and three multiply-adds. Whatever is not a plain short
// number is left to scan.h.
#include "formats/ctf/avx2.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "formats/ctf/bytes.h"
#include "text/number.h"

#define BATCHFEED_AVX2 __attribute__((target("avx2,bmi")))
#define BATCHFEED_AVX2_INLINE __attribute__((target("avx2,bmi"), always_inline)) inline

namespace batchfeed::ctf {
namespace {

using Shuffle = std::array<std::uint8_t, 16>;

// shuffles[k][n] moves the digits of a token to the right end of a vector that
// ends with the token: n bytes without the sign, the point k-1 digits before the
// end (k = 0: none). Free places become 0.
struct alignas(64) Shuffles {
  std::array<std::array<Shuffle, 17>, 17> at{};
  constexpr Shuffles() {
    for (unsigned k = 0; k < 17; ++k) {
      for (unsigned n = 0; n < 17; ++n) {
        unsigned to = 16;
        for (unsigned from_end = 1; from_end <= n; ++from_end) {
          if (from_end != k) at[k][n][--to] = static_cast<std::uint8_t>(16 - from_end);
        }
        while (to > 0) at[k][n][--to] = 0x80;
      }
    }
  }
};
constexpr Shuffles kShuffles;

// The token [end - length, end) of 1..16 bytes. False where it is no number for
// this path. Bytes that are no digits show in `bad` as something above 9.
template <class T>
BATCHFEED_AVX2_INLINE bool convert(const char* end, unsigned length, T& out, __m128i& bad) noexcept {
  const __m128i x = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(end - 16)), _mm_set1_epi8('0'));
  const unsigned points = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('.' - '0')))) &
                          (0xFFFFu << (16 - length));
  const unsigned k = 16 - static_cast<unsigned>(std::countr_zero(points | 0x10000u));
  const bool negative = *(end - length) == '-';
  const unsigned unsigned_length = length - (negative ? 1 : 0);
  if (unsigned_length <= (k != 0 ? 1u : 0u)) return false;  // no digit at all
  const __m128i d =
      _mm_shuffle_epi8(x, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kShuffles.at[k][unsigned_length].data())));
  bad = _mm_max_epu8(bad, d);
  __m128i sum = _mm_maddubs_epi16(d, _mm_set1_epi16(0x010A));
  sum = _mm_madd_epi16(sum, _mm_set1_epi32(0x00010064));
  sum = _mm_packus_epi32(sum, sum);
  sum = _mm_madd_epi16(sum, _mm_set1_epi32(0x00012710));
  const auto halves = static_cast<std::uint64_t>(_mm_cvtsi128_si64(sum));
  const std::uint64_t mantissa = (halves & 0xFFFFFFFFu) * 100'000'000u + (halves >> 32);
  const unsigned fraction = k == 0 ? 0 : k - 1;
  T value;
  if constexpr (std::is_same_v<T, double>) {
    if (mantissa > (1ull << 53)) return false;
    value = static_cast<double>(static_cast<std::int64_t>(mantissa)) / text::kTen[fraction];
  } else {
    // See text/number.h: in doubt only near the middle between two floats.
    const double d64 = static_cast<double>(static_cast<std::int64_t>(mantissa)) * text::kTenth[fraction];
    if ((std::bit_cast<std::uint64_t>(d64) & 0x1FFFFFFFu) - (0x10000000u - 4) <= 8) {
      bool overflow = false;
      // A byte that is no digit is found at the end; what is read here does not matter then.
      if (text::read_number(end - length, true, out, overflow) != end) return false;
      return true;
    }
    value = static_cast<float>(d64);
  }
  out = negative ? -value : value;
  return true;
}

BATCHFEED_AVX2_INLINE std::uint64_t masks(__m256i a, __m256i b) noexcept {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(a)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(b))) << 32;
}

// `count` values up to `at`; or none, up to `p`: of a byte that is no digit `bad` does not tell where it was.
BATCHFEED_AVX2_INLINE const char* took(__m128i bad, const char* at, std::ptrdiff_t count, const char* p,
                                       DenseRoom& room) noexcept {
  if (_mm_movemask_epi8(_mm_or_si128(bad, _mm_cmpgt_epi8(bad, _mm_set1_epi8(9)))) != 0) return p;
  room.count = static_cast<std::uint64_t>(count);
  return at;
}

template <class T>
BATCHFEED_AVX2_INLINE const char* dense(const char* p, T* const first, DenseRoom& room) noexcept {
  if (!is_blank(*p)) return p;
  const __m256i blank = _mm256_set1_epi8(' '), nine = _mm256_set1_epi8('9');
  const char* start = p + 1;
  T* out = first + room.count;
  T* const last = first + room.dim;
  __m128i bad = _mm_setzero_si128();
  for (const char* block = start;; block += 64) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
    std::uint64_t blanks = masks(_mm256_cmpeq_epi8(a, blank), _mm256_cmpeq_epi8(b, blank));
    // Above '9', below ' ', or not ASCII (negative): the end of the sample, or nothing for this path.
    const std::uint64_t stops = masks(_mm256_or_si256(_mm256_cmpgt_epi8(a, nine), _mm256_cmpgt_epi8(blank, a)),
                                      _mm256_or_si256(_mm256_cmpgt_epi8(b, nine), _mm256_cmpgt_epi8(blank, b)));
    if (stops != 0) blanks &= (stops & (0 - stops)) - 1;
    while (blanks != 0) {
      const auto at = static_cast<unsigned>(std::countr_zero(blanks));
      // Eight numbers of one digit in a row.
      if (at <= 48 && block + at == start + 1 && ((blanks >> at) & 0x7FFF) == 0x5555 && last - out >= 8) {
        __m128i digits = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(start)), _mm_set1_epi8('0'));
        digits = _mm_shuffle_epi8(digits, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1));
        bad = _mm_max_epu8(bad, digits);
        if constexpr (std::is_same_v<T, float>) {
          _mm256_storeu_ps(out, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(digits)));
        } else {
          _mm256_storeu_pd(out, _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(digits)));
          _mm256_storeu_pd(out + 4, _mm256_cvtepi32_pd(_mm_cvtepu8_epi32(_mm_srli_si128(digits, 4))));
        }
        out += 8;
        start += 16;
        blanks &= ~(std::uint64_t{0x7FFF} << at);
        continue;
      }
      const char* const end = block + at;
      const auto length = static_cast<std::uint64_t>(end - start);
      if (length - 1 >= 16 || out == last || !convert(end, static_cast<unsigned>(length), *out, bad))
        return took(bad, start - 1, out - first, p, room);
      ++out;
      start = end + 1;
      blanks &= blanks - 1;
    }
    if (stops == 0) continue;
    const char* const stop = block + std::countr_zero(stops);
    if (!ends_sample(*stop)) return took(bad, start - 1, out - first, p, room);
    if (const auto length = static_cast<std::uint64_t>(stop - start); length != 0) {
      if (length > 16 || out == last || !convert(stop, static_cast<unsigned>(length), *out, bad))
        return took(bad, start - 1, out - first, p, room);
      ++out;
    }
    return took(bad, stop, out - first, p, room);
  }
}

}  // namespace

BATCHFEED_AVX2 const char* dense_avx2(const char* p, float* out, DenseRoom& room) noexcept {
  return dense(p, out, room);
}
BATCHFEED_AVX2 const char* dense_avx2(const char* p, double* out, DenseRoom& room) noexcept {
  return dense(p, out, room);
}

}  // namespace batchfeed::ctf

#endif
